import { request } from 'node:http'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp, type TestUser } from '../../kit/app.ts'
import { shareResource } from '../../kit/share-resource.ts'

interface Answer {
  status: number
  headers: Record<string, string | undefined>
  body: Buffer
}

let caller: TestUser
const provider = shareResource(() => startProvider(answers('word '.repeat(1000))))
const config = shareResource(() => writeConfig(provider.url))
const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))
beforeAll(async () => {
  caller = await svc.user({ role: 'admin', abilities: ['ai', 'user', 'read', 'write'] })
  const attributes = { promptType: 'greeting', locale: 'en_US', prompt: 'Be kind. '.repeat(500) }
  const data = { type: 'system-prompts', attributes }
  const headers = { 'content-type': 'application/vnd.api+json' }
  await svc.send('POST', '/api/svc/v1/system-prompts', { token: caller.token, headers, body: { data } })
})

/** Returns the raw bytes of a response, as `fetch` decompresses it. */
function sendRequest(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: object,
): Promise<Answer> {
  return new Promise((done, failed) => {
    const all = {
      // The sign-in page redirects people who are signed in.
      ...(path !== '/login' && { authorization: `Bearer ${caller.token}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    }
    const sent = request(svc.url + path, { method, headers: all }, async (response) => {
      const body = Buffer.concat(await response.toArray())
      done({ status: response.statusCode ?? 0, headers: response.headers as Answer['headers'], body })
    })
    sent.on('error', failed)
    sent.end(body && JSON.stringify(body))
  })
}

const unpack = { br: brotliDecompressSync, gzip: gunzipSync }
const PROMPTS = '/api/svc/v1/system-prompts'
const question = { model: 'mock-1', messages: [{ role: 'user', content: { text: 'Hello' } }] }

describe.for(['br', 'gzip'] as const)('an answer over a kilobyte comes as %s', (coding) => {
  const accept = { 'accept-encoding': coding }

  test.for([
    ['JSON:API', 'GET', PROMPTS, undefined],
    ['tRPC', 'GET', '/trpc/systemPrompts.list', undefined],
    ['a batch of tRPC', 'GET', '/trpc/systemPrompts.list,users.me?batch=1', undefined],
    ['ai-req', 'POST', '/api/ai-req', { payload: question }],
    ['a page', 'GET', '/login', undefined],
    ['the document', 'GET', '/api/svc/v1/openapi.json', undefined],
    ['the script of /docs', 'GET', '/docs/scalar.js', undefined],
  ] as const)('from %s, as what it is without', async ([, method, path, body]) => {
    const plain = await sendRequest(method, path, {}, body)
    const packed = await sendRequest(method, path, accept, body)

    expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined])
    expect([packed.status, packed.headers['content-encoding']]).toEqual([200, coding])
    expect(packed.body.length).toBeLessThan(plain.body.length)
    expect(unpack[coding](packed.body)).toEqual(plain.body)
    for (const { headers } of [plain, packed]) expect(headers['vary']).toContain('accept-encoding')
    expect(packed.headers['content-type']).toBe(plain.headers['content-type'])
    const length = packed.headers['content-length']
    expect(length === undefined || Number(length) === packed.body.length).toBe(true)
  })

  test('and is answered with 304 by the tag of either form', async () => {
    for (const path of [PROMPTS, '/docs']) {
      const plain = (await sendRequest('GET', path)).headers['etag']!
      const packed = (await sendRequest('GET', path, accept)).headers['etag']!
      expect(packed).not.toBe(plain)
      for (const tag of [plain, packed, `W/${packed}`, `"other", ${packed}`]) {
        const again = await sendRequest('GET', path, { ...accept, 'if-none-match': tag })
        expect([path, again.status, again.body.length]).toEqual([path, 304, 0])
        expect(again.headers['etag']).toBe(tag === plain ? plain : packed)
        expect(again.headers['vary']).toContain('accept-encoding')
      }
    }
  })

  test('and its tag holds a change to the version that was read', async () => {
    const { data } = JSON.parse(String((await sendRequest('GET', PROMPTS)).body))
    const path = `${PROMPTS}/${data[0].id}`
    const tag = (await sendRequest('GET', path, accept)).headers['etag']!
    const change = async (ifMatch: string, prompt: string) => {
      const headers = { 'content-type': 'application/vnd.api+json', 'if-match': ifMatch, ...accept }
      const { type, id } = data[0]
      return (await sendRequest('PATCH', path, headers, { data: { type, id, attributes: { prompt } } })).status
    }

    expect(await change(tag, `${coding} `.repeat(1000))).toBe(200)
    expect(await change(tag, 'Again.'.repeat(1000))).toBe(412)
  })

  test('and HEAD says what GET would', async () => {
    for (const path of [PROMPTS, '/docs', '/login']) {
      const get = await sendRequest('GET', path, accept)
      const head = await sendRequest('HEAD', path, accept)
      expect(head.body.length).toBe(0)
      for (const name of ['content-encoding', 'content-length', 'content-type', 'etag', 'vary'])
        expect([path, name, head.headers[name]]).toEqual([path, name, get.headers[name]])
    }
  })
})

const accept = { 'accept-encoding': 'br, gzip' }

test('a response is not compressed if it is small or the client refuses', async () => {
  const small = await sendRequest('GET', '/health/live', accept)
  const refused = await sendRequest('GET', PROMPTS, { 'accept-encoding': 'br;q=0, gzip;q=0' })

  for (const { status, headers } of [small, refused])
    expect([status, headers['content-encoding']]).toEqual([200, undefined])
})

test.for([
  ['gzip, deflate, br, zstd', 'br'],
  ['br;q=0, *', 'gzip'],
  ['*', 'br'],
  ['identity', undefined],
] as const)('an asset to a client that accepts %s comes as %s', async ([accepted, coding]) => {
  const { headers } = await sendRequest('GET', '/docs/scalar.js', { 'accept-encoding': accepted })

  expect(headers['content-encoding']).toBe(coding)
})

test('a response is not compressed if it is a stream of events or tRPC', async () => {
  const events = await sendRequest(
    'POST',
    '/api/ai-req',
    { ...accept, accept: 'text/event-stream' },
    { payload: question },
  )
  const headers = { ...accept, 'trpc-accept': 'application/jsonl' }
  const streamed = await sendRequest('POST', '/trpc/ai.stream?batch=1', headers, { 0: question })

  for (const { status, headers, body } of [events, streamed]) {
    expect([status, headers['content-encoding']]).toEqual([200, undefined])
    expect(String(body)).toContain('word')
  }
})

test('a compressed request is not unpacked', async () => {
  const response = await fetch(`${svc.url}/api/ai-req`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${caller.token}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    },
    body: gzipSync(JSON.stringify({ payload: question })),
  })

  expect(response.status).toBe(422)
})

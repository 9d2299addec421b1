import { request } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  answers,
  beginStream,
  buildChunk,
  buildQuestion,
  endStream,
  type ProviderRequest,
  startProvider,
} from '../../kit/ai/provider.ts'
import { send } from '../../kit/app.ts'
import { openBrowser } from '../../kit/browser.ts'
import { type Deployment, startDeployment, TYPED_PASSWORD } from '../../kit/compose/deployment.ts'
import { startLoad } from '../../kit/compose/load.ts'
import { makePublicKey } from '../../kit/identity/people.ts'
import { base, createApiClient } from '../../kit/json-api/client.ts'
import { trustAuthority } from '../../kit/net/tls-server.ts'
import { describeWith } from '../../kit/parts/with-parts.ts'
import { queryRows } from '../../kit/postgres-client.ts'
import { curlCommands, runCurl } from '../../kit/realtime/curl.ts'
import { openPusher } from '../../kit/realtime/pusher.ts'
import { download, upload } from '../../kit/rooms/attachments.ts'
import { sendRoomMessage as sendMessage } from '../../kit/rooms/messages.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const resources = new AsyncDisposableStack()
let provider: Awaited<ReturnType<typeof startProvider>>
let site: Deployment & { ada: string }

interface RequestSettings {
  method?: string
  headers?: Record<string, string>
  /** Another address of this machine. */
  from?: string
  body?: string
}

/** Returns a response with its raw headers. */
function sendRequest(path: string, { method = 'GET', headers = {}, from = '127.0.0.1', body }: RequestSettings = {}) {
  return new Promise<{ status: number; raw: string[]; headers: NodeJS.Dict<string | string[]> }>((done, failed) => {
    request(site.url + path, { method, headers, localAddress: from, family: 4, agent: false }, (answer) => {
      answer.resume().once('end', () => {
        done({ status: answer.statusCode ?? 0, raw: answer.rawHeaders, headers: answer.headers })
      })
    })
      .once('error', failed)
      .end(body)
  })
}

const page = { accept: 'text/html,*/*;q=0.8' }
const asAda = () => createApiClient({ send: (...given) => send(site.url, ...given) }, site.ada)

async function newRoom() {
  const { one, text } = await asAda().create('rooms', { name: 'Chess' })
  if (!one) throw new Error(text)
  return { id: one.id, channel: `private-Rooms.${one.attributes['slug']}` }
}

describeWith(
  'postgres',
  'redis',
  'caddy',
)('the section «Deploy», done as it is printed', () => {
  beforeAll(async () => {
    provider = resources.use(await startProvider())
    const settings = { DRAIN_DELAY: '6s', LOGIN_ATTEMPTS_PER_ADDRESS: '3', RATE_LIMIT_AI_PER_MINUTE: '0' }
    const deployed = resources.use(await startDeployment({ models: provider.url, settings }))
    resources.use(await trustAuthority(deployed.stack.caFile))
    site = Object.assign(deployed, { ada: await deployed.tokenWith('ai,user,read,write') })
    await queryRows(deployed.stack.env['DATABASE_URL'], `update users set public_key = '${makePublicKey('ada')}'`)
  })
  afterAll(() => resources.disposeAsync())

  test('lets people sign in, and their tokens ask the model', async () => {
    provider.behave = answers('Good day.')
    const browser = openBrowser(site.url)
    const login = await browser.login('ada', TYPED_PASSWORD)
    const answer = await send(site.url, 'POST', '/api/ai-req', {
      token: site.token,
      body: buildQuestion('Hello', 'llama'),
    })
    const logged = site.stack.parts.map(({ output }) => output.out).join('')

    expect(logged).toContain('"next":"svc add-user"')
    expect(login.body).toMatchObject({ success: true })
    expect(login.headers.getSetCookie().filter((cookie) => !cookie.includes('; Secure'))).toEqual([])
    expect(await answer.json()).toEqual({ success: true, content: { text: 'Good day.' } })
  })

  test('restarts a replica under load without failed requests or lost changes', async () => {
    provider.behave = answers('Good day.')
    const load = await startLoad(site, site.ada)
    await pause(500)
    expect(await site.stack.restart(0)).toBe(0)
    const { failures, counts, logged, frontEnds } = await load.stop()

    expect(failures).toEqual([])
    expect(Object.values(counts).filter((count) => count < 3)).toEqual([])
    for (const { appliedSeqs: applied, reads } of frontEnds)
      expect([applied, reads]).toEqual([logged.slice(logged.indexOf(applied[0] ?? 0)), 1])
  })

  test('sends those who come by plain http to the same place by https', async () => {
    const { status, headers } = await fetch(`${site.stack.httpUrl}/login?from=mail`, { redirect: 'manual' })

    expect([status, headers.get('location')]).toEqual([308, `${site.url}/login?from=mail`])
  })

  test('sends each header of the service once, and none of the proxy', async () => {
    const { status, raw, headers } = await sendRequest('/login', { headers: page })
    const names = raw.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
    const logged = site.stack.parts.map(({ output }) => output.out).join('')

    expect(status).toBe(200)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
    expect(headers).toMatchObject({
      'strict-transport-security': expect.stringContaining('max-age='),
      'content-security-policy': expect.stringContaining('default-src'),
      'x-content-type-options': 'nosniff',
    })
    expect([headers['server'], headers['alt-svc']]).toEqual([undefined, undefined])
    expect(logged).not.toContain('"level":40')
  })

  test('hands on what is not compressed as it is, so that entity tags hold', async () => {
    const plain = await sendRequest('/api/svc/v1/openapi.json', { headers: { 'accept-encoding': 'identity' } })
    const unsaid = await sendRequest('/api/svc/v1/openapi.json')
    const packed = await sendRequest('/api/svc/v1/openapi.json', { headers: { 'accept-encoding': 'gzip' } })

    expect(plain.status).toBe(200)
    expect(unsaid.headers['etag']).toBe(plain.headers['etag'])
    expect(unsaid.headers['content-encoding']).toBeUndefined()
    expect(packed.headers['content-encoding']).toBe('gzip')
  })

  test("counts failed sign-ins by the client's true address", async () => {
    const attempt = async (from: string, claimed: string) => {
      const headers = {
        'content-type': 'application/json',
        'x-forwarded-for': claimed,
        'sec-fetch-site': 'same-origin',
      }
      const body = JSON.stringify({ account: `nobody${claimed}`, password: 'a wrong password' })
      return (await sendRequest('/req/login', { method: 'POST', headers, from, body })).status
    }
    const statuses: number[] = []
    for (let at = 1; at <= 4; at++) statuses.push(await attempt('127.0.0.2', `192.0.2.${at}`))

    expect(statuses).toEqual([401, 401, 401, 429])
    expect(await attempt('127.0.0.3', '192.0.2.9')).toBe(401)
  })

  test.each(['/ws/transfer', ''])('carries the sockets of pusher-js below «%s»', async (path) => {
    const room = await newRoom()
    using client = openPusher(site.url, { token: site.ada, path })
    await client.subscribe(room.channel)

    const { one } = await sendMessage(asAda(), room.id)
    await client.until('change', 1)

    expect(client.dataOf('change')).toMatchObject([{ kind: 'room-messages.created', subject: one.id }])
  })

  test('tells browsers where the sockets are', async () => {
    const { one } = await asAda().get('/configs/transfer')
    const { hostname, port } = new URL(site.url)

    expect(one.attributes['values']).toMatchObject({
      baseUrl: site.url,
      websocket: { host: hostname, port: Number(port), forceTls: true },
    })
  })

  test('tells curl of changes as they happen', async () => {
    const room = await newRoom()
    const command = `${curlCommands[0]} --cacert ${site.stack.caFile}`
    await using curl = runCurl(command, { url: site.url, token: site.ada, room: room.id })
    await expect.poll(() => curl.output.text, { timeout: 60_000 }).toMatch(/^id: \w+:\d+$/m)

    await sendMessage(asAda(), room.id)

    await expect.poll(() => curl.output.text, { timeout: 60_000 }).toContain('room-messages.created')
  })

  describe('where an answer is streamed', () => {
    const open = (signal: AbortSignal) =>
      fetch(`${site.url}/api/ai-req`, {
        method: 'POST',
        headers: {
          accept: 'text/event-stream',
          authorization: `Bearer ${site.token}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(buildQuestion('Hello', 'llama')),
        signal,
      })

    test('brings each piece before the next is said', async () => {
      let stream = ''
      provider.behave = async (_, response) => {
        beginStream(response)
        for (const piece of ['one', 'two', 'three']) {
          response.write(buildChunk({ delta: { content: piece } }))
          await expect.poll(() => stream, { timeout: 60_000 }).toContain(piece)
        }
        endStream(response)
      }
      const { body } = await open(AbortSignal.timeout(90_000))
      for await (const piece of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream() as never))
        stream += piece

      expect(stream).toContain('event: done')
    })

    test('stops asking the model once the reader has gone', async () => {
      let request: ProviderRequest | undefined
      provider.behave = async (given, response) => {
        request = given
        beginStream(response)
        while (!given.abortedAt) {
          response.write(buildChunk({ delta: { content: 'more ' } }))
          await pause(20)
        }
      }
      const reader = new AbortController()
      const { body } = await open(reader.signal)
      await body?.getReader().read()
      reader.abort()

      await expect.poll(() => request?.abortedAt, { timeout: 60_000 }).toBeTypeOf('number')
    })
  })

  test('takes large files, and gives them back whole', async () => {
    const bytes = Buffer.alloc(9_000_000, 'A line of a large file.\n')
    const { status, text, one } = await upload(site, site.ada, bytes)
    const given = await download({ send: (...to) => send(site.url, ...to) }, site.ada, one?.id ?? '')

    expect([status, given.status], text).toEqual([201, 200])
    expect(given.bytes.equals(bytes)).toBe(true)
  })

  test('streams an upload, so that a refusal comes at its first bytes', async () => {
    const endless = new ReadableStream({
      async pull(stream) {
        stream.enqueue(Buffer.alloc(16_384))
        await pause(10)
      },
    })
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    const request = { method: 'POST', headers, body: endless, duplex: 'half', signal: AbortSignal.timeout(60_000) }
    const { status } = await fetch(`${site.url}${base}/attachments/actions/upload`, request as RequestInit)

    expect(status).toBe(401)
  })
})

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { PROVIDER_KEY, protocols } from '../kit/ai/protocols.ts'
import {
  beginStream,
  buildChunk,
  buildCompletion,
  endStream,
  readBody,
  sendJson,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { readUsageRecords } from '../kit/ai/provider-service.ts'
import { type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { startTlsServer, trustAuthority } from '../kit/net/tls-server.ts'
import { PNG, upload } from '../kit/rooms/attachments.ts'
import { SLOW } from '../kit/service-client.ts'

let svc: JsonApiApp
let token: string | undefined
let upstream: Awaited<ReturnType<typeof startProvider>>
let secure: Awaited<ReturnType<typeof startTlsServer>>
/** Stored picture that is larger than all buffers on the way. */
let large: { bytes: Buffer; id: string }
const resources = new AsyncDisposableStack()

/** Default behaviour of the provider: it reads the request and answers at once. */
const answers: typeof upstream.behave = ({ path }, response) =>
  sendJson(response, protocols.find((one) => path.endsWith(one.path))?.answer)

const versions: string[] = []
const answersSecurely: Parameters<typeof startTlsServer>[0] = async (request, response) => {
  const sent = await readBody(request).catch(() => undefined)
  if (sent === undefined) return
  versions.push(request.httpVersion)
  response.end(JSON.stringify(buildCompletion('Good.')))
}

beforeAll(async () => {
  upstream = resources.use(await startProvider(answers))
  secure = resources.use(await startTlsServer(answersSecurely))
  const config = resources.use(await writeConfig(''))
  const provider = (id: string, adapter: string, more: object = {}, model: object = {}) => ({
    id,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    ...more,
    models: [{ id, upstreamId: 'up-1', external: true, input: ['text', 'image'], ...model }],
  })
  await config.write({
    providers: [
      ...protocols.map(({ adapter }) => provider(adapter, adapter)),
      provider('two-servers', 'openai-compatible', { servers: [{ apiKey: 'twin' }] }),
      provider('falls-back', 'anthropic', {}, { fallback: ['openai-compatible'] }),
      provider('over-tls', 'openai-compatible', { apiUrl: secure.url }),
      provider('adds-members', 'google', {}, { parameters: { generationConfig: { topK: 3 } } }),
    ],
    systemModels: {},
  })
  svc = resources.use(await startJsonApi({ AI_CONFIG: config.file, AI_BYTES_PER_PERSON: '30000000' }))
  token = svc.people.ada.token
  const bytes = picture(10_000_000)
  large = { bytes, id: (await store(bytes)).id }
})
afterAll(() => resources.disposeAsync())
beforeEach(async () => {
  Object.assign(upstream, { behave: answers, read: readBody, broken: 0 })
  upstream.requests.length = 0
  await readUsageRecords(svc)
  await svc.rows('delete from usage_records')
})

const picture = (bytes = 0) => Buffer.concat([PNG, randomBytes(bytes)])

async function store(bytes: Buffer, name = 'a.png') {
  const { one } = await upload(svc, token, bytes, { name })
  return { id: one.id, path: pathOf(String(one.attributes['uuid'])) }
}
const pathOf = (uuid: string) => join(svc.folder, 'files', 'sealed', uuid.slice(0, 2), uuid)

type Part = { file_id: string } | { filename: string; file_data: string }

const sendQuestion = (model: string, parts: readonly Part[], more: object = {}, signal?: AbortSignal) => {
  const content = [{ type: 'text', text: 'Größe? “See” \\ ' }, ...parts.map((file) => ({ type: 'file', file }))]
  const body = { model, messages: [{ role: 'user', content }], ...more }
  return svc.send('POST', '/v1/chat/completions', { token, body, ...(signal && { signal }) })
}

const inline = (filename: string, bytes: Buffer, mime = 'image/png'): Part => ({
  filename,
  file_data: `data:${mime};base64,${bytes.toString('base64')}`,
})

/** Lists the store's files that this process has open. */
async function openFiles(): Promise<string[]> {
  const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''))
  return (await Promise.all(links)).filter((path) => path.startsWith(join(svc.folder, 'files')))
}

test.for([
  ...protocols.map(({ adapter }): [string, object] => [adapter, {}]),
  // A seed makes the adapter use OpenAI's Chat Completions.
  ['openai', { seed: 7 }],
  ['adds-members', {}],
] as const)('%s gets stored files byte for byte as if sent inline: %j', async ([model, more]) => {
  // The sizes lie at the borders of encrypted chunks, and have each remainder modulo three.
  const files = [0, 65_536, 131_073].map((bytes, at) => [`${at}.png`, picture(bytes)] as const)
  const uploads = await Promise.all(files.map(([name, bytes]) => store(bytes, name)))
  const document = Buffer.concat([Buffer.from('%PDF-1.7 '), randomBytes(70_001)])
  const takesNone = model === 'openai-compatible' || model === 'open_web_ui'
  const pdf = takesNone ? [] : [await store(document, 'a.pdf')]
  const fileIds = [...uploads, ...pdf].map(({ id: file_id }) => ({ file_id }))
  const inlineFiles = [
    ...files.map(([name, bytes]) => inline(name, bytes)),
    ...pdf.map(() => inline('a.pdf', document, 'application/pdf')),
  ]

  expect((await sendQuestion(model, inlineFiles, more)).status).toBe(200)
  expect((await sendQuestion(model, [...fileIds, ...fileIds], more)).status).toBe(200)
  expect((await sendQuestion(model, [...inlineFiles, ...inlineFiles], more)).status).toBe(200)

  const [, streamed, whole] = upstream.requests
  expect(streamed?.sent === whole?.sent).toBe(true)
  expect(streamed?.headers).toEqual(whole?.headers)
  expect(Number(streamed?.headers['content-length'])).toBeGreaterThan(500_000)
})

test('ten stored files of megabytes are accounted only by their bytes in memory', async () => {
  const over = Promise.withResolvers<void>()
  upstream.behave = async (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Well, ' } }))
    await over.promise
    endStream(response)
  }
  const pictures = Array.from({ length: 10 }, () => picture(2_000_000))
  const ids: string[] = []
  for (const bytes of pictures) ids.push((await store(bytes)).id)

  const answer = await sendQuestion(
    'openai-compatible',
    ids.map((file_id) => ({ file_id })),
    { stream: true },
  )

  const sentParts = upstream.requests[0]?.body.messages.at(-1)?.content as unknown as { image_url?: { url: string } }[]
  const sent = sentParts.flatMap(({ image_url }) =>
    image_url ? Buffer.from(image_url.url.split(',')[1] ?? '', 'base64') : [],
  )
  expect(sent.map((bytes, at) => bytes.equals(pictures[at] as Buffer))).toEqual(Array(10).fill(true))
  const accountedBytes = svc.services.limits.aiBytes.total
  expect(accountedBytes).toBeGreaterThan(200_000)
  expect(accountedBytes).toBeLessThan(300_000)
  over.resolve()
  expect(await answer.text()).toContain('[DONE]')
  await expect.poll(() => svc.services.limits.aiBytes.total).toBe(0)
})

test('a call that is given up while its files are sent closes them', async () => {
  const [begun, readOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  upstream.read = async (request) => {
    await once(request, 'readable')
    begun.resolve()
    await readOn.promise
    return readBody(request)
  }
  const controller = new AbortController()
  const answer = sendQuestion('openai-compatible', [{ file_id: large.id }], {}, controller.signal).catch(
    (error: Error) => error.name,
  )
  await begun.promise
  await expect.poll(openFiles).toHaveLength(1)

  controller.abort()

  expect(await answer).toBe('AbortError')
  readOn.resolve()
  await expect.poll(openFiles).toEqual([])
  await vi.waitUntil(() => upstream.broken === 1, SLOW)
  await expect.poll(() => readUsageRecords(svc)).toMatchObject([{ outcome: 'aborted' }])
})

test('a call whose file is gone fails with a reason, blaming no provider', async () => {
  const second = await store(picture())
  upstream.read = async (request) => {
    await once(request, 'readable')
    await rm(second.path)
    return readBody(request)
  }

  for (const model of ['two-servers', 'falls-back']) {
    const answer = await sendQuestion(model, [{ file_id: large.id }, { file_id: second.id }])
    expect(answer.status).toBe(500)
    expect(await answer.json()).toMatchObject({ error: { message: 'An attachment cannot be read.', code: 'internal' } })
    upstream.read = readBody
  }

  await vi.waitUntil(() => upstream.broken === 2, SLOW)
  expect(upstream.requests).toEqual([])
  const failed = { outcome: 'failed', input: 0, output: 0 }
  expect(await readUsageRecords(svc)).toEqual([failed, failed])
  await expect.poll(openFiles).toEqual([])
})

test.for([
  ['another server', 'two-servers'],
  ['another model', 'falls-back'],
] as const)('%s gets the files from their beginning after the first attempt failed', async ([, model]) => {
  let tries = 0
  upstream.read = async (request, response) => {
    if (tries++ > 0) return readBody(request)
    await once(request, 'readable')
    if (model === 'two-servers') request.socket.destroy()
    else sendJson(response, {}, 401)
    return undefined
  }

  expect((await sendQuestion(model, [{ file_id: large.id }])).status).toBe(200)

  expect(tries).toBe(2)
  expect(upstream.requests[0]?.sent).toContain(`"data:image/png;base64,${large.bytes.toString('base64')}"`)
  expect(await readUsageRecords(svc)).toMatchObject([{ outcome: 'completed' }])
  await expect.poll(openFiles).toEqual([])
})

test('a provider that speaks HTTP/2 gets stored files over HTTP/1.1', async () => {
  using _trusting = await trustAuthority(secure.caFile)
  const [first, second] = [await store(picture(1_000_000)), await store(picture())]
  const parts = [first, second].map(({ id: file_id }) => ({ file_id }))

  expect((await sendQuestion('over-tls', [])).status).toBe(200)
  expect((await sendQuestion('over-tls', parts)).status).toBe(200)
  await rm(second.path)
  expect((await sendQuestion('over-tls', parts)).status).toBe(500)
  expect((await sendQuestion('over-tls', [])).status).toBe(200)

  expect(versions).toEqual(['2.0', '1.1', '2.0'])
})

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { runWithin } from '../../routers/ports/traces.ts'
import { readEnv } from '../../server/config/env.ts'
import { openLog } from '../../server/ops/log.ts'
import { createTelemetry } from '../../server/ops/telemetry.ts'
import { startPeriodicTasks } from '../../server/periodic-tasks.ts'
import {
  answers,
  buildQuestion,
  callsTool,
  neverEnds,
  refuses,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp, type TestApp, type TestUser } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { base, mediaType } from '../kit/json-api/client.ts'
import { createSilentLog } from '../kit/log.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { readAttributes, startCollector } from '../kit/parts/collector.ts'
import { createAiRoom, requestRoomAnswer, waitForAnswer } from '../kit/rooms/ai.ts'
import { upload } from '../kit/rooms/attachments.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

const SOON = { timeout: 60_000, interval: 50 }
const SERVER = 2
const FAILED = 2

const resources = new AsyncDisposableStack()
let collector: Awaited<ReturnType<typeof startCollector>>
let upstream: Awaited<ReturnType<typeof startProvider>>
let server: Awaited<ReturnType<typeof startToolServer>>
let svc: TestApp
let ada: TestUser

/** Starts a service that records every trace, with a model that may call a tool. */
async function startTraced(hosts: string) {
  const mcpServers = [{ label: 'Foe', url: server.url, requireApproval: 'never' }]
  const config = resources.use(
    await writeConfig(upstream.url, { model: { tools: ['foe_echo'] }, more: { mcpServers } }),
  )
  const app = resources.use(
    await startApp({
      AI_CONFIG: config.file,
      LOG_LEVEL: 'trace',
      ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true',
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_TRACES_SAMPLER_ARG: '1',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-collector',
      TRACEPARENT_HOSTS: hosts,
    }),
  )
  await app.host.mcp.sync()
  const { hash = '' } = (await app.host.mcp.tools()).find(({ name }) => name === 'foe_echo') ?? {}
  await app.host.mcp.approve({ name: 'foe_echo', hash })
  return app
}

beforeAll(async () => {
  collector = resources.use(await startCollector())
  upstream = resources.use(await startProvider())
  server = resources.use(await startToolServer([buildTool('echo')]))
  svc = await startTraced(new URL(upstream.url).host)
  ada = await svc.user({ abilities: ['ai', 'read', 'write'] })
})
afterAll(() => resources.disposeAsync())

const openTelemetry = ({ url }: { url: string }) =>
  createTelemetry(readEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER_ARG: '1' }))

const sendQuestion = (options: { text?: string; headers?: Record<string, string> } = {}) =>
  svc.send('POST', '/api/ai-req', {
    token: ada.token,
    body: buildQuestion(options.text),
    headers: options.headers ?? {},
  })

const ofRequest = (id: string | null) =>
  collector.spans().find(({ attributes }) => readAttributes(attributes)['svc.request.id'] === id)

/** The spans of the trace of a request, which is sent when it is over. */
async function traceOf(response: Response) {
  await response.text()
  const id = response.headers.get('x-request-id')
  const root = await vi.waitUntil(() => ofRequest(id), SOON)
  const spans = collector.spans().filter(({ traceId }) => traceId === root.traceId)
  const parentOf = ({ parentSpanId }: (typeof spans)[number]) =>
    spans.find(({ spanId }) => spanId === parentSpanId)?.name
  const named = (name: string) => spans.find((span) => span.name === name)
  return { root, spans, named, parents: Object.fromEntries(spans.map((span) => [span.name, parentOf(span)])) }
}

beforeEach(() => {
  upstream.behave = answers('Good day.')
})

describe('a trace', () => {
  test.for([
    ['application/json', 'ai.ask'],
    ['text/event-stream', 'ai.stream'],
  ])('an answer as %s has its procedure, statements, call of a model and tool', async ([accept, procedure = '']) => {
    upstream.behave = callsTool('foe_echo', '{"text":"hi"}')
    const { root, parents, named } = await traceOf(await sendQuestion({ headers: { accept: accept ?? '' } }))

    expect(root).toMatchObject({ name: 'POST /api/ai-req', kind: SERVER, status: { code: 0 } })
    expect(readAttributes(root.attributes)).toMatchObject({
      'http.response.status_code': 200,
      'http.route': '/api/ai-req',
    })
    expect(parents).toMatchObject({
      'find-token-owners': 'POST /api/ai-req',
      [procedure]: 'POST /api/ai-req',
      'reserve-usage': procedure,
      'chat mock-1': procedure,
      'execute_tool foe_echo': 'chat mock-1',
    })
    expect(readAttributes(named('chat mock-1')?.attributes ?? [])).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'local',
      'gen_ai.request.model': 'mock-1',
      'gen_ai.usage.input_tokens': 14,
      'gen_ai.usage.output_tokens': 6,
      'svc.outcome': 'completed',
    })
  })

  test.for([
    [`${base}/ai-models`, 'aiModels.list'],
    ['/trpc/aiModels.list', 'aiModels.list'],
    ['/v1/models', 'ai.models'],
  ] as const)('the procedure of %s has its statements', async ([path, procedure]) => {
    const { root, spans, named } = await traceOf(await svc.send('GET', path, { token: ada.token }))

    expect(named(procedure)).toMatchObject({ parentSpanId: root.spanId, status: { code: 0 } })
    const parts = spans.filter(({ parentSpanId }) => parentSpanId === named(procedure)?.spanId)
    expect(parts.map(({ attributes }) => readAttributes(attributes)['db.system.name'])).toContain('postgresql')
  })

  test('a failed span has its error code, and each retry is an event', async () => {
    upstream.behave = refuses(500)
    const { root, named } = await traceOf(await sendQuestion())
    const call = named('chat mock-1')

    expect([root.status.code, named('ai.ask')?.status.code, call?.status.code]).toEqual([FAILED, FAILED, FAILED])
    expect(readAttributes(call?.attributes ?? [])).toMatchObject({
      'error.type': 'provider_failed',
      'svc.outcome': 'failed',
    })
    expect(call?.events.map(({ name }) => name)).toEqual(['retry', 'retry'])
  })

  test('a trace and its model call end when the caller disconnects', async () => {
    upstream.behave = neverEnds
    const gone = new AbortController()
    const headers = { accept: 'text/event-stream' }
    const response = await svc.send('POST', '/api/ai-req', {
      token: ada.token,
      body: buildQuestion(),
      headers,
      signal: gone.signal,
    })
    await response.body?.getReader().read()
    gone.abort()

    const root = await vi.waitUntil(() => ofRequest(response.headers.get('x-request-id')), SOON)
    expect(readAttributes(root.attributes)).toMatchObject({ 'error.type': 'client_gone' })
    const isOfCall = ({ name, traceId }: typeof root) => name === 'chat mock-1' && traceId === root.traceId
    const call = await vi.waitUntil(() => collector.spans().find(isOfCall), SOON)
    expect(readAttributes(call.attributes)).toMatchObject({ 'svc.outcome': 'aborted' })
  })

  test('a trace from outside is linked, not continued, and its baggage is dropped', async () => {
    const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
    const headers = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'a=canary', baggage: 'who=canary' }
    const { root } = await traceOf(await sendQuestion({ headers }))

    expect(root.traceId).not.toBe(traceId)
    expect(root.parentSpanId).toBeUndefined()
    expect(root.links).toMatchObject([{ traceId, spanId }])
    expect(upstream.requests.at(-1)?.headers).not.toHaveProperty('baggage')
    expect(upstream.requests.at(-1)?.headers).not.toHaveProperty('tracestate')
  })

  test('no header is taken for a trace that is none', async () => {
    const { root } = await traceOf(await sendQuestion({ headers: { traceparent: '00-canary-canary-01' } }))

    expect(root.links).toEqual([])
  })

  test('the hosts in TRACEPARENT_HOSTS are sent the trace, and no others', async () => {
    upstream.behave = callsTool('foe_echo', '{"text":"hi"}')
    const byTools: unknown[] = []
    server.behave = ({ request }) => byTools.push(request.headers['traceparent']) === 0
    const { root, named } = await traceOf(await sendQuestion())

    const call = named('chat mock-1')
    expect(upstream.requests.at(-1)?.headers['traceparent']).toBe(`00-${root.traceId}-${call?.spanId}-01`)
    expect(byTools.length).toBeGreaterThan(0)
    expect(byTools.filter(Boolean)).toEqual([])

    const other = await startTraced(new URL(server.url).host)
    const { token } = await other.user()
    const response = await other.send('POST', '/api/ai-req', { token, body: buildQuestion() })
    const second = await traceOf(response)

    const tool = second.named('execute_tool foe_echo')
    expect(byTools.at(-1)).toBe(`00-${second.root.traceId}-${tool?.spanId}-01`)
    expect(upstream.requests.at(-1)?.headers).not.toHaveProperty('traceparent')
  })

  test('a change has its statements within its transaction', async () => {
    const body = { data: { type: 'rooms', attributes: { name: 'Chess' } } }
    const headers = { 'content-type': mediaType }
    const { parents } = await traceOf(await svc.send('POST', `${base}/rooms`, { token: ada.token, body, headers }))

    expect(parents).toMatchObject({ 'record-changes': 'transaction', transaction: 'rooms.create' })
  })

  test('an answer in a room is a trace of its own with a link', async () => {
    const room = await createAiRoom({ svc })
    const response = await requestRoomAnswer(room.admin, room.id, 'Hello')
    await waitForAnswer(room.admin, room.id)
    const request = await vi.waitUntil(() => ofRequest(response.headers.get('x-request-id')), SOON)
    const isLinked = ({ links }: typeof request) => links.some(({ spanId }) => spanIdsOf(request).includes(spanId))
    const spanIdsOf = ({ traceId }: typeof request) =>
      collector.spans().flatMap((span) => (span.traceId === traceId ? span.spanId : []))
    const answer = await vi.waitUntil(() => collector.spans().find(isLinked), SOON)

    expect(answer).toMatchObject({ name: 'answer in a room', status: { code: 0 } })
    expect(answer.traceId).not.toBe(request.traceId)
    const own = collector.spans().filter(({ traceId }) => traceId === answer.traceId)
    expect(own.find(({ name }) => name === 'chat mock-1')?.parentSpanId).toBe(answer.spanId)
  })

  test('a job is a trace of its own', async () => {
    await upload(svc, ada.token, makePdf({ lines: ['Grand plan'] }), { name: 'plan.pdf' })
    const job = await vi.waitUntil(() => collector.spans().find(({ name }) => name === 'job extract-text'), SOON)
    const parts = collector.spans().filter(({ parentSpanId }) => parentSpanId === job.spanId)

    expect(job.parentSpanId).toBeUndefined()
    expect(parts.map(({ name }) => name)).toContain('attachments.readText')
  })
})

test('log lines carry trace and request ids, here and at the collector', async () => {
  upstream.behave = refuses(400)
  const response = await sendQuestion()
  const { root, spans } = await traceOf(response)
  const requestId = response.headers.get('x-request-id')
  const own = svc.log.map((line) => JSON.parse(line)).filter(({ traceId }) => traceId === root.traceId)

  expect(own.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['request', expect.stringMatching(/^the AI provider failed/)]),
  )
  expect(own.filter((line) => line.requestId !== requestId)).toEqual([])
  await expect
    .poll(() => collector.lines().filter(({ traceId }) => traceId === root.traceId).length, SOON)
    .toBe(own.length)
  const sent = collector.lines().filter(({ traceId }) => traceId === root.traceId)
  expect(sent.map(({ body }) => body.stringValue)).toEqual(own.map(({ msg }) => msg))
  expect(spans.map(({ spanId }) => spanId)).toEqual(expect.arrayContaining(sent.map(({ spanId }) => spanId)))
})

test('lines of a request carry its id where its trace is not collected, too', async () => {
  await using collector = await startCollector()
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '0' }
  const written: string[] = []
  const { log, telemetry } = await openLog(readEnv(settings), { write: (line) => void written.push(line) })
  const span = telemetry?.traces.begin('GET /v1/models', { requestId: 'request-1' })
  runWithin(span, () => log.info('during'))
  runWithin(span, () => log.child({ requestId: 'request-1' }).info('by its own logger'))
  span?.end()
  runWithin(span, () => log.info('after'))
  await telemetry?.close()

  const lines = written.map((line) => JSON.parse(line))
  expect(lines.map(({ msg, requestId, traceId }) => [msg, requestId, traceId])).toEqual([
    ['during', 'request-1', undefined],
    ['by its own logger', 'request-1', undefined],
    ['after', undefined, undefined],
  ])
  expect(written[1]?.match(/requestId/g)).toHaveLength(1)
  expect([collector.lines().length, collector.spans().length]).toEqual([3, 0])
})

test('the collector is sent nothing that a person wrote, and no secret', async () => {
  const canary = (of: string) => `canary-${of}`
  const words = [
    'prompt',
    'answer',
    'argument',
    'result',
    'file',
    'content',
    'mail',
    'password',
    'query',
    'path',
    'header',
  ]
  const countJobs = () => collector.spans().filter(({ name }) => name === 'job extract-text').length
  const jobs = countJobs()
  const eve = await svc.user({ username: canary('mail'), abilities: ['ai', 'read', 'write'] })
  server.behave = ({ rpc, reply }) => {
    if (rpc.method === 'tools/call') reply({ content: [{ type: 'text', text: canary('result') }], isError: true })
    return rpc.method === 'tools/call'
  }
  const ids: (string | null)[] = []
  const send = async (...given: Parameters<typeof svc.send>) => {
    const response = await svc.send(...given)
    await response.text()
    ids.push(response.headers.get('x-request-id'))
  }
  const by = { token: eve.token }
  const body = buildQuestion(canary('prompt'))
  const behaviours = [answers(canary('answer')), callsTool('foe_echo', `{"text":"${canary('argument')}"}`)]
  for (const behave of [...behaviours, refuses(400, canary('answer')), refuses(500, canary('answer'))]) {
    upstream.behave = behave
    for (const accept of ['application/json', 'text/event-stream'])
      await send('POST', '/api/ai-req', { ...by, body, headers: { accept, 'x-custom': canary('header') } })
  }
  await send('POST', '/v1/chat/completions', { ...by, body: { model: canary('prompt'), messages: canary('prompt') } })
  await send('POST', '/req/login', { body: { account: canary('mail'), password: canary('password') } })
  await send('GET', `/api/svc/v1/users?filter[${canary('query')}]=${canary('query')}`, by)
  await send('GET', `/api/svc/v1/rooms/${canary('path')}?include=${canary('query')}`, by)
  await send('GET', `/${canary('path')}?${canary('query')}=1`)
  await send('GET', `/trpc/${canary('path')}?input=${encodeURIComponent(JSON.stringify(canary('query')))}`, by)
  await send('POST', '/api/svc/v1/rooms', { ...by, body: `{"${canary('content')}` })
  await upload(svc, eve.token, makePdf({ lines: [canary('content')] }), { name: `${canary('file')}.pdf` })

  await expect.poll(() => ids.filter((id) => ofRequest(id) === undefined), SOON).toEqual([])
  await expect.poll(countJobs, SOON).toBe(jobs + 1)
  const isLogged = (id: string | null) =>
    collector.lines().some(({ body, attributes }) => {
      return body.stringValue === 'request' && readAttributes(attributes)['requestId'] === id
    })
  await expect.poll(() => ids.filter((id) => !isLogged(id)), SOON).toEqual([])
  const text = collector.sent.map((sent) => sent.text).join('\n')
  expect(words.filter((word) => text.includes(canary(word)))).toEqual([])
  expect([eve.token, eve.email, ada.token].filter((secret) => text.includes(secret))).toEqual([])
  expect(new Set(collector.sent.map(({ authorization }) => authorization))).toEqual(
    new Set(['Bearer of-the-collector']),
  )
})

test('what repeats beside requests is a trace at each run', async () => {
  await using collector = await startCollector()
  const telemetry = openTelemetry(collector)
  const { traces } = telemetry
  let runs = 0
  const fails = async () => {
    if (++runs > 1) throw new TypeError('canary')
  }
  const options = { log: createSilentLog(), traces, firstRunMs: 1 }
  const stop = startPeriodicTasks([{ name: 'unused files', period: 1, run: fails }], options)
  await expect.poll(() => runs, SOON).toBeGreaterThan(1)
  await stop()
  await telemetry.close()

  const [first, second] = collector.spans()
  expect(first).toMatchObject({ name: 'unused files', status: { code: 0 } })
  expect(second).toMatchObject({ name: 'unused files', status: { code: FAILED } })
  expect(readAttributes(second?.attributes ?? [])).toEqual({ 'error.type': 'TypeError' })
})

test('a trace has a thousand parts at most, and none after its end', async () => {
  await using collector = await startCollector()
  const telemetry = openTelemetry(collector)
  const [long, short] = [telemetry.traces.begin('long'), telemetry.traces.begin('short')]
  const parts = Array.from({ length: 2000 }, () => long?.begin('part'))
  short?.end()
  await telemetry.close()

  expect(parts.filter(Boolean)).toHaveLength(1000)
  expect([long?.isOver, short?.isOver, short?.begin('part')]).toEqual([false, true, undefined])
})

test('a stopping service flushes its telemetry, and keeps its terminal output', async () => {
  await using collector = await startCollector()
  await using folder = await createDataFolder()
  await using database = await cloneDatabase()
  const settings = { DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0', LOG_FORMAT: 'words' }
  await using service = startProcess({
    ...settings,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_SERVICE_NAME: 'ours',
  })
  await service.ready()

  expect(await service.stop()).toBe(0)

  expect(collector.lines().map(({ body }) => body.stringValue)).toContain('stopping')
  expect(collector.sent[0]?.text).toContain('"stringValue":"ours"')
  expect(service.output.out).toMatch(/INFO.*stopping/)
})

describe('a collector that takes nothing', () => {
  const hangs = () => {}
  const refusesAll = (response: ServerResponse) => void response.writeHead(503).end()
  const resets = (response: ServerResponse) => void response.destroy()

  test.for([
    ['hangs', hangs],
    ['refuses', refusesAll],
    ['resets connections', resets],
  ] as const)('requests are answered and the service stops where the collector %s', async ([, answer]) => {
    await using collector = await startCollector()
    collector.answer = answer
    const app = await startApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '1' })
    const { token } = await app.user()
    await expect.poll(() => collector.sent.length, SOON).toBeGreaterThan(0)

    const [{ model_id } = { model_id: '' }] = await app.rows<{ model_id: string }>(
      'select model_id from ai_models limit 1',
    )
    const answered = await app.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', model_id) })

    expect(answered.status).toBe(200)
    await app[Symbol.asyncDispose]()
    const lines = app.log.filter((line) => line.includes('OTEL_EXPORTER_OTLP_ENDPOINT'))
    const signals = lines.map((line) => JSON.parse(line).signal)
    expect(new Set(signals).size).toBe(signals.length)
    expect(signals).toContain('logs')
  })

  test('a collector that takes traces alone is told of once', async () => {
    await using collector = await startCollector()
    collector.answer = (response, path) => void response.writeHead(path === '/v1/logs' ? 404 : 200).end('{}')
    await using app = await startApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '1' })
    const { token } = await app.user()
    const countLogs = () => collector.sent.filter(({ path }) => path === '/v1/logs').length
    for (let batches = 1; batches < 4; batches++) {
      await app.send('GET', '/v1/models', { token })
      await expect.poll(countLogs, SOON).toBeGreaterThan(batches)
    }

    expect(collector.spans().length).toBeGreaterThan(0)
    expect(app.log.filter((line) => line.includes('OTEL_EXPORTER_OTLP_ENDPOINT'))).toHaveLength(1)
  })

  test('what waits for a collector that hangs is bounded', async () => {
    await using collector = await startCollector()
    const waiting: ServerResponse[] = []
    collector.answer = (response) => void waiting.push(response)
    const telemetry = openTelemetry(collector)
    const lines = telemetry.copyLines({ write() {} })
    for (let each = 0; each < 10_000; each++) {
      telemetry.traces.begin('work')?.end()
      lines.write(JSON.stringify({ level: 30, time: each, msg: 'work' }))
    }
    await expect.poll(() => waiting.length, SOON).toBe(2)

    collector.answer = (response) => void response.writeHead(200).end('{}')
    for (const response of waiting) collector.answer(response)
    await telemetry.close()

    const [spans, records] = [collector.spans().length, collector.lines().length]
    expect([spans > 1000, spans <= 2048 + 512, records > 1000, records <= 2048 + 512]).toEqual([true, true, true, true])
  })
})

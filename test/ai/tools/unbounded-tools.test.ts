import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { answersWithSources } from '../../kit/ai/native-dialects.ts'
import { fetchTool, messages, searchTool } from '../../kit/ai/native-tools.ts'
import { beginStream, sendJson, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { SLOW } from '../../kit/service-client.ts'

const resources = new AsyncDisposableStack()
let svc: TestApp
let upstream: Awaited<ReturnType<typeof startProvider>>

beforeAll(async () => {
  upstream = resources.use(await startProvider())
  const price = { currency: 'EUR', inputPerMillion: 10, outputPerMillion: 30 }
  const [perPrompt, perSearch] = [
    { ...price, groundedPromptPerThousand: 35 },
    { ...price, webSearchPerThousand: 14 },
  ]
  const common = { upstreamId: 'up', external: true, nativeCapabilities: ['web_search', 'web_fetch'] }
  const limits = { maxInputTokens: 100_000 }
  const models = [
    { ...common, id: 'per prompt', limits, pricing: perPrompt },
    { ...common, id: 'per search', limits, pricing: perSearch },
    { ...common, id: 'endless', pricing: perPrompt },
    { ...common, id: 'down', limits, pricing: perPrompt, upstreamId: 'down', fallback: ['per search'] },
  ]
  const provider = { id: 'google', adapter: 'google', apiUrl: `${upstream.url}/google`, models }
  const config = resources.use(await writeConfig(upstream.url, { provider, more: { systemModels: {} } }))
  svc = resources.use(await startApp({ AI_CONFIG: config.file, LIMITS_MAX_OUTPUT_TOKENS: '100' }))
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  upstream.behave = answersWithSources
  upstream.requests.length = 0
})

const limit = { name: 'most', for: 'user', per: 'day' } as const
const inMoney = { ...limit, unit: 'EUR' } as const
const inTokens = { ...limit, unit: 'tokens' } as const

async function createSender() {
  const { token } = await svc.user()
  return async (model: string, tools: string[], more: object = {}) => {
    const body = { model, messages, tools, ...more }
    const response = await svc.send('POST', '/v1/chat/completions', { token, body })
    const text = await response.text()
    await svc.services.ai.usageLedger.flush()
    return [response.status, response.ok ? '' : text] as const
  }
}
const refusedBy = (...words: string[]) => [429, expect.stringContaining(words.join(' '))]
const answered = [200, '']

test('an unknown number of paid searches is refused by a limit in money', async () => {
  const sendQuestion = await createSender()
  await svc.host.limits.set({ ...inMoney, cap: 1000 })
  const unknown = refusedBy(
    "'most' is in money, and the most that this model and its web search may cost in EUR is not known",
  )
  expect(await sendQuestion('per search', [searchTool])).toEqual(unknown)
  expect(upstream.requests).toEqual([])
  // One grounded prompt costs 0.035, and a hundred tokens cost 0.003.
  await svc.host.limits.set({ ...inMoney, cap: 0.034 })
  expect(await sendQuestion('per prompt', [searchTool])).toEqual(refusedBy('This call may cost '))
  await svc.host.limits.set({ ...inMoney, cap: 0.045 })
  expect(await sendQuestion('per prompt', [searchTool])).toEqual(answered)

  await svc.host.limits.set({ ...inMoney, cap: 1000, mode: 'observe' })
  expect(await sendQuestion('per search', [searchTool])).toEqual(answered)
  const [state] = await svc.host.limits.list()
  await svc.host.limits.remove({ name: 'most' })
  expect(state).toMatchObject({ used: 35_970 + 970 + 2 * 14_000, refused: 3 })
  expect(await sendQuestion('per search', [searchTool])).toEqual(answered)
})

test('limits reserve everything a model takes for unbounded pages, or refuse it', async () => {
  const sendQuestion = await createSender()
  await svc.host.limits.set({ ...inTokens, cap: 100_000, countFrom: 'now' })
  expect(await sendQuestion('per prompt', [fetchTool])).toEqual(refusedBy('This call may take '))
  await svc.host.limits.set({ ...inTokens, cap: 100_150 })
  expect(await sendQuestion('per prompt', [fetchTool])).toEqual(answered)
  await svc.host.limits.set({ ...inTokens, cap: 1_000_000_000 })
  expect(await sendQuestion('endless', [fetchTool])).toEqual(
    refusedBy('how many this model may read in pages is not known'),
  )
  expect(await sendQuestion('endless', [])).toEqual(answered)
  await svc.host.limits.set({ ...inTokens, cap: 1_000_000_000, mode: 'observe' })
  expect(await sendQuestion('endless', [fetchTool])).toEqual(answered)
  const [state] = await svc.host.limits.list()
  await svc.host.limits.remove({ name: 'most' })
  expect(state).toMatchObject({ used: 3 * 79, held: 0, refused: 3 })

  // A hundred thousand tokens cost one euro.
  await svc.host.limits.set({ ...inMoney, cap: 0.99 })
  expect(await sendQuestion('per prompt', [fetchTool])).toEqual(refusedBy('This call may cost '))
  expect(await sendQuestion('endless', [fetchTool])).toEqual(refusedBy("'most' is in money"))
  await svc.host.limits.set({ ...inMoney, cap: 1.1 })
  expect(await sendQuestion('per prompt', [fetchTool])).toEqual(answered)
  await svc.host.limits.remove({ name: 'most' })
  expect(upstream.requests).toHaveLength(4)
})

test('usage that nobody can bound is stored while its answer runs', async () => {
  const { token } = await svc.user()
  const { promise: isSeen, resolve: end } = Promise.withResolvers<void>()
  upstream.behave = async (_, response) => {
    const candidate = { index: 0, content: { role: 'model', parts: [{ text: 'It is e4.' }] } }
    const tell = (more: object, promptTokenCount: number) => {
      const usageMetadata = { promptTokenCount, candidatesTokenCount: 3 }
      response.write(`data: ${JSON.stringify({ candidates: [{ ...candidate, ...more }], usageMetadata })}\n\n`)
    }
    beginStream(response)
    tell({}, 12_345)
    await isSeen
    tell({ finishReason: 'STOP' }, 12_345)
    response.end()
  }
  await svc.host.limits.set({ ...inTokens, cap: 1, mode: 'observe', countFrom: 'now' })
  const body = { model: 'endless', messages, tools: [fetchTool, searchTool], stream: true }
  const streamed = await svc.send('POST', '/v1/chat/completions', { token, body })
  const readReservations = () => svc.rows('select id from usage_holds where input_tokens = 12345')
  await vi.waitUntil(async () => (await readReservations()).length === 1, SLOW)
  end()
  expect(await streamed.text()).toContain('"finish_reason":"stop"')
  await svc.services.ai.usageLedger.flush()
  const [state] = await svc.host.limits.list()
  await svc.host.limits.remove({ name: 'most' })
  expect(state).toMatchObject({ used: 12_348, held: 0, refused: 1 })
})

test('a model with paid single searches is a fallback where limits allow it', async () => {
  const sendQuestion = await createSender()
  upstream.behave = (request, response) =>
    request.path.includes('/down') ? sendJson(response, {}, 401) : answersWithSources(request, response)

  expect(await sendQuestion('down', [searchTool])).toEqual(answered)
  expect(upstream.requests.map(({ path }) => /models\/(\w+)/.exec(path)?.[1])).toEqual(['down', 'up'])
  await svc.host.limits.set({ ...inMoney, cap: 1000, countFrom: 'now' })
  expect((await sendQuestion('down', [searchTool]))[0]).not.toBe(200)
  // The failed model's reservation is released, although the fallback's maximum is unknown.
  await svc.host.limits.set({ ...inMoney, cap: 1000, mode: 'observe' })
  expect(await sendQuestion('down', [searchTool])).toEqual(answered)
  const [state] = await svc.host.limits.list()
  await svc.host.limits.remove({ name: 'most' })
  expect(state).toMatchObject({ used: 970 + 2 * 14_000, held: 0 })
})

import { beforeEach, expect, test, vi } from 'vitest'
import { answersWithBlocks, buildFetchedPage, stallsAfterBlocks } from '../../kit/ai/anthropic.ts'
import {
  answer,
  answersWithSources,
  anthropic,
  anthropicUsage,
  ending,
  fetchCall,
  fetchedPage,
  fetchUsage,
  searchCall,
  searchHits,
  searchResult,
  url,
} from '../../kit/ai/native-dialects.ts'
import { fetchTool, messages, searchTool, startNativeTools } from '../../kit/ai/native-tools.ts'
import { sendJson } from '../../kit/ai/provider.ts'
import { SLOW } from '../../kit/service-client.ts'
import { shareResource } from '../../kit/share-resource.ts'

const native = shareResource(startNativeTools)
beforeEach(() => native.reset())

test('a search is stored while the answer runs, and billed after a break', async () => {
  const { svc, upstream, chat, takeRecords } = native
  const { promise: isHeld, resolve: breakOff } = Promise.withResolvers<void>()
  upstream.behave = async (request, response) => {
    stallsAfterBlocks([searchCall, searchResult, answer], anthropicUsage)(request, response)
    await isHeld
    response.destroy()
  }

  const streamed = await chat('anthropic', [searchTool], { stream: true })
  const readReservations = () => svc.rows('select id from usage_holds where web_searches = 1 and cost_micros > 10000')
  await vi.waitUntil(async () => (await readReservations()).length === 1, SLOW)
  breakOff()
  await streamed.text()

  // Nine tokens are our count of the found pages.
  expect(await takeRecords()).toMatchObject([{ outcome: 'failed', input: 79, searches: 1, fetches: 0 }])
})

test('found pages are billed as input of bounded length after a break', async () => {
  const { upstream, chat, takeRecords } = native
  const text = 'e4 is best. '.repeat(10_000)
  const billFor = async (...read: Parameters<typeof stallsAfterBlocks>[0]) => {
    upstream.behave = async (request, response) => {
      stallsAfterBlocks(read, anthropicUsage)(request, response)
      response.write('\n', () => response.destroy())
    }
    await (await chat('anthropic', [searchTool, fetchTool], { stream: true })).text()
    const [record] = await takeRecords()
    return record as { input: number; outcome: string }
  }

  expect(await billFor(fetchCall, buildFetchedPage(fetchCall.id, url, text))).toMatchObject({
    outcome: 'failed',
    input: 70 + 25_000,
  })
  const { input: ofDocument } = await billFor(
    fetchCall,
    buildFetchedPage(fetchCall.id, url, 'A'.repeat(100_000), 'application/pdf'),
  )
  expect(Math.floor(ofDocument / 100)).toBe((2 * 1500) / 100)
  const sealed = {
    ...searchResult,
    content: searchHits.map((one) => ({ ...one, encrypted_content: 'A'.repeat(16_000) })),
  }
  const { input: ofSearch } = await billFor(searchCall, sealed)
  expect(Math.floor(ofSearch / 100)).toBe(3000 / 100)
})

test('an answer that found more than reserved is not cut, unlike the next', async () => {
  const { svc, upstream, takeRecords } = native
  const { token } = await svc.user()
  const limit = { name: 'finder', for: 'user', unit: 'tokens', per: 'day', cap: 1000 } as const
  const sendQuestion = () =>
    svc.send('POST', '/v1/chat/completions', {
      token,
      body: { model: 'anthropic', messages, tools: [searchTool], stream: true },
    })
  const counted = { ...anthropicUsage, input_tokens: 5000, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
  const sealed = {
    ...searchResult,
    content: searchHits.map((one) => ({ ...one, encrypted_content: 'A'.repeat(16_000) })),
  }
  upstream.behave = answersWithBlocks([searchCall, sealed, answer], { ...ending, usage: counted })

  await svc.host.limits.set(limit)
  const text = await (await sendQuestion()).text()
  expect(text).toContain('"content":"It is e4."')
  expect(text).toContain('"finish_reason":"stop"')
  await svc.services.ai.usageLedger.flush()
  expect((await sendQuestion()).status).toBe(429)
  await svc.host.limits.remove({ name: 'finder' })
  expect(await takeRecords()).toMatchObject([{ outcome: 'completed', input: 5000, searches: 1 }])
})

test('a model with unknown search prices is no fallback for a priced one', async () => {
  const { upstream, chat, takeRecords } = native
  upstream.behave = (request, response) =>
    request.path.includes('/anthropic/') ? sendJson(response, {}, 401) : answersWithSources(request, response)

  expect((await chat('anthropic', [searchTool])).status).toBe(200)

  expect(upstream.requests.map(({ path }) => path.split('/')[2])).toEqual(['anthropic', 'google'])
  expect(await takeRecords()).toMatchObject([{ searches: 2, cost: 970 + 35_000 }])

  upstream.requests.length = 0
  expect((await chat('anthropic', [])).status).toBe(200)

  expect(upstream.requests.map(({ body }) => body.model)).toEqual(['up', 'anthropic unpriced', undefined])
  await takeRecords()
})

test('a limit in money reserves all possible searches, and counts those made', async () => {
  const { svc, takeRecords } = native
  const limit = { name: 'purse', for: 'user', unit: 'EUR', per: 'month' } as const
  const ada = await svc.user()
  const bob = await svc.user()
  const sendQuestion = (model: string, tools: string[], who = ada) =>
    svc.send('POST', '/v1/chat/completions', { token: who.token, body: { model, messages, tools } })
  const summary = async (who: { token: string }) => {
    await svc.services.ai.usageLedger.flush()
    const response = await svc.send('GET', '/trpc/usage.summary', { token: who.token })
    return ((await response.json()) as { result: { data: object[] } }).result.data
  }

  // Five searches cost 0.05, and a hundred tokens cost 0.003.
  await svc.host.limits.set({ ...limit, cap: 0.05 })
  expect((await sendQuestion('anthropic', [searchTool])).status).toBe(429)
  expect((await sendQuestion('anthropic', [])).status).toBe(200)
  await svc.host.limits.set({ ...limit, cap: 0.08 })
  expect((await sendQuestion('anthropic', [searchTool])).status).toBe(200)
  const refusal = await sendQuestion('anthropic unpriced', [searchTool])
  expect([refusal.status, await refusal.text()]).toEqual([
    429,
    expect.stringContaining('web search may cost in EUR is not known'),
  ])
  // Five pages are 125,000 tokens, which cost 1.25.
  expect((await sendQuestion('anthropic unpriced', [fetchTool])).status).toBe(429)
  await svc.host.limits.set({ ...limit, cap: 1.4 })
  expect((await sendQuestion('anthropic unpriced', [fetchTool])).status).toBe(200)
  await svc.host.limits.remove({ name: 'purse' })
  expect((await sendQuestion('anthropic unpriced', [searchTool])).status).toBe(200)

  expect(await summary(ada)).toMatchObject([
    { model: 'anthropic', webSearches: 2, webFetches: 0, costMicros: 2 * (970 + 10_000) },
    { model: 'anthropic unpriced', requests: 1, costMicros: 970, webFetches: 1, unpriced: 0 },
    { model: 'anthropic unpriced', requests: 1, costMicros: null, webSearches: 1, unpriced: 1 },
  ])
  expect(await summary(bob)).toEqual([])
  expect((await svc.send('GET', '/trpc/usage.summary', {})).status).toBe(401)
  await takeRecords()
})

test('a limit in tokens reserves all readable pages in each round', async () => {
  const { svc, upstream, takeRecords } = native
  const limit = { name: 'reader', for: 'user', unit: 'tokens', per: 'day' } as const
  const { token } = await svc.user()
  const sendQuestion = async (tools: string[]) =>
    (await svc.send('POST', '/v1/chat/completions', { token, body: { model: 'anthropic', messages, tools } })).status
  const usage = { ...fetchUsage, input_tokens: 60_000 }
  const call = { type: 'tool_use', id: 'call', name: 'weather', input: {} }
  upstream.behave = ({ body }, response) => {
    const isReading = !JSON.stringify(body.tools).includes('weather')
    sendJson(response, { ...anthropic.whole, content: isReading ? [fetchCall, fetchedPage] : [call], usage })
  }

  await svc.host.limits.set({ ...limit, cap: 300 })
  expect(await Promise.all([sendQuestion([fetchTool]), sendQuestion([fetchTool])])).toEqual([429, 429])
  expect(upstream.requests).toEqual([])
  // The limit has room for five pages of 25,000 tokens, but not twice.
  await svc.host.limits.set({ ...limit, cap: 130_000 })
  expect((await Promise.all([sendQuestion([fetchTool]), sendQuestion([fetchTool])])).toSorted()).toEqual([200, 429])
  await svc.host.limits.set({ ...limit, cap: 200_000 })
  expect(await sendQuestion([fetchTool, 'weather'])).toBe(429)
  expect(upstream.requests).toHaveLength(2)

  await svc.host.limits.remove({ name: 'reader' })
  expect(await takeRecords()).toMatchObject([{ input: 60_000, fetches: 1 }, { input: 60_000 }])
})

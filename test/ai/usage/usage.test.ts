// @module-tag debian

import { createTRPCClient, httpLink } from '@trpc/client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { AppRouter } from '../../../routers/index.ts'
import {
  answers,
  type Behaviour,
  buildCompletion,
  buildQuestion,
  replies,
  sendJson,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { SLOW } from '../../kit/service-client.ts'
import { shareResource } from '../../kit/share-resource.ts'

const pricing = { currency: 'EUR', inputPerMillion: 0.4, outputPerMillion: 1.6, cachedInputPerMillion: 0.1 }

/** Answers with these counts of tokens. */
const counts =
  (usage: object): Behaviour =>
  (_, response) =>
    sendJson(response, { ...buildCompletion('Fine.'), usage })

const client = (svc: TestApp, token?: string) =>
  createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${svc.url}/trpc`, headers: token ? { authorization: `Bearer ${token}` } : {} })],
  })

const sendQuestion = (svc: TestApp, token: string) => svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })

const provider = shareResource(startProvider)
const config = shareResource(() => writeConfig(provider.url))
const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))
// Resets the records and the provider's behaviour for the next test.
afterEach(async () => {
  await svc.services.ai.usageLedger.flush()
  await svc.rows('delete from usage_records')
  provider.behave = answers('Good day.')
  provider.requests.length = 0
})

/** Sets members of the model, or resets it to its own. */
async function changeModel(more: object = {}): Promise<void> {
  const [own] = config.config.providers
  await config.write({ ...config.config, providers: [{ ...own, models: [{ ...own?.models[0], ...more }] }] })
  await svc.host.models.sync()
}

describe('a usage record', () => {
  test('counts beyond what was sent are cut, marked as estimated and logged', async () => {
    const absurd = { prompt_tokens: 9e15, completion_tokens: 9e15, prompt_tokens_details: { cached_tokens: 9e15 } }
    provider.behave = counts(absurd)
    await changeModel({ pricing })
    const { token } = await svc.user()
    const before = svc.log.length

    await sendQuestion(svc, token)
    await svc.services.ai.usageLedger.flush()

    const [record] = await svc.rows<Record<string, number | boolean>>(
      'select input_tokens, output_tokens, cached_tokens, estimated from usage_records order by id desc limit 1',
    )
    expect(record).toMatchObject({ estimated: true })
    expect(Number(record?.['input_tokens'])).toBeLessThan(1200)
    expect(Number(record?.['cached_tokens'])).toBeLessThanOrEqual(Number(record?.['input_tokens']))
    expect(Number(record?.['output_tokens'])).toBeLessThan(300)
    const line = svc.log.slice(before).find((text) => text.includes('its counts are cut'))
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      provider: 'local',
      model: 'mock-1',
      reported: { input: 2_147_483_647 },
    })
    await svc.rows('delete from usage_records')
  })

  const invented = 20_384
  const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }
  const readOutput = async () => {
    await svc.services.ai.usageLedger.flush()
    const [record] = await svc.rows<{ output: number }>('select output_tokens as output from usage_records')
    return record?.output
  }

  test.for<[string, object, number | undefined, number]>([
    ['no more than what came', { completion_tokens: invented }, undefined, 261],
    ['no more than what came, whatever was asked for', { completion_tokens: invented }, 1000, 261],
    ['thoughts', { completion_tokens: 900, completion_tokens_details: { reasoning_tokens: 890 } }, 1000, 900],
    [
      'thoughts up to the limit of the request',
      { completion_tokens: invented, completion_tokens_details: { reasoning_tokens: invented } },
      1000,
      1000,
    ],
    ['thoughts that are in the total alone', { completion_tokens: 3, total_tokens: 905 }, 1000, 900],
    ['a total up to the limit of the request', { completion_tokens: 3, total_tokens: invented }, 1000, 1000],
  ])('a provider that counts what it has not sent is paid %s', async ([, usage, max, output]) => {
    provider.behave = counts({ prompt_tokens: 5, ...usage })
    await changeModel({ pricing })
    const { token } = await svc.user()
    const body = { model: 'mock-1', messages: [{ role: 'user', content: 'Hello' }], max_tokens: max }

    const response = await svc.send('POST', '/v1/chat/completions', { token, body })

    expect(response.status).toBe(200)
    expect(await readOutput()).toBe(output)
  })

  test.for<[string, object, number, number]>([
    ['the template of the model', {}, 700, 700],
    ['no instructions for tools without tools', {}, invented, 1040],
    ['instructions for tools', { tools: [tool] }, 3000, 3000],
    ['no more than instructions for tools', { tools: [tool] }, invented, 5000],
    ['no more than instructions for a schema', { response_format: { type: 'json_object' } }, invented, 5000],
  ])('a provider that counts more input than was sent is paid %s', async ([, more, counted, most]) => {
    provider.behave = counts({ prompt_tokens: counted, completion_tokens: 1 })
    await changeModel({ pricing })
    const { token } = await svc.user()
    const body = { model: 'mock-1', messages: [{ role: 'user', content: 'Hi' }], ...more }

    const response = await svc.send('POST', '/v1/chat/completions', { token, body })
    await svc.services.ai.usageLedger.flush()

    const [record] = await svc.rows<{ input: number; estimated: boolean }>(
      'select input_tokens as input, estimated from usage_records',
    )
    expect(response.status).toBe(200)
    expect(record?.estimated).toBe(counted === invented)
    expect(record?.input).toBeLessThanOrEqual(most)
    expect(record?.input).toBeGreaterThanOrEqual(Math.min(counted, 1000))
  })

  test('a usage record has caller, model, usage and cost, without any content', async () => {
    provider.behave = counts({
      prompt_tokens: 1000,
      completion_tokens: 500,
      prompt_tokens_details: { cached_tokens: 200 },
      completion_tokens_details: { reasoning_tokens: 300 },
    })
    await changeModel({ pricing })
    const { id, token } = await svc.user()

    const response = await sendQuestion(svc, token)
    await svc.services.ai.usageLedger.flush()

    const [price] = await svc.rows<{ id: number }>('select max(id) as id from model_prices')
    expect(await svc.rows('select * from usage_records')).toEqual([
      {
        id: expect.stringMatching(/^\d+$/),
        kind: 'model',
        created_at: expect.anything(),
        user_id: id,
        token_id: Number(token.split('_')[1]),
        room_id: null,
        app_id: null,
        context: 'api',
        provider: 'local',
        assistant: null,
        model: 'mock-1',
        input_tokens: 1000,
        output_tokens: 500,
        cached_tokens: 200,
        cache_write_tokens: 0,
        estimated: false,
        reasoning_tokens: 300,
        web_searches: 0,
        web_fetches: 0,
        outcome: 'completed',
        duration_ms: expect.any(Number),
        first_piece_ms: expect.any(Number),
        // The cost is 800 x 0.4 + 200 x 0.1 + 500 x 1.6 millionths; reasoning is part of the output and counted once.
        cost_micros: '1140',
        currency: 'EUR',
        price_id: price?.id,
        request_id: response.headers.get('x-request-id'),
      },
    ])
  })

  test('a usage record has no cost without a price, and whole millionths', async () => {
    provider.behave = counts({ prompt_tokens: 1, completion_tokens: 1 })
    await changeModel()
    const { token } = await svc.user()
    await sendQuestion(svc, token)
    await svc.services.ai.usageLedger.flush()
    await changeModel({ pricing })

    await sendQuestion(svc, token)
    await svc.services.ai.usageLedger.flush()

    expect(await svc.rows('select cost_micros, currency from usage_records order by id')).toEqual([
      { cost_micros: null, currency: null },
      { cost_micros: '2', currency: 'EUR' },
    ])
  })

  test('a usage record survives the token and the person, without them', async () => {
    const { id, token } = await svc.user()
    await sendQuestion(svc, token)
    await svc.host.tokens.revokeFor({ user: { id }, tokenId: Number(token.split('_')[1]) })
    await svc.services.ai.usageLedger.flush()

    expect(await svc.rows('select user_id, token_id from usage_records')).toEqual([{ user_id: id, token_id: null }])
    await svc.host.admin.removeUser({ user: { id } })
    expect(await svc.rows('select user_id, token_id from usage_records')).toEqual([{ user_id: null, token_id: null }])
  })

  test('a usage record drops people who were removed during the call', async () => {
    const waiting = Promise.withResolvers<void>()
    provider.behave = async (request, response) => {
      await waiting.promise
      return replies(JSON.stringify(buildCompletion('Too late.')))(request, response)
    }
    const { id, token } = await svc.user()
    const pendingCall = sendQuestion(svc, token)
    await vi.waitFor(() => expect(provider.requests).toHaveLength(1), SLOW)

    await svc.host.admin.removeUser({ user: { id } })
    waiting.resolve()
    await pendingCall
    await svc.services.ai.usageLedger.flush()

    expect(await svc.rows('select user_id, token_id, outcome from usage_records')).toMatchObject([
      { user_id: null, token_id: null },
    ])
    expect(await svc.rows('select user_id from usage_holds')).toEqual([])
  })
})

describe('usage.summary', () => {
  test('usage.summary tells the caller their own, by day, model and context', async () => {
    provider.behave = counts({ prompt_tokens: 10, completion_tokens: 5 })
    await changeModel({ pricing })
    const ada = await svc.user()
    const bob = await svc.user()
    for (const { token } of [ada, ada, ada, bob]) await sendQuestion(svc, token)
    await svc.services.ai.usageLedger.flush()
    const now = Date.now()
    const day = (ago: number) => new Date(now - ago * 86_400_000).toISOString().slice(0, 10)
    // The dates are set explicitly, in case midnight has passed since the calls.
    await svc.rows(
      `update usage_records set created_at = $1::timestamptz - case id when (select min(id) from usage_records) then 2 else 0 end * interval '1 day'`,
      [new Date(now)],
    )
    const tokens = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
    const none = { ...tokens, webSearches: 0, webFetches: 0, estimated: 0, unpriced: 0 }
    const row = { model: 'mock-1', context: 'api', currency: 'EUR', ...none }

    expect(await client(svc, ada.token).usage.summary.query()).toEqual([
      { ...row, day: day(0), requests: 2, inputTokens: 20, outputTokens: 10, costMicros: 24 },
      { ...row, day: day(2), requests: 1, inputTokens: 10, outputTokens: 5, costMicros: 12 },
    ])
    expect(await client(svc, bob.token).usage.summary.query()).toMatchObject([{ requests: 1 }])
    expect(await client(svc, ada.token).usage.summary.query({ from: day(1), to: day(0) })).toHaveLength(1)
    expect(await client(svc, (await svc.user()).token).usage.summary.query()).toEqual([])
  })

  test('usage.summary reveals nothing to guests, unable tokens and wrong periods', async () => {
    const { token } = await svc.user()
    const { token: otherToken } = await svc.user({ abilities: ['ai'] })

    await expect(client(svc).usage.summary.query()).rejects.toMatchObject({ data: { httpStatus: 401 } })
    await expect(client(svc, otherToken).usage.summary.query()).rejects.toMatchObject({ data: { httpStatus: 403 } })
    await expect(client(svc, token).usage.report.query()).rejects.toMatchObject({ data: { httpStatus: 403 } })
    const backwards = { from: '2026-02-01', to: '2026-01-01' }
    await expect(client(svc, token).usage.summary.query(backwards)).rejects.toMatchObject({ data: { httpStatus: 400 } })
  })

  test('usage.report tells administrators of everybody', async () => {
    const { username, token } = await svc.user()
    const admin = await svc.user({ role: 'admin' })
    await sendQuestion(svc, token)
    await svc.services.ai.usageLedger.flush()

    expect(await client(svc, admin.token).usage.report.query()).toMatchObject([
      { username, provider: 'local', model: 'mock-1', outcome: 'completed', requests: 1 },
    ])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, type SvcError } from '../../../facades/client/index.ts'
import { readLimitState, requestLimit, sendQuestion, shareLimitedService } from '../../kit/ai/limited-service.ts'
import { buildQuestion } from '../../kit/ai/provider.ts'
import { buildUserMessage, createAiRoom, KEY, type RoomAiApp, startRoomAi } from '../../kit/rooms/ai.ts'

const limited = shareLimitedService()

const small = { ...requestLimit, unit: 'tokens', cap: 4000 }

const chat = { model: 'mock-1', messages: [{ role: 'user', content: 'Hello' }] }

/** Matches any mention of a time at which the limit frees. */
const MOMENT = /frees|\d{4}-\d\d-\d\d/

const headersOf = ({ headers }: Response) => ({
  retryAfter: headers.get('retry-after'),
  shouldRetry: headers.get('x-should-retry'),
})

const messageOf = async (refused: Response) => ((await refused.json()) as { message: string }).message

describe('a call that may take more than all of a limit', () => {
  let app: RoomAiApp
  beforeAll(async () => {
    app = await startRoomAi()
    // The limit is for each person, so tests do not share it.
    await app.svc.host.limits.set({ ...small, for: 'user' } as never)
  })
  afterAll(() => app[Symbol.asyncDispose]())

  const chatInput = { model: 'mock-1', messages: [buildUserMessage('Hello')] }
  const stream = { accept: 'text/event-stream' }

  test.for([
    ['the legacy address', '/api/ai-req', buildQuestion(), {}],
    ['the legacy address as a stream', '/api/ai-req', buildQuestion(), stream],
    ['Chat Completions', '/v1/chat/completions', chat, {}],
    ['Chat Completions as a stream', '/v1/chat/completions', { ...chat, stream: true }, {}],
    ['Responses', '/v1/responses', { model: 'mock-1', input: 'Hello' }, {}],
    ['Messages', '/v1/messages', { ...chat, max_tokens: 4097 }, {}],
    ['tRPC', '/trpc/ai.complete', chatInput, {}],
  ] as const)('is refused by %s with the advice to ask for less, without a time', async ([, path, body, headers]) => {
    const { token } = await app.svc.user()

    const refusal = await app.svc.send('POST', path, { token, body, headers })
    const text = await refusal.text()

    expect(refusal.status).toBe(429)
    expect(text).toMatch(
      /This call may take 4\d\d\d, and the limit 'all' is 4000 tokens a month\. Send less, or ask for a shorter answer\./,
    )
    expect(text).not.toMatch(MOMENT)
    expect(headersOf(refusal)).toEqual({ retryAfter: null, shouldRetry: 'false' })
    expect(refusal.headers.get('ratelimit')).toMatch(/^"all";r=4000;t=\d+$/)
  })

  test('is refused likewise in a room by JSON:API', async () => {
    const { id, admin } = await createAiRoom(app)

    const refusal = await admin.post(`/rooms/${id}/actions/ask`, { ...chatInput, key: KEY })

    expect([refusal.status, refusal.errors[0]?.code]).toEqual([429, 'limit_reached'])
    expect(refusal.errors[0]?.detail).toMatch(
      /^This call may take 4\d\d\d, and the limit 'all' is 4000 tokens a month\./,
    )
    expect(refusal.headers.get('retry-after')).toBeNull()
  })

  test('tells programs what is left, what the call may take and what fits', async () => {
    const { token } = await app.svc.user()
    const client = createClient({ url: app.svc.url, token })
    const typedInput = chatInput as never as Parameters<typeof client.ai.complete.mutate>[0]

    const refusal = (await client.ai.complete.mutate(typedInput).catch((error: unknown) => error)) as SvcError

    expect(refusal.code).toBe('limit_reached')
    const { limit } = refusal
    expect(limit).toMatchObject({ name: 'all', subject: 'user', unit: 'tokens', currency: null, left: 4000 })
    expect(limit?.needed).toBe((limit?.inputTokens ?? 0) + (limit?.answerTokens ?? 0))
    expect(limit?.fittingAnswerTokens).toBe(4000 - (limit?.inputTokens ?? 0))
    const parameters = { maxTokens: limit?.fittingAnswerTokens }
    await client.ai.complete.mutate({ ...typedInput, parameters })
  })

  test('succeeds as soon as it asks for a shorter answer', async () => {
    const { token } = await app.svc.user()

    const answer = await app.svc.send('POST', '/v1/chat/completions', { token, body: { ...chat, max_tokens: 100 } })

    expect(answer.status).toBe(200)
  })
})

test('a refused call learns from both kinds of headers what is left', async () => {
  await using world = await limited([small])
  const { token } = await world.svc.user()
  await world.svc.send('POST', '/v1/chat/completions', { token, body: { ...chat, max_tokens: 100 } })
  await world.svc.services.ai.usageLedger.flush()

  const { headers } = await sendQuestion(world.svc, token)

  const [, left, reset] = /^"all";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? []
  expect(left).toBe('3990')
  expect(headers.get('ratelimit-limit')).toBe('4000')
  expect(headers.get('ratelimit-remaining')).toBe(left)
  expect(Math.abs(Number(headers.get('ratelimit-reset')) - Number(reset))).toBeLessThan(60)
})

test('a limit that never has room is reported before a spent one', async () => {
  await using world = await limited([
    { ...requestLimit, name: 'spent', for: 'user', cap: 1 },
    { ...small, name: 'small', per: 'day', cap: 4100 },
  ])
  const { token } = await world.svc.user()
  expect((await sendQuestion(world.svc, token)).status).toBe(200)
  await world.svc.services.ai.usageLedger.flush()

  const refusal = await sendQuestion(world.svc, token, 'Hello '.repeat(500))

  expect(headersOf(refusal)).toEqual({ retryAfter: null, shouldRetry: 'false' })
  expect(await messageOf(refusal)).toMatch(/and the limit 'small' is 4100 tokens a day\./)
})

test('a top-up frees nothing for a call that is larger than the limit', async () => {
  await using world = await limited([{ ...small, cap: 50 }], { env: { LIMITS_MAX_OUTPUT_TOKENS: '60' } })
  const { token } = await world.svc.user()
  expect((await sendQuestion(world.svc, token)).status).toBe(429)
  await world.svc.host.limits.topUp({ name: 'all', amount: 20 })
  expect((await sendQuestion(world.svc, token)).status).toBe(200)
  await world.svc.services.ai.usageLedger.flush()

  const refusal = await sendQuestion(world.svc, token)

  expect(headersOf(refusal)).toEqual({ retryAfter: null, shouldRetry: 'false' })
  expect(await messageOf(refusal)).toMatch(
    /^This call may take 6\d, and the limit 'all' is 50 tokens a month, without what was topped up\. Send less/,
  )
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ cap: 70, used: 10, held: 0 })
})

test('a limit of nothing lets no call through, and names no moment', async () => {
  await using world = await limited([{ ...requestLimit, cap: 0, per: 'hour' }])
  const { token } = await world.svc.user()

  const refusal = await sendQuestion(world.svc, token)

  expect([refusal.status, headersOf(refusal)]).toEqual([429, { retryAfter: null, shouldRetry: 'false' }])
  expect(await messageOf(refusal)).toBe("The limit 'all' lets no call through: it is 0 requests an hour.")
})

test('a call too expensive for a money limit learns so in its unit', async () => {
  const pricing = { currency: 'EUR', inputPerMillion: 1, outputPerMillion: 1 }
  await using world = await limited([{ ...requestLimit, unit: 'EUR', cap: 0.004 }], { model: { pricing } })
  const { token } = await world.svc.user()

  const refusal = await sendQuestion(world.svc, token)

  expect(headersOf(refusal)).toEqual({ retryAfter: null, shouldRetry: 'false' })
  expect(await messageOf(refusal)).toMatch(
    /^This call may cost 0\.004\d* EUR, and the limit 'all' is 0\.004 EUR a month\. .* or ask another model\.$/,
  )
})

test('a call of unknown price is refused without a time to retry', async () => {
  await using world = await limited([{ ...requestLimit, unit: 'EUR', cap: 1 }])
  const { token } = await world.svc.user()

  const refusal = await sendQuestion(world.svc, token)

  expect([refusal.status, headersOf(refusal)]).toEqual([429, { retryAfter: null, shouldRetry: 'false' }])
})

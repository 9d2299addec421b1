import { afterEach, expect, test } from 'vitest'
import { answers, embeds, neverEnds } from '../../kit/ai/provider.ts'
import { startWithProvider } from '../../kit/ai/provider-service.ts'
import { flood, postUnread } from '../../kit/ai/unread.ts'
import { shareResource } from '../../kit/share-resource.ts'

const CALLS = 2

const app = shareResource(() => {
  const models = [
    { id: 'mock-1', label: 'Mock 1', external: true },
    { id: 'embeds', label: 'Embeds', external: true, modelType: 'embedding' },
  ]
  return startWithProvider(neverEnds, { models }, { AI_CALLS_PER_PERSON: `${CALLS}`, AI_UNREAD_TIMEOUT: '500ms' })
})

const countCalls = () => app.svc.services.limits.aiCalls.total
afterEach(() => expect.poll(countCalls).toBe(0))

const messages = [{ role: 'user', content: 'Hello' }]
const chat = { model: 'mock-1', messages }
const request = { model: 'mock-1', messages: [{ role: 'user', content: { text: 'Hello' } }] }
const message = expect.any(String)

/** Opens as many streams as a person may have. */
async function openStreams(token: string) {
  const controller = new AbortController()
  for (let count = 0; count < CALLS; count++)
    await app.svc.send('POST', '/v1/chat/completions', {
      token,
      body: { ...chat, stream: true },
      signal: controller.signal,
    })
  return { [Symbol.dispose]: () => controller.abort() }
}

const surfaces: [string, string, object, object][] = [
  ['ai-req', '/api/ai-req', { payload: request }, { success: false, code: 'too_many_requests' }],
  ['chat completions', '/v1/chat/completions', chat, { error: { message, code: 'rate_limit_exceeded' } }],
  ['responses', '/v1/responses', { model: 'mock-1', input: 'Hello' }, { error: { code: 'rate_limit_exceeded' } }],
  ['embeddings', '/v1/embeddings', { model: 'embeds', input: 'a' }, { error: { code: 'rate_limit_exceeded' } }],
  [
    'messages',
    '/v1/messages',
    { ...chat, max_tokens: 10 },
    { type: 'error', error: { type: 'rate_limit_error', message } },
  ],
  ['tRPC', '/trpc/ai.ask', request, { error: { data: { problem: 'too_many_requests', httpStatus: 429 } } }],
]

test.for(surfaces)('one AI call more than a person may have is refused by %s', async ([, path, body, refusal]) => {
  app.upstream.behave = neverEnds
  const { token } = await app.svc.user()
  const other = await app.svc.user()
  using _streams = await openStreams(token)
  app.upstream.behave = answers('Good.')
  const count = app.upstream.requests.length

  const refused = await app.svc.send('POST', path, { token, body })

  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBe(5)
  expect(await refused.json()).toMatchObject(refusal)
  expect(app.upstream.requests).toHaveLength(count)
  if (path.endsWith('embeddings')) app.upstream.behave = embeds
  const answered = await app.svc.send('POST', path, { token: other.token, body })
  expect(answered.status).toBe(200)
  await answered.text()
})

test('calls that end, fail or are refused leave their place to others', async () => {
  const { token } = await app.svc.user()
  for (const behave of [answers('Good.'), (_: unknown, response: { destroy(): void }) => response.destroy()])
    for (let count = 0; count < 2 * CALLS; count++) {
      app.upstream.behave = behave as typeof neverEnds
      await (await app.svc.send('POST', '/v1/chat/completions', { token, body: chat })).text()
      await (await app.svc.send('POST', '/v1/chat/completions', { token, body: { ...chat, stream: true } })).text()
      await app.svc.send('POST', '/v1/chat/completions', { token, body: { ...chat, model: 'none' } })
      expect(countCalls()).toBe(0)
    }
})

test('a streamed answer that nobody reads is cut, and billed as far as received', async () => {
  app.upstream.behave = flood
  app.upstream.requests.length = 0
  const { id, token } = await app.svc.user()

  const socket = await postUnread(app.svc, '/v1/chat/completions', token, 'accept: */*', { ...chat, stream: true })

  await expect.poll(() => app.upstream.requests[0]?.abortedAt).toBeDefined()
  const read = async () => {
    await app.svc.services.ai.usageLedger.flush()
    return app.svc.rows<{ outcome: string; output: number }>(
      'select outcome, output_tokens as output from usage_records where user_id = $1',
      [id],
    )
  }
  await expect.poll(read).toEqual([{ outcome: 'cut', output: expect.any(Number) }])
  expect((await read())[0]?.output).toBeGreaterThan(1000)
  await expect.poll(() => socket.write('\r\n') && !socket.destroyed).toBe(false)
})

import { request } from 'node:http'
import { expect, test } from 'vitest'
import { answers, neverEnds } from '../../kit/ai/provider.ts'
import { startWithProvider } from '../../kit/ai/provider-service.ts'
import { waitForLocks } from '../../kit/locks.ts'
import { openClient } from '../../kit/postgres-client.ts'
import { shareResource } from '../../kit/share-resource.ts'

const MAX = 40_000

const app = shareResource(() => {
  const bounds = { AI_MAX_FILES: `${MAX}`, AI_BYTES_PER_PERSON: `${2 * MAX}`, AI_BYTES_AT_ONCE: `${3 * MAX}` }
  return startWithProvider(answers('Good.'), {}, { AI_MAX_BODY: `${MAX}`, AI_MAX_BODY_WITH_FILES: `${MAX}`, ...bounds })
})

/** Sends a request's headers with or without a body length, and none of the body until the end. */
async function announce(token: string, path: string, bytes?: number) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const length = bytes === undefined ? {} : { 'content-length': bytes }
  const sending = request(`${app.svc.url}${path}`, { method: 'POST', headers: { ...headers, ...length } })
  const status = new Promise<number>((resolve) => {
    sending.on('response', (response) => resolve(response.resume().statusCode ?? 0))
    sending.on('error', () => resolve(0))
  })
  sending.flushHeaders()
  return { status, [Symbol.dispose]: () => void sending.destroy() }
}

const expectBytes = async (bytes: number) => {
  await expect.poll(() => app.svc.services.limits.aiBytes.total).toBe(bytes)
}

test('bodies of waiting requests have an allowance by person and in total', async () => {
  const [{ token }, other] = [app, await app.svc.user()]
  using _first = await announce(token, '/v1/chat/completions', MAX)
  using _second = await announce(token, '/trpc/ai.complete', MAX - 1000)
  await expectBytes(2 * MAX - 1000)

  using beyond = await announce(token, '/v1/responses', MAX)
  expect(await beyond.status).toBe(429)
  expect((await app.sendQuestion()).status).toBe(200)

  using _third = await announce(other.token, '/v1/chat/completions', MAX - 500)
  await expectBytes(3 * MAX - 1500)
  using inAll = await announce(other.token, '/v1/chat/completions', MAX - 500)
  expect(await inAll.status).toBe(503)
})

test('a body without a length counts as the largest, until its answer ends', async () => {
  await expectBytes(0)
  using sent = await announce(app.token, '/v1/chat/completions')
  await expectBytes(MAX)
  sent[Symbol.dispose]()
  await expectBytes(0)

  app.upstream.behave = neverEnds
  const body = { model: 'mock-1', messages: [{ role: 'user', content: 'x'.repeat(1000) }], stream: true }
  const controller = new AbortController()
  const settings = { token: app.token, body, signal: controller.signal }
  await app.svc.send('POST', '/v1/chat/completions', settings)
  await expectBytes(JSON.stringify(body).length)
  controller.abort()
  await expectBytes(0)
})

test('a client that leaves during its authentication reserves nothing', async () => {
  await expectBytes(0)
  const isGone = (line: string) => JSON.parse(line).msg === 'client_gone'
  const before = app.svc.log.filter(isGone).length
  await using client = await openClient(app.svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query('lock table access_tokens in access exclusive mode')
  const sent = await announce(app.token, '/v1/chat/completions', MAX)
  await waitForLocks(app.svc.env.DATABASE_URL)

  sent[Symbol.dispose]()
  await expect.poll(() => app.svc.log.filter(isGone).length).toBeGreaterThan(before)
  await client.query('commit')

  app.upstream.behave = answers('Good.')
  expect((await app.sendQuestion()).status).toBe(200)
  await expectBytes(0)
})

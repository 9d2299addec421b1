import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { startOwnRedis } from '../kit/parts/redis.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { startPair } from '../kit/realtime/replicas.ts'
import { shareResource } from '../kit/share-resource.ts'

const SLOW = { timeout: 60_000 }

const svc = shareResource(startApp)
beforeEach(() => svc.rows('delete from usage_records'))

interface Calls {
  model: string
  outcome?: string
  ms?: number
  count: number
  ago?: string
}

const record = (user: number, { model, outcome = 'completed', ms = 100, count, ago = '0 minutes' }: Calls) =>
  svc.rows(
    `insert into usage_records (request_id, user_id, provider, model, context, outcome, duration_ms, input_tokens, output_tokens, created_at)
     select 'r', $1, 'p', $2, 'api', $3, $4, 10, 5, now() - $5::interval from generate_series(1, $6)`,
    [user, model, outcome, ms, ago, count],
  )

test('the slowest and the failing models of the last days come first', async () => {
  const { id } = await svc.user()
  await record(id, { model: 'slow', ms: 9000, count: 3 })
  await record(id, { model: 'quick', ms: 50, count: 8 })
  await record(id, { model: 'frail', ms: 100, count: 1 })
  await record(id, { model: 'frail', outcome: 'failed', count: 3 })
  await record(id, { model: 'old', ms: 99_000, count: 3, ago: '20 days' })

  const slowest = await svc.host.overview.models({ order: 'slowest' })
  const failing = await svc.host.overview.models({ order: 'failing' })

  expect(slowest.map(({ model }) => model)).toEqual(['slow', 'frail', 'quick'])
  expect(slowest[0]).toMatchObject({ provider: 'p', calls: 3, failed: 0, medianMs: 9000, slowestMs: 9000 })
  expect(failing[0]).toMatchObject({ model: 'frail', calls: 4, failed: 3 })
  expect((await svc.host.overview.models({ order: 'slowest', days: 30 }))[0]?.model).toBe('old')
})

test('the time to the first token is recorded beside the whole time', async () => {
  const { token } = await svc.user()
  const body = { payload: { model: 'demo', messages: [{ role: 'user', content: { text: 'Hello' } }] } }
  const answer = await svc.send('POST', '/api/ai-req', { token, body, headers: { accept: 'text/event-stream' } })
  expect(answer.status).toBe(200)
  await answer.text()

  const demo = async () => (await svc.host.overview.models({ order: 'slowest' })).find(({ model }) => model === 'demo')
  await expect.poll(async () => (await demo())?.firstPieceMs).toEqual(expect.any(Number))
})

test('calls are counted by hour, also in hours without one', async () => {
  const { id } = await svc.user()
  await record(id, { model: 'slow', count: 12 })
  await record(id, { model: 'frail', outcome: 'failed', count: 3, ago: '3 hours' })
  await record(id, { model: 'old', count: 3, ago: '20 days' })

  const calls = await svc.host.overview.calls({ hours: 48 })

  expect(calls).toHaveLength(48)
  const sum = (of: 'calls' | 'failed' | 'inputTokens') => calls.reduce((total, hour) => total + hour[of], 0)
  expect([sum('calls'), sum('failed'), sum('inputTokens')]).toEqual([15, 3, 150])
  expect(calls.at(-48)).toMatchObject({ calls: 0, outputTokens: 0 })
})

test('the fullest limit comes first, and one with much left is omitted', async () => {
  const people = await Promise.all(['full', 'near', 'far'].map((username) => svc.user({ username })))
  await svc.host.limits.set({ name: 'each', for: 'user', cap: 100, unit: 'requests', per: 'month' })
  for (const [at, used] of [100, 95, 10].entries())
    await svc.rows(
      `insert into usage_counters (limit_id, subject_id, starts_at, ends_at, used)
       select id, $1, date_trunc('month', now() at time zone 'utc') at time zone 'utc',
              (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc', $2 from usage_limits where name = 'each'`,
      [`${people[at]?.id}`, used],
    )

  const near = await svc.host.overview.limits()

  expect(near.map(({ subjectName, used }) => [subjectName, used])).toEqual([
    ['full', 100],
    ['near', 95],
  ])
  expect(await svc.host.overview.limits({ share: 0.05 })).toHaveLength(3)
})

test('what waits for a decision is listed with how much of it there is', async () => {
  const { id } = await svc.user({ username: 'gone' })
  await svc.host.admin.setDisabled({ user: { id }, disabled: true })
  await svc.rows(`insert into ai_providers (provider_id, adapter, name) values ('lost', 'openai-compatible', 'Lost')`)
  await svc.rows(
    `insert into ai_models (provider_id, model_id, label, status)
     select p.id, 'lost-' || n, 'Lost', 'offline' from ai_providers p, generate_series(1, 25) n where p.provider_id = 'lost'`,
  )
  await svc.rows(
    `insert into mcp_servers (server_label, url, transport) values ('tools', 'https://tools.example.org', 'http')`,
  )
  await svc.rows(
    `insert into ai_tools (name, tool_type, server_id, mcp_name, mcp_config)
     select 'search', 'mcp', id, 'search', '{"description":"x"}' from mcp_servers where server_label = 'tools'`,
  )

  const decisions = await svc.host.overview.decisions()

  expect(decisions.offlineModels).toMatchObject({ total: 25, items: { length: 20 } })
  expect(decisions.leftTokens).toMatchObject({ total: 1, items: [{ username: 'gone', disabled: true, tokens: 1 }] })
  expect(decisions.toolsToApprove).toMatchObject({ total: 1, items: [{ name: 'search', hasChanged: false }] })
  expect(decisions.prices.total).toBeGreaterThanOrEqual(25)
  expect(decisions.deprecatedCallers).toEqual({ total: 0, items: [] })
})

test('the health of all parts is told with the replicas', async () => {
  const { status, parts, replicas } = await svc.host.overview.health()

  expect(status).toBe('healthy')
  expect(parts.map(({ name }) => name)).toEqual(['database', 'cache', 'kvstore', 'storage'])
  expect(replicas.length).toBeLessThanOrEqual(1)
})

describeWith('redis')('with several replicas', () => {
  test('each replica tells which of its own parts do not work', async () => {
    await using redis = await startOwnRedis()
    await using pair = await startPair({ REDIS_URL: redis.url })
    const failing = async () => (await pair.svc.host.overview.health()).replicas.map(({ failing }) => failing)
    await expect.poll(failing, SLOW).toEqual([[]])
    const cache = join(pair.other.folder, 'cache')
    await rm(cache, { recursive: true, force: true })
    await writeFile(cache, 'a file where the directory should be')

    await expect.poll(failing, SLOW).toEqual([['storage']])
    expect((await pair.svc.host.overview.health()).status).toBe('healthy')
  })
})

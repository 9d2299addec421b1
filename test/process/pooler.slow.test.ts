import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase, createEmptyDatabase } from '../kit/database.ts'
import { base, mediaType } from '../kit/json-api/client.ts'
import { startPgbouncer } from '../kit/parts/pgbouncer.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openClient } from '../kit/postgres-client.ts'

const limits = { DATABASE_STATEMENT_TIMEOUT: '60s', DATABASE_LOCK_TIMEOUT: '15s', DATABASE_IDLE_TIMEOUT: '8s' }
const CONNECT_QUERY =
  'set statement_timeout = 60000; set lock_timeout = 15000; set idle_in_transaction_session_timeout = 8000'

describeWith('pgbouncer')('behind PgBouncer in transaction mode, with fewer connections than replicas have', () => {
  const kept = new AsyncDisposableStack()
  let replicas: TestApp[]

  beforeAll(async () => {
    const database = kept.use(await createEmptyDatabase())
    const pooler = kept.use(await startPgbouncer(database.url, CONNECT_QUERY))
    const provider = kept.use(await startProvider())
    const config = kept.use(await writeConfig(provider.url))
    const settings = {
      ...limits,
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: database.url,
      AI_CONFIG: config.file,
      APP_KEY: 'one key for both replicas of this test',
      RATE_LIMIT_AI_PER_MINUTE: '1000',
    }
    // Both find no tables, and migrate one after the other.
    replicas = await Promise.all([startApp(settings), startApp(settings)])
    for (const replica of replicas) kept.use(replica)
  })
  afterAll(() => kept.disposeAsync())

  const one = () => replicas[0] as TestApp

  test('many people ask at once, each is answered, and each call is counted once', async () => {
    const people = await Promise.all(Array.from({ length: 10 }, () => one().user()))
    await one().host.limits.set({ name: 'all', for: 'installation', cap: 150, unit: 'requests', per: 'month' } as never)
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const { token } = people[index % 10] ?? {}
        const { send } = replicas[index % 2] as TestApp
        return (await send('POST', '/api/ai-req', { token, body: buildQuestion() })).status
      }),
    )
    for (const { services } of replicas) await services.ai.usageLedger.flush()
    expect(statuses.toSorted()).toEqual([...Array(150).fill(200), ...Array(50).fill(429)])
    const [counted] = await one().rows('select count(*)::int as calls from usage_records')
    expect(counted).toEqual({ calls: 150 })
    await one().host.limits.remove({ name: 'all' })
  })

  test('reading and writing documents at once never meets a statement of somebody else', async () => {
    const { token } = await one().user({ role: 'admin' })
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const { send } = replicas[index % 2] as TestApp
        const path = ['/ai-models', '/users', '/ai-providers?page[size]=5', '/ai-tools'][index % 4]
        return (await send('GET', base + path, { token, headers: { accept: mediaType } })).status
      }),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  test('a long wait for a row lock is refused as without a pooler', async () => {
    const [admin, { id }] = [
      await one().user({ role: 'admin', abilities: ['read', 'write', 'user', 'admin'] }),
      await one().user(),
    ]
    await using client = await openClient(one().env.DATABASE_DIRECT_URL)
    await client.query('begin')
    await client.query('select from users where id = $1 for update', [id])
    const refused = await one().send('DELETE', `${base}/users/${id}`, { token: admin.token })
    expect([refused.status, await refused.json()]).toMatchObject([503, { errors: [{ code: 'busy' }] }])
    await client.query('rollback')
  })

  test('an abandoned transaction blocks nobody for longer than the settings say', async () => {
    const { id } = await one().user()
    await using client = await openClient(one().env.DATABASE_URL)
    await client.query('begin')
    await client.query('select from users where id = $1 for update', [id])
    await using other = await openClient(one().env.DATABASE_DIRECT_URL)
    expect((await other.query('select from users where id = $1 for update', [id])).rowCount).toBe(1)
    await expect(client.query('commit')).rejects.toThrow()
  })
})

describeWith('pgbouncer')('a start through a pooler', () => {
  test('without its time limits is refused with the line that sets them', async () => {
    await using database = await cloneDatabase()
    await using pooler = await startPgbouncer(database.url, 'select 1')
    const starting = startApp({ ...limits, DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url })
    await expect(starting).rejects.toThrow(`DATABASE_URL: the database ${database.name} at`)
    await expect(starting).rejects.toThrow(`In PgBouncer: connect_query='${CONNECT_QUERY}'`)
  })

  test('refuses to start without the direct address, and names the missing setting', async () => {
    await using database = await cloneDatabase()
    await using pooler = await startPgbouncer(database.url, CONNECT_QUERY)
    await expect(startApp({ ...limits, DATABASE_URL: pooler.url })).rejects.toThrow(/DATABASE_DIRECT_URL/)
    // No other connection is left in that database.
    await using client = await openClient(database.url)
    const others = `select count(*)::int as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name = 'svc'`
    await expect.poll(async () => (await client.query(others)).rows).toEqual([{ count: 0 }])
  })
})

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { usageGroupings } from '../../../entities/views/usage-by.sql.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { openHost } from '../../kit/command-line.ts'
import { cloneDatabase, runAdminStatement } from '../../kit/database.ts'

type Rows = (text: string) => Promise<unknown[]>

/** Inserts calls of Ada, Bob and a removed person on these days. */
const addCalls = (rows: Rows, days: string) =>
  rows(
    `insert into usage_records (user_id, room_id, app_id, context, provider, model, input_tokens, output_tokens, cached_tokens, cache_write_tokens,
                                reasoning_tokens, web_searches, web_fetches, estimated, outcome, duration_ms, cost_micros, currency, request_id, created_at)
     select (select id from users where username = case n % 3 when 1 then 'ada' when 2 then 'bob' end), nullif(n % 2, 0), nullif(n % 4, 0), 'api', case n % 2 when 0 then 'here' else 'there' end,
            'm' || n % 4, 10 + n, n, n % 5, n % 2, n % 4, n % 3, n % 5, n % 6 = 0, case n % 10 when 0 then 'failed' else 'completed' end, 1,
            case n % 7 when 0 then null else 1000 + n end, case n % 7 when 0 then null when 1 then 'USD' else 'EUR' end,
            'r' || n, d + n * interval '13 minutes'
       from generate_series(1, 60) n, (${days}) as days(d)`,
  )

const addPeople = (rows: Rows) =>
  rows(
    `insert into users (username, email, name) select name, name || '@example.org', name from unnest('{ada,bob}'::text[]) name`,
  )

/** Service that keeps records for ever, and has two database connections. */
let twoConnections: TestApp
beforeAll(async () => {
  twoConnections = await startApp({ DATABASE_POOL: '2' })
})
afterEach(async () => {
  await twoConnections.rows('delete from usage_records')
  await twoConnections.rows('delete from users where id > 1')
})
afterAll(() => twoConnections[Symbol.asyncDispose]())

const whole = { from: '2020-01-01', to: '2100-01-01' }

async function readGroups({ host }: TestApp, by: (typeof usageGroupings)[number]): Promise<object[]> {
  const rows: object[] = []
  for await (const batch of await host.usage.by({ by, ...whole })) rows.push(...batch)
  return rows
}

describe('svc usage --by', () => {
  let machine: Awaited<ReturnType<typeof openHost>>
  beforeAll(async () => {
    machine = await openHost()
  })
  afterEach(async () => {
    await machine.rows('delete from usage_records')
    await machine.rows('delete from users where id > 1')
  })
  afterAll(() => machine[Symbol.asyncDispose]())

  async function addPricedCalls() {
    await machine.rows(
      `insert into users (id, username, email, name) values (2, 'ada', 'ada@example.org', 'ada'), (3, 'bob', 'bob@example.org', 'bob')`,
    )
    await machine.rows(`insert into usage_records (user_id, context, provider, model, input_tokens, output_tokens, outcome,
        duration_ms, cost_micros, currency, request_id, created_at, estimated, web_searches, web_fetches)
      values (2, 'api', 'local', 'small', 7, 3, 'completed', 5, 12, 'EUR', 'r1', '2026-03-01T23:59:59Z', false, 2, 0),
             (2, 'api', 'local', 'large', 7, 3, 'aborted', 5, 15, 'EUR', 'r2', '2026-03-02T00:00:00Z', true, 1, 4),
             (3, 'api', 'local', 'small', 1, 1, 'failed', 5, null, null, 'r3', '2026-03-02T12:00:00Z', false, 0, 0),
             (null, 'api', 'cloud', '"big", = or not', 2, 2, 'completed', 5, 9, 'USD', 'r4', '2026-03-03T00:00:00Z', false, 0, 0)`)
  }
  const march = ['--from', '2026-03-01', '--to', '2026-03-03']

  test('svc usage --by sums up by person, model, provider or day per currency', async () => {
    await addPricedCalls()
    const by = (grouping: string, ...period: string[]) =>
      machine.json('usage', '--by', grouping, ...(period.length > 0 ? period : march))

    expect(await by('user')).toMatchObject([
      { user: 'ada', requests: 2, estimated: 1, inputTokens: 14, outputTokens: 6, costMicros: 27, unpriced: 0 },
      { user: 'bob', requests: 1, costMicros: null, currency: null, unpriced: 1 },
      { user: null, requests: 1, costMicros: 9, currency: 'USD' },
    ])
    expect(await by('model')).toMatchObject([
      { model: '"big", = or not', requests: 1 },
      { model: 'large', requests: 1 },
      { model: 'small', requests: 1, currency: 'EUR' },
      { model: 'small', requests: 1, currency: null },
    ])
    await machine.rows(`update users set groups = '{staff,math}' where username = 'ada'`)
    expect(await by('group')).toMatchObject([
      { group: 'math', requests: 2 },
      { group: 'staff', requests: 2 },
      { group: null, requests: 1 },
      { group: null, requests: 1 },
    ])
    expect(await by('provider')).toMatchObject([
      { provider: 'local', requests: 2, currency: 'EUR' },
      { provider: 'cloud', requests: 1 },
      { provider: 'local', requests: 1, currency: null },
    ])
    expect(await by('day', '--from', '2026-03-02', '--to', '2026-03-02')).toMatchObject([
      { day: '2026-03-02', requests: 1, costMicros: 15 },
      { day: '2026-03-02', requests: 1, costMicros: null },
    ])
    expect(await by('day', '--from', '2026-04-01', '--to', '2026-04-02')).toEqual([])
  })

  test('svc usage --by prints values that a spreadsheet reads as they are', async () => {
    await addPricedCalls()
    await machine.rows(`update users set username = '=1+1' where username = 'bob'`)

    const { stdout } = await machine.run(['usage', '--by', 'user', '--csv', ...march])
    const models = (await machine.run(['usage', '--by', 'model', '--csv', ...march])).stdout

    expect(stdout).toBe(
      'user,requests,estimated,inputTokens,outputTokens,cachedTokens,cacheWriteTokens,reasoningTokens,webSearches,webFetches,costMicros,currency,unpriced\r\n' +
        "ada,2,1,14,6,0,0,0,3,4,27,EUR,0\r\n'=1+1,1,0,1,1,0,0,0,0,0,,,1\r\n,1,0,2,2,0,0,0,0,0,9,USD,0\r\n",
    )
    expect(models).toContain('\r\n"""big"", \'= or not",1,0,')
  })

  test('svc usage --by prints a table for people, and says that there is more', async () => {
    await addPricedCalls()
    expect((await machine.run(['usage', '--by', 'day', ...march])).stdout).toMatch(/^day +requests .*\n2026-03-01 +1 /)
    await machine.rows(`insert into usage_records (context, provider, model, outcome, duration_ms, request_id, created_at)
      select 'api', 'p', 'model ' || n, 'completed', 1, 'r', '2026-03-01' from generate_series(1, 1500) n`)

    const { stdout } = await machine.run(['usage', '--by', 'model', ...march])

    expect(stdout.trimEnd().split('\n')).toHaveLength(1002)
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('There are more rows: --csv prints all of them.')
    expect(
      (await machine.run(['usage', '--by', 'model', '--csv', ...march])).stdout.trimEnd().split('\n'),
    ).toHaveLength(1505)
  })

  test('svc usage --by refuses unknown groupings, days in disorder and stray values', async () => {
    expect(await machine.run(['usage', '--by', 'mood'])).toMatchObject({ exitCode: 2, stdout: '' })
    expect(await machine.run(['usage', '--by', 'day', '--from', '2026-02-01', '--to', '2026-01-01'])).toMatchObject({
      exitCode: 2,
      stderr: '--to must not be before from.\n',
    })
    expect(await machine.run(['usage', '--csv'])).toMatchObject({ exitCode: 2, stderr: '--by is missing.\n' })
  })
})

test('a report is read in batches, and stopping early releases the connection', async () => {
  await twoConnections.rows(`insert into usage_records (context, provider, model, outcome, duration_ms, request_id)
    select 'api', 'p', 'model ' || n, 'completed', 1, 'r' from generate_series(1, 2500) n`)
  const sizes: number[] = []

  for await (const batch of await twoConnections.host.usage.by({ by: 'model', ...whole })) sizes.push(batch.length)
  for (let round = 0; round < 5; round++) {
    for await (const batch of await twoConnections.host.usage.by({ by: 'model', ...whole })) {
      expect(batch).toHaveLength(1000)
      break
    }
  }

  expect(sizes).toEqual([1000, 1000, 500])
  expect(await twoConnections.rows('select 1 as one')).toEqual([{ one: 1 }])
})

describe('calls that are older than records are kept', () => {
  let svc: TestApp
  beforeAll(async () => {
    svc = await startApp({ RETENTION_USAGE_MONTHS: '2' })
  })
  afterEach(async () => {
    for (const table of ['usage_records', 'usage_rollups']) await svc.rows(`delete from ${table}`)
    await svc.rows('delete from users where id > 1')
  })
  afterAll(() => svc[Symbol.asyncDispose]())

  const monthly = `select date_trunc('month', now() at time zone 'utc') at time zone 'utc' - m * interval '1 month'
                     from generate_series(0, 4) m`
  const counts = async ({ rows }: TestApp) =>
    rows(
      `select (select count(*)::int from usage_records) as records, (select sum(requests)::int from usage_rollups) as sums`,
    )

  async function reports(svc: TestApp) {
    const all = await Promise.all(usageGroupings.map((by) => readGroups(svc, by)))
    return { all, report: await svc.host.usage.report(whole) }
  }

  test('calls that are older than records are kept become daily sums, reported alike', async () => {
    await addPeople(svc.rows)
    await addCalls(svc.rows, monthly)
    const before = await reports(svc)

    await svc.host.usage.rollUp()

    expect(await counts(svc)).toEqual([{ records: 180, sums: 120 }])
    expect(await reports(svc)).toEqual(before)
    expect(before.report.length).toBeGreaterThan(20)
    expect(await svc.host.usage.rollUp()).toEqual({ days: 0 })
    expect(await reports(svc)).toEqual(before)
  })

  test('calls that are older than records are kept count once despite concurrent replicas', async () => {
    const one = svc
    await using two = await startApp({ RETENTION_USAGE_MONTHS: '2', DATABASE_URL: one.env.DATABASE_URL ?? '' })
    await addPeople(one.rows)
    await addCalls(one.rows, monthly)
    const before = await reports(one)

    await Promise.all([one, two, one, two].map(({ host }) => host.usage.rollUp()))

    expect(await counts(one)).toEqual([{ records: 180, sums: 120 }])
    expect(await reports(two)).toEqual(before)
  })

  test("calls that are older than records are kept stay in their own caller's summary", async () => {
    const ada = await svc.user()
    const bob = await svc.user()
    await svc.rows(
      `insert into usage_records (user_id, context, provider, model, outcome, duration_ms, request_id, input_tokens, created_at)
       values ($1, 'api', 'p', 'm', 'completed', 1, 'r', 7, '2024-02-29T12:00Z'), ($1, 'api', 'p', 'm', 'failed', 1, 'r', 0, now())`,
      [ada.id],
    )
    await svc.host.usage.rollUp()
    const summary = (token?: string) =>
      svc.send('GET', `/trpc/usage.summary?input=${encodeURIComponent(JSON.stringify(whole))}`, { token })
    const dataOf = async (response: Response) => ((await response.json()) as { result: { data: unknown } }).result.data

    expect(await dataOf(await summary(ada.token))).toMatchObject([
      { requests: 1 },
      { day: '2024-02-29', requests: 1, inputTokens: 7 },
    ])
    expect(await dataOf(await summary(bob.token))).toEqual([])
    expect((await summary()).status).toBe(401)
    await svc.host.admin.removeUser({ user: { id: ada.id } })
    expect(await svc.rows('select user_id, requests from usage_rollups')).toEqual([{ user_id: null, requests: 1 }])
  })

  test('calls that are older than records are kept stay without a configured period', async () => {
    await addPeople(twoConnections.rows)
    await addCalls(twoConnections.rows, monthly)

    expect(await twoConnections.host.usage.rollUp()).toEqual({ days: 0 })

    expect(await counts(twoConnections)).toEqual([{ records: 300, sums: null }])
  })
})

test('a report and a summary keep one order for any query plan', async () => {
  await using database = await cloneDatabase()
  await runAdminStatement(`alter database ${database.name} set enable_hashagg = off`)
  await using sorting = await startApp({ DATABASE_URL: database.url })
  const { id, token } = await sorting.user()
  await sorting.rows(
    `insert into usage_records (user_id, context, provider, model, outcome, duration_ms, request_id, cost_micros, currency, created_at)
     select $1::int, 'api', provider, 'm', outcome, 1, 'r', 5, currency, '2026-03-01T12:00Z'
       from unnest('{p,q}'::text[]) provider, unnest('{completed,failed}'::text[]) outcome, unnest('{EUR,USD,CHF,SEK}'::text[]) currency`,
    [id],
  )
  await runAdminStatement(`alter database ${database.name} set enable_hashagg = on`)
  await runAdminStatement(`alter database ${database.name} set enable_sort = off`)
  await using hashing = await startApp({ DATABASE_URL: database.url })
  const input = encodeURIComponent(JSON.stringify(whole))
  const readSums = async (svc: TestApp) => ({
    summary: await (await svc.send('GET', `/trpc/usage.summary?input=${input}`, { token })).json(),
    report: await svc.host.usage.report(whole),
  })

  const sorted = await readSums(sorting)

  expect(sorted.report).toHaveLength(16)
  expect(await readSums(hashing)).toEqual(sorted)
})

test('a report from the year 0, unknown to PostgreSQL, is bad input', async () => {
  const { token } = await twoConnections.user()
  const input = encodeURIComponent(JSON.stringify({ from: '0000-01-01' }))

  const { status } = await twoConnections.send('GET', `/trpc/usage.summary?input=${input}`, { token })

  expect(status).toBe(400)
})

import { afterEach, beforeEach, expect, test } from 'vitest'
import { startApp } from '../../kit/app.ts'
import { openHost } from '../../kit/command-line.ts'

let machine: Awaited<ReturnType<typeof openHost>>
// A closed month stays closed: each test has months of its own.
beforeEach(async () => {
  machine = await openHost()
  await machine.rows(
    `insert into users (id, username, email, name, groups) values
       (2, 'ada', 'ada@example.org', 'Ada', '{staff,deans}'), (3, 'bob', 'bob@example.org', 'Bob', '{staff}')`,
  )
})
afterEach(() => machine[Symbol.asyncDispose]())

/** Inserts a call that was made at a given time and is recorded now. */
const record = (user: number | null, at: string, cost: number | null, count = 1) =>
  machine.rows(
    `insert into usage_records (user_id, context, provider, model, input_tokens, output_tokens, outcome, duration_ms, cost_micros, currency, request_id, created_at)
     select ${user}, 'api', 'p', 'm', 10, 5, 'completed', 1, ${cost}, ${cost === null ? null : "'EUR'"}, 'r', '${at}' from generate_series(1, ${count})`,
  )

async function bill(month: string, by: string) {
  const { stdout, stderr } = await machine.run(['usage', '--by', by, '--month', month, '--json'])
  if (stderr) throw new Error(stderr)
  const rows = JSON.parse(stdout) as { name: string | null; requests: number; cost: number | null }[]
  return rows.map(({ name, requests, cost }) => [name, requests, cost])
}

/** Records four calls of January. */
async function recordJanuary() {
  await record(2, '2026-01-31T23:59:00Z', 1_500_000, 2)
  await record(3, '2026-01-01T00:00:00Z', 250_000)
  await record(null, '2026-01-15T00:00:00Z', null)
}

test('a month that is closed keeps its sums, and later calls count next', async () => {
  await recordJanuary()
  await record(2, '2026-02-01T00:00:00Z', 1_000_000)
  expect(await bill('2026-01', 'group')).toEqual([
    ['staff', 3, 3.25],
    ['deans', 2, 3],
    [null, 1, null],
  ])

  expect((await machine.run(['usage', 'close', '2026-01'])).stdout).toContain('2026-01 is closed.')
  await record(3, '2026-01-20T00:00:00Z', 4_000_000)
  await machine.rows(`update users set groups = '{guests}' where username = 'bob'`)

  expect(await bill('2026-01', 'group')).toEqual([
    ['staff', 3, 3.25],
    ['deans', 2, 3],
    [null, 1, null],
  ])
  expect(await bill('2026-01', 'user')).toEqual([
    ['ada', 2, 3],
    ['bob', 1, 0.25],
    [null, 1, null],
  ])
  expect(await bill('2026-02', 'user')).toEqual([
    ['bob', 1, 4],
    ['ada', 1, 1],
  ])
  expect(await bill('2026-03', 'user')).toEqual([])

  await machine.run(['usage', 'close', '2026-02'])
  expect(await bill('2026-02', 'model')).toEqual([['m', 2, 5]])
  expect(await bill('2026-03', 'model')).toEqual([])
})

test('a late call of a closed month that was rolled up counts once', async () => {
  await using own = await startApp({ RETENTION_USAGE_MONTHS: '1' })
  const addRecords = (at: string, count = 1) =>
    own.rows(
      `insert into usage_records (context, provider, model, input_tokens, output_tokens, outcome, duration_ms, cost_micros, currency, request_id, created_at)
       select 'api', 'p', 'm', 10, 5, 'completed', 1, 1000000, 'EUR', 'r', $1 from generate_series(1, $2::int)`,
      [at, count],
    )
  const sums = async (month: string) =>
    (await own.host.usage.bill({ month, by: 'model' })).rows.map(({ requests }) => requests)
  await addRecords('2026-01-10T00:00:00Z', 2)
  await own.host.usage.rollUp()
  await own.host.usage.close({ month: '2026-01' })

  await addRecords('2026-01-10T00:00:00Z', 3)
  await own.host.usage.rollUp()
  await addRecords('2026-02-10T00:00:00Z', 10)
  await own.host.usage.rollUp()

  expect([await sums('2026-01'), await sums('2026-02'), await sums('2026-03')]).toEqual([[2], [13], []])
  await own.host.usage.close({ month: '2026-02' })
  await addRecords('2026-01-10T00:00:00Z', 100)
  await own.host.usage.rollUp()
  expect([await sums('2026-01'), await sums('2026-02'), await sums('2026-03')]).toEqual([[2], [13], [100]])
  expect(await own.rows('select sum(requests)::int as calls from usage_rollups')).toEqual([{ calls: 115 }])
})

test('months are closed once, in their order, and when they are over', async () => {
  await recordJanuary()
  for (const month of ['2026-01', '2026-02']) await machine.run(['usage', 'close', month])
  const refusal = async (month: string) => (await machine.run(['usage', 'close', month])).stderr
  expect(await refusal('2026-02')).toContain('2026-02 is closed already.')
  expect(await refusal('2026-04')).toContain('2026-03 is the month that can be closed next.')
  expect(await refusal('2999-01')).toContain('2999-01 is not over yet.')
  expect(await refusal('2026-13')).toContain('must be a month such as 2026-01')
})

test('a bill is written as a spreadsheet of the country reads it', async () => {
  await recordJanuary()
  await machine.run(['usage', 'close', '2026-01'])
  const csv = async (...more: string[]) =>
    (await machine.run(['usage', '--by', 'user', '--month', '2026-01', '--csv', ...more])).stdout.split('\r\n')

  expect((await csv()).slice(0, 3)).toEqual([
    'name,requests,inputTokens,outputTokens,cost,currency,estimated,unpriced',
    'ada,2,20,10,3,EUR,0,0',
    'bob,1,10,5,0.25,EUR,0,0',
  ])
  expect((await csv('--locale', 'de_DE'))[2]).toBe('bob;1;10;5;0,25;EUR;0;0')
})

test('the bill of a removed person stays, without their name', async () => {
  await recordJanuary()
  await machine.run(['usage', 'close', '2026-01'])
  await machine.run(['remove-user', '--username', 'bob', '--yes'])
  expect(await bill('2026-01', 'user')).toEqual([
    ['ada', 2, 3],
    [null, 1, 0.25],
    [null, 1, null],
  ])
})

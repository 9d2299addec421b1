// @module-tag debian

import { describe, expect, test } from 'vitest'
import { countToolCalls, showToolLimits } from '../../../entities/ai/tool-limit.sql.ts'
import { commitUsage } from '../../../entities/ai/usage-commit.sql.ts'
import { renewLeases } from '../../../entities/ai/usage-lease.sql.ts'
import { releaseReservations } from '../../../entities/ai/usage-reservation.sql.ts'
import type { Statement } from '../../../entities/sql/statement.ts'
import { cloneDatabase } from '../../kit/database.ts'
import { openClient } from '../../kit/postgres-client.ts'

/** A node of an executed plan in the format of `explain`. */
interface PlanNode {
  'Actual Loops': number
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  'Shared Hit Blocks': number
  Plans?: PlanNode[]
}

type Client = Awaited<ReturnType<typeof openClient>>

const CALLS = 400

const holds = (count: number, parts = `'{}', '{}', '{}'`) => `
  insert into usage_holds (id, lease_until, context, provider, model, request_id, input_tokens, counters, amounts, measures)
  select nextval('usage_records_id_seq'), now() + interval '1 hour', 'api', 'p', 'm', 'r' || lastval(), 1, ${parts}
    from generate_series(1, ${count}) n`

/** SQL of the arrays that have the shares of five limits for each person. */
const parts = ['id', '100', `'tokens'::text`].map(
  (what) => `(select array_agg(${what} order by id) from usage_counters where subject_id = n::text)`,
)

/** States of the table at the time of planning. */
const states = {
  'is new': [],
  'is empty again': [holds(500), 'delete from usage_holds', 'vacuum (analyze) usage_holds'],
  'holds one call': [
    holds(2000),
    'delete from usage_holds where id < (select max(id) from usage_holds)',
    'vacuum (analyze) usage_holds',
  ],
}

const list = (values: readonly unknown[]) => `'{${values.map(String).join()}}'`

/** Builds the parameters for reservations with these ids and the same values for each. */
const columns = (ids: readonly string[], ...values: unknown[]) => [
  list(ids),
  ...values.map((value) => list(ids.map(() => value))),
]

const statements: {
  what: string
  statement: Statement<unknown>
  values(ids: readonly string[]): string[]
}[] = [
  {
    what: 'committing calls',
    statement: commitUsage,
    values: (ids) => [
      ...columns(ids, 'completed', 1, 1, 1, 1, 1, 1, 1, false, null, null, 1, 1, false),
      String(ids.length),
    ],
  },
  {
    what: 'renewing leases',
    statement: renewLeases,
    values: (ids) => [...columns(ids, 1, 1, 1, 1, 1, 1, 1, null, null, 50, null), '30000', String(ids.length)],
  },
  {
    what: 'releasing reservations of calls that were not made',
    statement: releaseReservations,
    values: (ids) => [...columns(ids), String(ids.length)],
  },
]

async function addCounters(client: Client) {
  await client.query(`insert into usage_limits (name, subject, unit, period, time_zone, cap)
    select 'limit ' || n, 'user', 'tokens', 'month', 'UTC', 1000000000 from generate_series(1, 5) n`)
  await client.query(`insert into usage_counters (limit_id, subject_id, starts_at, ends_at, held)
    select l.id, n, now(), now() + interval '1 day', 100 from usage_limits l, generate_series(1, ${CALLS}) n`)
  await client.query('analyze usage_counters')
}

/** Sums the rows that all nodes of a plan read. */
function queryRows(node: PlanNode): number {
  const { 'Rows Removed by Filter': filtered = 0, 'Rows Removed by Join Filter': unjoined = 0 } = node
  const own = node['Actual Loops'] * (node['Actual Rows'] + filtered + unjoined)
  return (node.Plans ?? []).reduce((sum, below) => sum + queryRows(below), own)
}

describe.each(Object.entries(states))(
  'with a plan that was made when the table of calls under way %s,',
  (_, before) => {
    test.each(statements)('$what looks at a few rows and pages for each', async ({ statement, values }) => {
      await using database = await cloneDatabase()
      await using client = await openClient(database.url)
      await addCounters(client)
      for (const step of before) await client.query(step)
      await client.query(`set plan_cache_mode = force_generic_plan; prepare it as ${statement.text}`)
      const run = (ids: readonly string[]) => `execute it (${values(ids).join()})`
      await client.query(run([]))

      await client.query(`${holds(20_000)}; delete from usage_holds`)
      await client.query(holds(CALLS, parts.join()))
      const { rows } = await client.query<{ id: string }>('select id from usage_holds')
      const explained = await client.query(`explain (analyze, buffers, format json) ${run(rows.map(({ id }) => id))}`)
      const { Plan } = explained.rows[0]['QUERY PLAN'][0]

      const lookedAt = (queryRows(Plan) + Plan['Shared Hit Blocks']) / CALLS
      expect(lookedAt).toBeGreaterThan(10)
      expect(lookedAt).toBeLessThan(300)
    })
  },
)

test.each([
  ['counting', countToolCalls, ['0', `'{0,0,0,0,0}'`]],
  ['looking at the limits of', showToolLimits, []],
] as const)('%s calls of tools reads few of many counters', async (_, statement, first) => {
  await using database = await cloneDatabase()
  await using client = await openClient(database.url)
  await client.query(`set plan_cache_mode = force_generic_plan; prepare it as ${statement.text}`)
  const run = (counters: readonly string[]) =>
    `execute it (${[...first, list(counters), list(counters.map(() => 1))].join()})`
  // The plan is made while there are no counters.
  await client.query(run([]))
  await addCounters(client)
  const { rows } = await client.query<{ id: string }>(`select id from usage_counters where subject_id = '7'`)
  const explained = await client.query(`explain (analyze, buffers, format json) ${run(rows.map(({ id }) => id))}`)
  const { Plan } = explained.rows[0]['QUERY PLAN'][0]
  expect(rows).toHaveLength(5)
  expect(queryRows(Plan)).toBeLessThan(500)
})

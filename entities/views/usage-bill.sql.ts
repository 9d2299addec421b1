import { type BillGrouping, UsageBill, UsageClosing } from '../ai/usage-closing.ts'
import { UsageRecord } from '../ai/usage-record.ts'
import { assistantHandle } from '../ai/usage-report.sql.ts'
import { UsageRollup } from '../ai/usage-rollup.ts'
import { ExtApp } from '../apps/ext-app.ts'
import { User } from '../identity/user.ts'
import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'

export interface BillRow {
  /** Null for calls of erased people, and for calls without a group, an app or an assistant. */
  name: string | null
  requests: number
  estimated: number
  unpriced: number
  inputTokens: number
  outputTokens: number
  /** Millionths of the currency; null if no price is known. */
  costMicros: number | null
  currency: string | null
}

const columns = 'user_id, app_id, provider, model, assistant, currency'
const counts = 'estimated, unpriced, input_tokens, output_tokens, cost_micros'
const recordColumns = `${columns}, 1 as requests, estimated::int as estimated, (cost_micros is null)::int as unpriced, input_tokens, output_tokens, cost_micros`
const start = (day: string) => `${day}::date::timestamp at time zone 'utc'`

/**
 * SQL for the calls of a month, and earlier ones recorded after the previous month was closed. Values: its first and
 * last day, the last call of the previous closed month, and the last call to count.
 */
const calls = `(
    select ${recordColumns} from ${UsageRecord.tableName}
     where created_at >= ${start('$1')} and created_at < ${start('($2::date + 1)')} and id <= $4::bigint
    union all select ${columns}, requests, ${counts} from ${UsageRollup.tableName}
     where day between $1::date and $2::date and billed is null
    union all select ${columns}, requests, ${counts} from ${UsageRollup.tableName} where billed between $1::date and $2::date
    union all select ${recordColumns} from ${UsageRecord.tableName}
     where id > $3::bigint and id <= $4::bigint and created_at < ${start('$1')}
  )`

/** SQL for the grouping keys: the id of a person, otherwise a name. Groups are the current ones. */
const groupings: Record<BillGrouping, { user?: string; name: string; join?: string }> = {
  user: { user: 'r.user_id', name: 'null::text' },
  group: {
    name: 'g.name',
    join: `left join ${User.tableName} u on u.id = r.user_id left join lateral unnest(u.groups) as g(name) on true`,
  },
  app: { name: 'coalesce(a.name, r.app_id::text)', join: `left join ${ExtApp.tableName} a on a.id = r.app_id` },
  assistant: { name: assistantHandle },
  model: { name: 'r.model' },
  provider: { name: 'r.provider' },
}

const sum = (column: string) => `sum(r.${column})::bigint as ${column}`

/** SQL for a current bill, in the columns of the bills table. */
const selectBill = (grouping: BillGrouping) => {
  const { user = 'null::int', name, join = '' } = groupings[grouping]
  const sums = ['requests', 'estimated', 'unpriced', 'input_tokens', 'output_tokens', 'cost_micros'].map(sum).join(', ')
  return `select ${user} as user_id, ${name} as name, r.currency, ${sums} from ${calls} r ${join} group by 1, 2, 3`
}

/** SQL for a bill's row `b`; people appear with their current username. */
const billColumns = `coalesce(p.username, b.name) as name, b.requests::float8 as requests, b.estimated::float8 as estimated,
       b.unpriced::float8 as unpriced, b.input_tokens::float8 as "inputTokens", b.output_tokens::float8 as "outputTokens",
       b.cost_micros::float8 as "costMicros", b.currency`
const billOrder = `order by b.cost_micros desc nulls last, b.requests desc, 1, b.currency`

/** Selects the bill of an open month. Values: those of its calls, limit and offset. */
export const selectOpenBill = (grouping: BillGrouping) =>
  unboundedStatement<BillRow>(
    `select ${billColumns} from (${selectBill(grouping)}) b left join ${User.tableName} p on p.id = b.user_id
     ${billOrder} limit $5 offset $6`,
  )

/** Selects the bill of a closed month. Values: the id of its closing, the grouping, limit and offset. */
export const selectClosedBill = unboundedStatement<BillRow>(
  `select ${billColumns} from ${UsageBill.tableName} b left join ${User.tableName} p on p.id = b.user_id
    where b.closing_id = $1 and b.grouping = $2 ${billOrder} limit $3 offset $4`,
)

/** Stores a bill. Values: those of its calls, and the id of the closing. */
export const storeBill = (grouping: BillGrouping) =>
  unboundedStatement<never>(
    `insert into ${UsageBill.tableName} (closing_id, "grouping", user_id, name, currency, requests, estimated, unpriced, input_tokens, output_tokens, cost_micros)
     select $5::int, '${grouping}', user_id, name, currency, requests, estimated, unpriced, input_tokens, output_tokens, cost_micros
       from (${selectBill(grouping)}) b`,
  )

export interface Closing {
  id: number
  /** The month, as in `2026-01`. */
  month: string
  closedAt: string
  lastRecord: number
}

/** Closed months, the latest first. */
export const listClosings = statement<Closing>(
  'list-usage-closings',
  `select id, to_char(month, 'YYYY-MM') as month, ${isoTime('closed_at')} as "closedAt", last_record::float8 as "lastRecord"
     from ${UsageClosing.tableName} order by month desc limit 1200`,
)

/** Waits until all calls with an allocated id are recorded. */
export const waitForRecords = statement<never>('wait-for-records', `lock table ${UsageRecord.tableName} in share mode`)

export const findLastRecord = unboundedStatement<{ last: number }>(
  `select coalesce(max(id), 0)::float8 as last from ${UsageRecord.tableName}`,
)

/** Closes a month. Values: its first day, and the last call that counts. */
export const closeMonth = statement<{ id: number; closedAt: string }>(
  'close-usage-month',
  `insert into ${UsageClosing.tableName} (month, last_record) values ($1::date, $2::bigint)
   on conflict (month) do nothing returning id, ${isoTime('closed_at')} as "closedAt"`,
)

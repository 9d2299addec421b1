import { assistantHandle, dayText, sums, type UsageSum, usageBetween } from '../ai/usage-report.sql.ts'
import { ExtApp } from '../apps/ext-app.ts'
import { User } from '../identity/user.ts'
import { Room } from '../rooms/room.ts'
import { unboundedStatement } from '../sql/statement.ts'

export const usageGroupings = ['user', 'group', 'room', 'app', 'assistant', 'model', 'provider', 'day'] as const
export type UsageGrouping = (typeof usageGroupings)[number]

export type GroupedUsage = { [G in UsageGrouping]?: string | null } & UsageSum

/** Grouping keys with the joins that they need. */
const groupings: Record<UsageGrouping, { key: string; join?: string }> = {
  user: { key: 'u.username', join: `left join ${User.tableName} u on u.id = r.user_id` },
  // Uses the current groups of people; a call counts for each of them.
  group: {
    key: 'g.name',
    join: `left join ${User.tableName} u on u.id = r.user_id left join lateral unnest(u.groups) as g(name) on true`,
  },
  // Calls outside rooms and in deleted ones share one row. Limits name a room by its id.
  room: { key: "r.room_id || ' ' || o.slug", join: `left join ${Room.tableName} o on o.id = r.room_id` },
  // Calls without an app share one row; a deleted app is shown by its id.
  app: { key: 'coalesce(a.name, r.app_id::text)', join: `left join ${ExtApp.tableName} a on a.id = r.app_id` },
  // Calls of a model itself share one row.
  assistant: { key: assistantHandle },
  model: { key: 'r.model' },
  provider: { key: 'r.provider' },
  day: { key: dayText },
}

/** Values: the first and the last day. */
export const selectUsageBy = (grouping: UsageGrouping) => unboundedStatement<GroupedUsage>(selectUsage(grouping))

/** Selects a page of the same. Values: the first and the last day, limit and offset. */
export const selectUsagePage = (grouping: UsageGrouping) =>
  unboundedStatement<GroupedUsage>(`${selectUsage(grouping)} limit $3 offset $4`)

const selectUsage = (grouping: UsageGrouping) => {
  const { key, join = '' } = groupings[grouping]
  return `select ${key} as "${grouping}", ${sums} from ${usageBetween('$1', '$2')} r ${join}
      group by 1, r.currency order by ${grouping === 'day' ? '1' : 'requests desc, 1'}, r.currency`
}

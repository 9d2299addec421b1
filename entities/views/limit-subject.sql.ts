import { runningPeriod } from '../ai/usage-counter.sql.ts'
import { UsageCounter } from '../ai/usage-counter.ts'
import { type LimitState, selectLimitState } from '../ai/usage-limit.sql.ts'
import { type LimitSubject, UsageLimit } from '../ai/usage-limit.ts'
import { ExtApp } from '../apps/ext-app.ts'
import { AiModel } from '../catalogue/ai-model.ts'
import { AiProvider } from '../catalogue/ai-provider.ts'
import { AiTool } from '../catalogue/ai-tool.ts'
import { McpServer } from '../catalogue/mcp-server.ts'
import { AccessToken } from '../identity/access-token.ts'
import { roles, User } from '../identity/user.ts'
import { Room } from '../rooms/room.ts'
import { statement } from '../sql/statement.ts'

export type NamedLimitState = LimitState & {
  /** Name of the person, of the token's owner or of the app, slug of the room, or label of the tool server; otherwise null. */
  subjectName: string | null
  /** Target of the limit: a kind, as in `user`, or a single subject, as in `user:ada`. */
  target: string
  /** Id of the single subject; null if the limit is for each of a kind or for the installation. */
  ownId: string | null
  /** The cap without top-ups. */
  baseCap: number
  unpricedCost: number | null
  timeZone: string
  /** True if the limit is in the file that LIMITS names, and can be changed only there. */
  fromFile: boolean
}

/**
 * SQL for the labels of tool servers. `own_label` is null if a target cannot name the server by it: others may have the
 * same, and digits are ids.
 */
const selectLabels = `select id, server_label as label,
         case when count(*) over (partition by server_label) = 1 and server_label !~ '^[0-9]+$' then server_label end as own_label
    from ${McpServer.tableName}`

/** SQL for limits with all subjects counted in the current period. */
const selectLimitStates = (
  condition: string,
  { first = 'l.name, 3', order = 's.name, s."subjectId"', most = 10_000 } = {},
) => `
  select s.*, coalesce(u.username, a.name, r.slug, m.label) as "subjectName",
         case when s."ownId" is null then s.subject else concat(s.subject, ':',
           case when s.subject in ('user', 'app', 'room', 'tool-server')
                then coalesce(u.username, a.name, r.slug, m.own_label, regexp_replace(s."ownId", '^name:', ''))
                else s."ownId" end) end as target
    from (
      select ${selectLimitState(`coalesce(c.subject_id, l.subject_id, '')`)},
             l.subject_id as "ownId", l.cap::float8 as "baseCap", l.unpriced_cost::float8 as "unpricedCost", l.time_zone as "timeZone",
             l.from_file and l.active as "fromFile" from ${UsageLimit.tableName} l ${runningPeriod}
        left join ${UsageCounter.tableName} c on c.limit_id = l.id and c.starts_at = s.starts_at
       where ${condition} order by ${first} limit ${most}
    ) s
    left join ${AccessToken.tableName} t on s.subject = 'token' and t.id::text = s."subjectId"
    left join ${User.tableName} u on u.id::text = case s.subject when 'user' then s."subjectId" else t.user_id::text end
    left join ${ExtApp.tableName} a on s.subject = 'app' and a.id::text = s."subjectId"
    left join ${Room.tableName} r on s.subject = 'room' and r.id::text = s."subjectId"
    left join (${selectLabels}) m on s.subject = 'tool-server' and m.id::text = s."subjectId"
   order by ${order}`

export const listLimits = statement<NamedLimitState>('list-limits', selectLimitStates('true'))

/** Selects one limit. Values: its name. */
export const showLimit = statement<NamedLimitState>('show-limit', selectLimitStates('l.name = $1'))

const usedShare = (used: string, cap: string) => `(${used})::float8 / nullif(${cap}, 0)`

/**
 * Lists the subjects with the least left of an active limit. Values: the used share from which to list, 0.9 for nine
 * tenths.
 */
export const listNearLimits = statement<NamedLimitState>(
  'list-near-limits',
  selectLimitStates('l.active and c.used + c.held >= $1::float8 * (l.cap + c.topped_up) and c.used + c.held > 0', {
    first: `${usedShare('c.used + c.held', 'l.cap + c.topped_up')} desc nulls first`,
    order: `${usedShare('s.used + s.held', 's.cap')} desc nulls first, s.name, s."subjectId"`,
    most: 100,
  }),
)

/** Tells if the subject exists. Values: its kind, and its id or name as in counters. */
export const limitSubjectExists = statement<{ exists: boolean }>(
  'limit-subject-exists',
  `select case $1
     when 'provider' then exists (select from ${AiProvider.tableName} where provider_id = $2)
     when 'model' then exists (select from ${AiModel.tableName} where model_id = $2)
     when 'role' then $2 in ('${roles.join("','")}')
     when 'group' then exists (select from ${User.tableName} where $2 = any(groups))
     when 'room' then exists (select from ${Room.tableName} where id::text = $2)
     when 'app' then exists (select from ${ExtApp.tableName} where id::text = $2)
     when 'user' then exists (select from ${User.tableName} where id::text = $2)
     when 'token' then exists (select from ${AccessToken.tableName} where id::text = $2)
     when 'tool-server' then exists (select from ${McpServer.tableName} where id::text = $2)
     when 'tool' then exists (select from ${AiTool.tableName} where name = $2)
   end as exists`,
)

/**
 * Finds people, apps, rooms and tool servers by name, but no server whose label others have, too. Values: usernames, names
 * of apps, slugs of rooms, labels of tool servers.
 */
export const findNamed = statement<{ subject: LimitSubject; name: string; id: number }>(
  'find-named',
  `select 'user' as subject, username as name, id from ${User.tableName} where username = any($1::text[])
   union all select 'app', name, id from ${ExtApp.tableName} where name = any($2::text[])
   union all select 'room', slug, id from ${Room.tableName} where slug = any($3::text[])
   union all select 'tool-server', server_label, min(id) from ${McpServer.tableName} where server_label = any($4::text[])
              group by server_label having count(*) = 1`,
)

/** Lists the tool servers with a label. Values: the label. */
export const listServersLabelled = statement<{ id: number }>(
  'list-servers-labelled',
  `select id from ${McpServer.tableName} where server_label = $1 order by id limit 100`,
)

/** Names that are compared with a name that does not exist. */
const MAX_CANDIDATES = 500

/** Lists names of a kind that may have been meant. Values: the kind, and the typed name. */
export const listSimilarNames = statement<{ name: string }>(
  'list-similar-names',
  `select name from (
     select username as name from ${User.tableName} where $1 = 'user'
     union select unnest(groups) from ${User.tableName} where $1 = 'group'
     union select name from ${ExtApp.tableName} where $1 = 'app'
     union select slug from ${Room.tableName} where $1 = 'room'
     union select model_id from ${AiModel.tableName} where $1 = 'model'
     union select provider_id from ${AiProvider.tableName} where $1 = 'provider'
     union select server_label from ${McpServer.tableName} where $1 = 'tool-server'
     union select name from ${AiTool.tableName} where $1 = 'tool') n
    where abs(length(name) - length($2)) <= 1 + length($2) / 4 or starts_with(lower(name), lower($2))
    order by left(lower(name), 1) = left(lower($2), 1) desc, abs(length(name) - length($2)), name limit ${MAX_CANDIDATES}`,
)

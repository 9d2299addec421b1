import { roles } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'
import { runningPeriod } from './usage-counter.sql.ts'
import type { LimitPeriod, LimitSubject, LimitUnit } from './usage-limit.ts'

export interface LimitState {
  name: string
  subject: LimitSubject
  subjectId: string
  unit: LimitUnit
  currency: string | null
  period: LimitPeriod
  mode: 'enforce' | 'observe'
  active: boolean
  /** In requests, tokens or millionths of the currency, as all that follows; with what was topped up. */
  cap: number
  used: number
  held: number
  remaining: number
  refused: number
  /** In RFC 3339. */
  resetsAt: string
}

const stateOf = (
  subjectId: string,
) => `l.name, l.subject, ${subjectId} as "subjectId", l.unit, l.currency, l.period, l.mode, l.active,
       (l.cap + coalesce(c.topped_up, 0))::float8 as cap, coalesce(c.used, 0)::float8 as used, coalesce(c.held, 0)::float8 as held,
       greatest(0, l.cap + coalesce(c.topped_up - c.used - c.held, 0))::float8 as remaining,
       coalesce(c.refused, 0)::float8 as refused, ${isoTime('s.ends_at')} as "resetsAt"`

/** With what people call whose it is: a person, the owner of a token, an app, or a room by its slug; null of all else. */
export type NamedLimitState = LimitState & { subjectName: string | null }

/** Limits with all who were counted in the running period. */
const allStates = (condition: string) => `
  select s.*, coalesce(u.username, a.name, r.slug) as "subjectName"
    from (
      select ${stateOf(`coalesce(c.subject_id, l.subject_id, '')`)} from usage_limits l ${runningPeriod}
        left join usage_counters c on c.limit_id = l.id and c.starts_at = s.starts_at
       where ${condition} order by l.name, 3 limit 10000
    ) s
    left join access_tokens t on s.subject = 'token' and t.id::text = s."subjectId"
    left join users u on u.id::text = case s.subject when 'user' then s."subjectId" else t.user_id::text end
    left join ext_apps a on s.subject = 'app' and a.id::text = s."subjectId"
    left join rooms r on s.subject = 'room' and r.id::text = s."subjectId"
   order by s.name, s."subjectId"`

export const listLimits = statement<NamedLimitState>('list-limits', allStates('true'))

/** Of one. Values: its name. */
export const showLimit = statement<NamedLimitState>('show-limit', allStates('l.name = $1'))

/** Those of some names that are no time zone of the database: one that it does not know breaks each statement. Values: names. */
export const unknownTimeZones = statement<{ name: string }>(
  'unknown-time-zones',
  `select name from unnest($1::text[]) as name
    where lower(name) not in (select lower(name) from pg_timezone_names)`,
)

/**
 * What applies to one caller; limits that each model, provider or room has of its own only where they were used. Values: the kinds
 * and ids of the subjects.
 */
export const listLimitsFor = statement<LimitState>(
  'list-limits-for',
  `select ${stateOf('a.id')}
     from usage_limits l
     join unnest($1::text[], $2::text[]) as a(subject, id)
       on a.subject = l.subject and (l.subject_id is null or l.subject_id = a.id)
     ${runningPeriod}
     left join usage_counters c on c.limit_id = l.id and c.subject_id = a.id and c.starts_at = s.starts_at
    where l.active and (l.subject not in ('provider', 'model', 'room') or l.subject_id is not null or c.id is not null) order by l.name, a.id limit 10000`,
)

/** A limit as calls are judged by it. */
export interface ActiveLimit {
  id: number
  name: string
  subject: LimitSubject
  subjectId: string | null
  unit: LimitUnit
  currency: string | null
  cap: number
  unpricedCost: number | null
  mode: 'enforce' | 'observe'
  period: LimitPeriod
  timeZone: string
}

/** With the version of the limits, which is of the same moment. */
export const listActiveLimits = statement<{ version: number; limits: ActiveLimit[] }>(
  'list-active-limits',
  `select coalesce((select version from usage_limit_versions), 0) as version,
          coalesce((select json_agg(json_build_object('id', id, 'name', name, 'subject', subject, 'subjectId', subject_id, 'unit', unit,
                      'currency', currency, 'cap', cap, 'unpricedCost', unpriced_cost, 'mode', mode, 'period', period, 'timeZone', time_zone)
                      order by id)
                      from usage_limits where active), '[]') as limits`,
)

/** In place of the id of a person or an app of a name that nobody has yet. */
export const unclaimed = (name: string) => `name:${name}`

/** Whether there is one of the kind. Values: the kind, its id or name as counters have it. */
export const limitSubjectExists = statement<{ exists: boolean }>(
  'limit-subject-exists',
  `select case $1
     when 'provider' then exists (select from ai_providers where provider_id = $2)
     when 'model' then exists (select from ai_models where model_id = $2)
     when 'role' then $2 in ('${roles.join("','")}')
     when 'group' then exists (select from users where $2 = any(groups))
     when 'room' then exists (select from rooms where id::text = $2)
     when 'app' then exists (select from ext_apps where id::text = $2)
     when 'user' then exists (select from users where id::text = $2)
     when 'token' then exists (select from access_tokens where id::text = $2)
   end as exists`,
)

/** The people, apps and rooms of some names. Values: usernames, names of apps, slugs of rooms. */
export const findNamed = statement<{ subject: LimitSubject; name: string; id: number }>(
  'find-named',
  `select 'user' as subject, username as name, id from users where username = any($1::text[])
   union all select 'app', name, id from ext_apps where name = any($2::text[])
   union all select 'room', slug, id from rooms where slug = any($3::text[])`,
)

/** Gives limits to whom they were named for, and makes every process read them anew where there are any. Values: id, kind, `unclaimed` name. */
export const claimLimitsOf = `with claimed as (
    update usage_limits set subject_id = ? where subject = ? and subject_id = ? returning id
  )
  insert into usage_limit_versions (id, version) select 1, 1 where exists (select from claimed)
  on conflict (id) do update set version = usage_limit_versions.version + 1`

/** Takes the limits of the file back from whoever gives up their name; what administrators made stays theirs. Values: `unclaimed` name, kind, id. */
export const returnLimitsOf = `with returned as (
    update usage_limits set subject_id = ? where subject = ? and subject_id = ? and from_file and active returning id
  )
  insert into usage_limit_versions (id, version) select 1, 1 where exists (select from returned)
  on conflict (id) do update set version = usage_limit_versions.version + 1`

/** Makes every process read the limits anew; in the transaction that changes them. */
export const raiseLimitVersion = `insert into usage_limit_versions (id, version) values (1, 1)
  on conflict (id) do update set version = usage_limit_versions.version + 1`

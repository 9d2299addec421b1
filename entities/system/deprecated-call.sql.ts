import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'

/** Adds calls to what was counted. Values, beside each other: routes, ids of users, ids of tokens or null. */
export const countDeprecatedCalls = statement<never>(
  'count-deprecated-calls',
  `insert into deprecated_calls as known (route, user_id, token_id, calls, last_called_at)
   select route, user_id, token_id, count(*), now()
     from unnest($1::text[], $2::int[], $3::int[]) as called(route, user_id, token_id)
    group by route, user_id, token_id
    order by user_id, route, token_id
   on conflict (user_id, route, token_id)
   do update set calls = known.calls + excluded.calls, last_called_at = excluded.last_called_at`,
)

export interface DeprecatedCaller {
  route: string
  username: string
  /** Null where a session called. */
  token: string | null
  calls: number
  lastCalledAt: string
}

/** Who calls deprecated routes, the last caller first. Values: how many rows at most. */
export const listDeprecatedCallers = statement<DeprecatedCaller>(
  'list-deprecated-callers',
  `select c.route, u.username, t.name as token, c.calls::float8 as calls, ${isoTime('c.last_called_at')} as "lastCalledAt"
     from deprecated_calls c join ${User.tableName} u on u.id = c.user_id left join ${AccessToken.tableName} t on t.id = c.token_id
    order by c.last_called_at desc, c.id limit $1`,
)

import { defineEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'
import { isoTime, statement } from '../sql/statement.ts'

/** Calls of a deprecated route by a person with a token or a session. Deleted with the person or the token. */
export const DeprecatedCall = defineEntity({
  name: 'DeprecatedCall',
  tableName: 'deprecated_calls',
  indexes: [
    {
      name: 'deprecated_calls_caller_unique',
      expression: `create unique index "deprecated_calls_caller_unique" on "deprecated_calls" ("user_id", "route", "token_id") nulls not distinct`,
    },
  ],
  properties: {
    id: p.bigint('number').primary(),
    /** Method and path, such as `GET /api/user`. */
    route: p.string().length(200),
    user: () => p.manyToOne(User).deleteRule('cascade').ref(),
    /** Null if a session called. */
    token: () => p.manyToOne(AccessToken).deleteRule('cascade').nullable().index().ref(),
    calls: p.bigint('number'),
    lastCalledAt: moment(),
  },
})

/** Adds calls to the counts. Values, beside each other: routes, ids of users, ids of tokens or null. */
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
  /** Null if a session called. */
  token: string | null
  calls: number
  lastCalledAt: string
}

/** Lists callers of deprecated routes, the latest first. Values: the limit. */
export const listDeprecatedCallers = statement<DeprecatedCaller>(
  'list-deprecated-callers',
  `select c.route, u.username, t.name as token, c.calls::float8 as calls, ${isoTime('c.last_called_at')} as "lastCalledAt"
     from deprecated_calls c join ${User.tableName} u on u.id = c.user_id left join ${AccessToken.tableName} t on t.id = c.token_id
    order by c.last_called_at desc, c.id limit $1`,
)

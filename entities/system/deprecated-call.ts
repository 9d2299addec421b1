import { defineEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'

/** How often somebody called a deprecated route, by a token or by a session. Goes with the person, and with the token. */
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
    /** Null where a session called. */
    token: () => p.manyToOne(AccessToken).deleteRule('cascade').nullable().index().ref(),
    calls: p.bigint('number'),
    lastCalledAt: moment(),
  },
})

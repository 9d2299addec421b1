import { ExtApp, ExtAppCredential } from '../apps/ext-app.ts'
import { ExtAppLink } from '../apps/ext-app-link.ts'
import { boundNames } from '../identity/access-token.sql.ts'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'

/** A token that was found by its id: whose it is, what it may, and when it was used. */
export interface FoundToken {
  id: number
  /** Null for a credential of an app, which has no name, abilities or person. */
  name: string | null
  abilities: string[] | null
  /** The names of the models and assistants that it may ask; null for all. */
  models: string[] | null
  userId: number | null
  username: string | null
  /** The app that holds the token, if one does. */
  appId: number | null
  appName: string | null
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

const selectTimes = (table: string) =>
  `${isoTime(`${table}.created_at`)} as "createdAt", ${isoTime(`${table}.last_used_at`)} as "lastUsedAt",
   ${isoTime(`${table}.expires_at`)} as "expiresAt"`

/** Values: the id of an access token. */
export const findToken = statement<FoundToken>(
  'find-token',
  `select t.id, t.name, to_json(t.abilities) as abilities, ${boundNames('t')}, u.id as "userId", u.username, a.id as "appId", a.name as "appName",
          ${selectTimes('t')}
     from ${AccessToken.tableName} t join ${User.tableName} u on u.id = t.user_id
          left join ${ExtAppLink.tableName} l on l.token_id = t.id left join ${ExtApp.tableName} a on a.id = l.app_id
    where t.id = $1::int`,
)

/** Values: the id of a credential. */
export const findCredential = statement<FoundToken>(
  'find-credential',
  `select c.id, null as name, null::json as abilities, null::json as models, null::int as "userId", null as username, a.id as "appId",
          a.name as "appName", ${selectTimes('c')}
     from ${ExtAppCredential.tableName} c join ${ExtApp.tableName} a on a.id = c.app_id
    where c.id = $1::int`,
)

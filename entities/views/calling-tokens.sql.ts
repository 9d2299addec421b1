import { ExtApp } from '../apps/ext-app.ts'
import { ExtAppLink } from '../apps/ext-app-link.ts'
import { AccessToken } from '../identity/access-token.ts'
import { OAuthClient } from '../oauth/oauth-client.ts'
import { OAuthGrant } from '../oauth/oauth-grant.ts'
import { statement } from '../sql/statement.ts'

/**
 * Lists the tokens with which a person's scripts, apps and programs may call. That of a program counts while its grant
 * runs, because a refresh makes it valid again. Values: the owner's id.
 */
export const listCallingTokens = statement<{ id: number; name: string }>(
  'list-calling-tokens',
  `select t.id, t.name from ${AccessToken.tableName} t
     left join ${ExtAppLink.tableName} l on l.token_id = t.id left join ${ExtApp.tableName} a on a.id = l.app_id
     left join ${OAuthGrant.tableName} g on g.token_id = t.id left join ${OAuthClient.tableName} c on c.id = g.client_id
    where t.user_id = $1::int and case t.holder when 'program' then g.ends_at > now() and not c.blocked
            else (t.expires_at is null or t.expires_at > now()) and (t.holder = 'person' or a.active) end`,
)

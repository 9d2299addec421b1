import { statement } from '../sql/statement.ts'
import { letsIn, tokensWithOwners } from './token-owner.sql.ts'

/** Values: hashes of sessions, the earliest renewal of a session that has not expired, and ids of tokens. Lists those that no longer hold. */
export const findEndedCredentials = statement<{ session: string | null; token: number | null }>(
  'find-ended-credentials',
  `select given.session, null::int as token from unnest($1::text[]) as given (session)
    where not exists (select from sessions s where s.hash = given.session and s.renewed_at > $2::timestamptz)
   union all
   select null, given.token from unnest($3::int[]) as given (token)
    where not exists (select from ${tokensWithOwners} where t.id = given.token and ${letsIn})`,
)

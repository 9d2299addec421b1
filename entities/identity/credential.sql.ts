import { statement } from '../sql/statement.ts'

/** Values: hashes of sessions, the earliest renewal of a session that has not expired, and ids of tokens. Lists those that no longer hold. */
export const findEndedCredentials = statement<{ session: string | null; token: number | null }>(
  'find-ended-credentials',
  `select given.session, null::int as token from unnest($1::text[]) as given (session)
    where not exists (select from sessions s where s.hash = given.session and s.renewed_at > $2::timestamptz)
   union all
   select null, given.token from unnest($3::int[]) as given (token)
    where not exists (select from access_tokens t where t.id = given.token and (t.expires_at is null or t.expires_at > now())
             and not exists (select from ext_app_links l join ext_apps a on a.id = l.app_id
                              where l.token_id = t.id and not a.active))`,
)

import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'
import { statement } from '../sql/statement.ts'

/** A connect request that somebody has opened: it is theirs alone from then on, and good for one answer. */
export const ExtAppConnectRequest = defineEntity({
  name: 'ExtAppConnectRequest',
  tableName: 'ext_app_connect_requests',
  properties: {
    /** SHA-256 of the request. */
    hash: p.string().length(43).primary(),
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    expiresAt: moment().index(),
    usedAt: moment().nullable(),
  },
})

/** Values: the hash of a request, who opens it, and until when it holds. Tells nothing where it is another's. */
export const claimConnectRequest = statement<{ isAnswered: boolean }>(
  'claim-connect-request',
  `insert into ext_app_connect_requests as r (hash, user_id, expires_at) values ($1, $2::int, $3::timestamptz)
     on conflict (hash) do update set expires_at = excluded.expires_at
       where r.user_id = excluded.user_id
     returning used_at is not null as "isAnswered"`,
)

/** Values: as above. Tells nothing where somebody else opened it, or it was answered before. */
export const useConnectRequest = statement<{ hash: string }>(
  'use-connect-request',
  `insert into ext_app_connect_requests as r (hash, user_id, expires_at, used_at) values ($1, $2::int, $3::timestamptz, now())
     on conflict (hash) do update set used_at = now()
       where r.user_id = excluded.user_id and r.used_at is null
     returning hash`,
)

export const deleteExpiredConnectRequests = statement<never>(
  'delete-expired-connect-requests',
  'delete from ext_app_connect_requests where expires_at < now()',
)

import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'
import { statement } from '../sql/statement.ts'

/** An opened connect request, which belongs to the person who opened it and can be answered once. */
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

/**
 * Claims a connect request; selects nothing if it belongs to somebody else. Values: its hash, the person, and its
 * expiry.
 */
export const claimConnectRequest = statement<{ isAnswered: boolean }>(
  'claim-connect-request',
  `insert into ext_app_connect_requests as r (hash, user_id, expires_at) values ($1, $2::int, $3::timestamptz)
     on conflict (hash) do update set expires_at = excluded.expires_at
       where r.user_id = excluded.user_id
     returning used_at is not null as "isAnswered"`,
)

/**
 * Answers a connect request; selects nothing if it belongs to somebody else or was already answered. Values: those of
 * `claimConnectRequest`.
 */
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

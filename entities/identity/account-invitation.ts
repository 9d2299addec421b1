import { defineEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { isoTime, statement } from '../sql/statement.ts'
import { User } from './user.ts'

/** A link with which a person sets the password of their local account once. A new link replaces it. */
export const AccountInvitation = defineEntity({
  name: 'AccountInvitation',
  tableName: 'account_invitations',
  properties: {
    id,
    ...timestamps,
    user: () => p.manyToOne(User).deleteRule('cascade').unique().ref(),
    /** SHA-256 of the secret in the link, in hex. */
    hash: p.string().length(64).unique().hidden(),
    expiresAt: moment().index(),
  },
})

/**
 * Stores a link, which replaces the user's earlier one; also deletes expired links. Values: the user's id, the hash of
 * the secret, and the expiry.
 */
export const putAccountInvitation = statement<{ expiresAt: string }>(
  'put-account-invitation',
  `with gone as (delete from account_invitations where expires_at < now() and user_id <> $1)
   insert into account_invitations (user_id, hash, expires_at) values ($1, $2, $3::timestamptz)
   on conflict (user_id) do update set hash = excluded.hash, expires_at = excluded.expires_at, updated_at = now()
   returning ${isoTime('expires_at')} as "expiresAt"`,
)

export interface InvitedPerson {
  id: number
  username: string
  email: string
  name: string
  subject: string | null
  disabled: boolean
}

const invitedColumns = 'u.id, u.username, u.email, u.name, u.subject, u.disabled'

/** Values: the hash of the secret. */
export const findInvited = statement<InvitedPerson>(
  'find-invited',
  `select ${invitedColumns} from account_invitations i join users u on u.id = i.user_id where i.hash = $1 and i.expires_at > now()`,
)

/** Uses a link, which works only once, and locks the person. Values: the hash of the secret. */
export const useAccountInvitation = statement<InvitedPerson>(
  'use-account-invitation',
  `with used as (delete from account_invitations where hash = $1 and expires_at > now() returning user_id)
   select ${invitedColumns} from users u join used on used.user_id = u.id for no key update of u`,
)

/** Ends a link; returns a row if it was still valid. Values: the user's id. */
export const endAccountInvitation = statement<{ id: number }>(
  'end-account-invitation',
  'delete from account_invitations where user_id = $1 and expires_at > now() returning id',
)

export interface ListedInvitation {
  userId: number
  username: string
  email: string
  name: string
  createdAt: string
  expiresAt: string
}

/** Valid links, sorted by expiry. */
export const listAccountInvitations = statement<ListedInvitation>(
  'list-account-invitations',
  `select u.id as "userId", u.username, u.email, u.name, ${isoTime('i.updated_at')} as "createdAt",
          ${isoTime('i.expires_at')} as "expiresAt"
     from account_invitations i join users u on u.id = i.user_id
    where i.expires_at > now() order by i.expires_at, i.id limit 1000`,
)

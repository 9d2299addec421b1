import { defineEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { User } from './user.ts'

/** A link with which a person sets the password of their local account, once. Another one takes its place. */
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

import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { pictureIndex } from './picture.ts'

export const roles = ['user', 'admin'] as const
export type Role = (typeof roles)[number]

export const loginSourceNames = ['local', 'ldap', 'oidc', 'proxy'] as const
export type LoginSourceName = (typeof loginSourceNames)[number]

/** Characters; four bytes of each still fit into an index entry. */
export const MAX_SUBJECT = 600

/** The system AI user. It has no credentials and cannot be removed. */
export const AI_USER_ID = 1

/** A person, or the AI user. Usernames and addresses are stored in lower case, so that they are unique in any case. */
export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  indexes: [pictureIndex('users')],
  properties: {
    id,
    ...timestamps,
    /**
     * Permanent subject at the login source, behind the name of the source; null until a sign-in or a command binds the
     * person. Usernames may be reassigned, so they do not bind.
     */
    subject: p.string().length(MAX_SUBJECT).unique().nullable(),
    username: p.string().length(120).unique(),
    email: p.string().length(254).unique(),
    /** The display name. */
    name: p.string().length(120),
    role: p.enum(roles).default('user'),
    /** True if the account is disabled: sign-ins and tokens are refused, but all data stays. */
    disabled: p.boolean().default(false),
    signedInAt: moment().nullable(),
    /** Groups, to which usage limits and access to models refer; set by the login source or an administrator. */
    groups: p.array().defaultRaw(`'{}'`),
    bio: p.text().nullable(),
    /** The storage key of the picture. */
    avatar: p.string().nullable(),
    /** Base64 of an SPKI key; null while the person is registering. */
    publicKey: p.text().nullable(),
    /** The ciphertext of the settings for all chats with models. */
    sealedChatSettings: p.text().nullable().lazy(),
    /** Time of the last change of the local password; a login that read an earlier one fails. */
    passwordChangedAt: moment().nullable(),
  },
})
export type User = InferEntity<typeof User>

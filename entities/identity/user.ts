import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { pictureIndex } from './picture.ts'

export const roles = ['user', 'admin'] as const
export type Role = (typeof roles)[number]

export const loginSourceNames = ['local', 'ldap', 'oidc', 'proxy'] as const
export type LoginSourceName = (typeof loginSourceNames)[number]

/** In characters: four bytes of each still fit into an entry of the index. */
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
     * What the login source calls the person for ever, behind the name of the source; null until a sign-in or a command binds
     * them. Usernames change and are given again, so they bind nobody.
     */
    subject: p.string().length(MAX_SUBJECT).unique().nullable(),
    username: p.string().length(120).unique(),
    email: p.string().length(254).unique(),
    /** The display name. */
    name: p.string().length(120),
    role: p.enum(roles).default('user'),
    /** Whether they are kept out: they cannot sign in, and their tokens do not work. All that is theirs stays. */
    disabled: p.boolean().default(false),
    signedInAt: moment().nullable(),
    /** To which usage limits apply; as the login source says, or an administrator. */
    groups: p.array().defaultRaw(`'{}'`),
    bio: p.text().nullable(),
    /** The storage key of the picture. */
    avatar: p.string().nullable(),
    /** Base64 of an SPKI key; null while the person is registering. */
    publicKey: p.text().nullable(),
    /** When the password of the local account was last changed: a login that saw an earlier one fails. */
    passwordChangedAt: moment().nullable(),
  },
})
export type User = InferEntity<typeof User>

import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { User } from './user.ts'

export const abilities = ['ai', 'user', 'read', 'write', 'keychain'] as const
/** What a token may be used for; a session may do all of it. */
export type Ability = (typeof abilities)[number]

/** A personal access token. Only the SHA-256 of its secret is kept. */
export const AccessToken = defineEntity({
  name: 'AccessToken',
  tableName: 'access_tokens',
  properties: {
    id,
    ...timestamps,
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    name: p.string().length(16),
    hash: p.character().length(64).hidden(),
    abilities: p.array().$type<Ability[]>(),
    expiresAt: moment().nullable(),
    lastUsedAt: moment().nullable(),
  },
  // On by default, and without a viewer a query throws: nobody reaches a token of somebody else by its number.
  filters: {
    own: {
      name: 'own',
      cond: ({ viewer }: { viewer: number | 'host' }) => (viewer === 'host' ? {} : { user: viewer }),
      default: true,
    },
  },
})
export type AccessToken = InferEntity<typeof AccessToken>

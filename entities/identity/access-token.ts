import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { User } from './user.ts'

export const abilities = ['ai', 'user', 'read', 'write', 'mcp', 'keychain', 'metrics', 'admin'] as const
/**
 * The abilities of a token; a session has all. `mcp` lists and calls tools. Only the host gives `keychain`, `metrics` and
 * `admin`.
 */
export type Ability = (typeof abilities)[number]

/** The holder of a token: its person, a linked app, with whose link it ends, or a program that its person signed in. */
const holders = ['person', 'app', 'program'] as const

/** An earlier secret of a program's token, which works until its own end. */
export interface EarlierSecret {
  hash: string
  /** In RFC 3339. */
  endsAt: string
}

/** A model that a token may ask by its name, or an assistant, which is known by its id whatever its handle means later. */
export interface BoundModel {
  /** The name in requests: that of a model, or `assistant/` and a handle. */
  name: string
  /** Present for an assistant. */
  assistantId?: number
}

/** A personal access token. Only the SHA-256 of its secret is stored. */
export const AccessToken = defineEntity({
  name: 'AccessToken',
  tableName: 'access_tokens',
  properties: {
    id,
    ...timestamps,
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    name: p.string().length(16),
    hash: p.character().length(64).hidden(),
    previous: p.json<EarlierSecret[]>().nullable().hidden(),
    holder: p.enum(holders).default('person'),
    abilities: p.array().$type<Ability[]>(),
    /** The models and assistants that it may ask; null for all that its person may. Without foreign keys, no deletion widens it. */
    models: p.json<BoundModel[]>().nullable(),
    expiresAt: moment().nullable(),
    lastUsedAt: moment().nullable(),
  },
  // This filter is on by default; a query without a viewer throws, so nobody can reach another person's token by its
  // id.
  filters: {
    own: {
      name: 'own',
      cond: ({ viewer }: { viewer: number | 'host' }) => (viewer === 'host' ? {} : { user: viewer }),
      default: true,
    },
  },
})
export type AccessToken = InferEntity<typeof AccessToken>

import type { Ability } from '../../entities/identity/access-token.ts'
import type { KnownUser } from '../../entities/identity/user.sql.ts'
import type { UsageType } from '../../entities/sql/columns.ts'

export type Person = Omit<KnownUser, 'hasKeys' | 'passwordChangedAt'>

/** A token by which a person calls; a session has all abilities and no token. */
export interface Credential {
  id: number
  abilities: readonly Ability[]
  /** The app that holds it. */
  appId?: number
}

/** Who has signed in and has no keys yet, also where the host has made the person beforehand. */
export interface Newcomer {
  type: 'registering'
  username: string
  name: string
  email: string
}

/** A program by its own credential. It has no account: what it is told of itself is what its registration says. */
export interface ExternalApp {
  type: 'external-app'
  appId: number
  name: string
  /** In RFC 3339, as the other. */
  createdAt: string
  updatedAt: string
}

/** Who is calling. The tag is the user type; what is known about the caller hangs off it. */
export type Caller = { type: 'guest' } | Newcomer | { type: 'user'; person: Person; token?: Credential } | ExternalApp

export type UserType = Caller['type']

export type { UsageType }

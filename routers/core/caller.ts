import type { Ability } from '../../entities/identity/access-token.ts'
import type { KnownUser } from '../../entities/identity/session.sql.ts'
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

/** Who is calling. The tag is the user type; what is known about the caller hangs off it. */
export type Caller =
  | { type: 'guest' }
  | Newcomer
  | { type: 'user'; person: Person; token?: Credential }
  | { type: 'external-app'; appId: number }

export type UserType = Caller['type']

export type { UsageType }

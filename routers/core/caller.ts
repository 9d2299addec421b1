import type { Ability, BoundModel } from '../../entities/identity/access-token.ts'
import type { KnownUser } from '../../entities/identity/user.sql.ts'
import type { UsageType } from '../../entities/sql/columns.ts'

export type Person = Omit<KnownUser, 'hasKeys' | 'passwordChangedAt'>

/** A token with which a person calls; a session has all abilities and no token. */
export interface Credential {
  id: number
  abilities: readonly Ability[]
  /** The models and assistants that it may ask; absent for all. */
  models?: readonly Readonly<BoundModel>[]
  /** The external app that holds the token. */
  appId?: number
  /** The grant of the person to the program that holds the token. */
  grant?: ProgramGrant
}

/** The access of a program that a person has signed in. */
export interface ProgramGrant {
  id: number
  /** Ids of the tool servers that it may use; null for all. */
  servers: readonly number[] | null
}

/** A person who has signed in and has no keys yet, including accounts that the host has created. */
export interface Newcomer {
  type: 'registering'
  username: string
  name: string
  email: string
}

/** A program that authenticates with its own credential. It has no account, so its data comes from its registration. */
export interface ExternalApp {
  type: 'external-app'
  appId: number
  name: string
  /** In RFC 3339, as the other. */
  createdAt: string
  updatedAt: string
}

/** The caller of a request. The tag is the user type; the other members depend on it. */
export type Caller = { type: 'guest' } | Newcomer | { type: 'user'; person: Person; token?: Credential } | ExternalApp

export type UserType = Caller['type']

export type { UsageType }

import type { Ability } from '../../entities/identity/access-token.ts'
import type { Role } from '../../entities/identity/user.ts'
import type { UsageType } from '../../entities/sql/columns.ts'
import type { Notes } from './context.ts'
import type { Events } from './events.ts'

export interface Person {
  id: number
  username: string
  name: string
  email: string
  role: Role
}

/** A token by which a person calls; a session has all abilities and no token. */
export interface Credential {
  id: number
  abilities: readonly Ability[]
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

/** Holds the caller of one request. Each change of user type is announced at once. */
export class CallerContext {
  #caller: Caller = { type: 'guest' }
  readonly #events: Events
  readonly #notes: Notes

  constructor(events: Events, notes: Notes) {
    this.#events = events
    this.#notes = notes
  }

  get current(): Caller {
    return this.#caller
  }

  become(to: Caller): void {
    const from = this.#caller
    this.#caller = to
    const userId = [to, from].find((caller) => caller.type === 'user')?.person.id
    if (from.type === to.type) return
    this.#events.emit('user-type-changed', { from: from.type, to: to.type, userId, notes: this.#notes })
  }
}

import type { EntityManager } from '@mikro-orm/postgresql'
import type { ReachedLimit } from '../../entities/ai/usage-commit.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { HealthResult } from '../ports/health.ts'
import type { JobQueue } from '../ports/job-queue.ts'
import type { UserType } from './caller.ts'
import type { ChangeTransaction } from './change-recorder.ts'
import type { ResponseNotes } from './response-notes.ts'

/** The reason for a change of the user type. A session that continues or expires changes nothing. */
export type TypeChangeCause = 'login' | 'registration' | 'logout' | 'key-reset' | 'bearer-token'

export interface Erasure extends ChangeTransaction {
  userId: number
  /** For what is done elsewhere after the commit. */
  jobQueue: JobQueue
  /** Numbers of deleted rows and of rows kept without the person, per table. */
  report: ErasureReport
  /** Storage keys of files to be removed after the commit. */
  files: string[]
}

export interface NameHolder {
  subject: 'user' | 'app' | 'tool-server'
  id: number
  name: string
  em: EntityManager
}

interface PartState {
  isWell: boolean
  message: string
}

/** An announcement, and which text of it. */
export interface AcceptedPolicy {
  id: number
  version: string
}

/** A person in a transaction that locks them. */
export interface ChangedPerson extends ChangeTransaction {
  userId: number
}

/** Numbers of deleted rows and of rows kept without the person, per table. */
export type ErasureReport = Record<string, { deleted: number; kept: number }>

/**
 * Every hook with its payload. A hook runs in the request, and its listeners may change the outcome through the
 * payload. Only the hook of usage limits runs outside requests, once for all replicas.
 */
export interface Hooks {
  'user-type-changed': {
    cause: TypeChangeCause
    from: UserType
    to: UserType
    userId?: number | undefined
    notes: ResponseNotes
  }
  /** A person, an app or a tool server takes a name, in a transaction. */
  'name-taken': NameHolder
  /**
   * A person or an app releases its name, in a transaction: it is being deleted or renamed. A tool server releases it only
   * with its deletion, so that a new label ends no limit.
   */
  'name-freed': NameHolder
  /** A person stores their first keys, in a transaction, and has accepted the policy if one was shown. */
  'user-registered': { userId: number; em: EntityManager; policy: AcceptedPolicy | undefined }
  /** A person is about to be erased, in a transaction; listeners remove references that are not foreign keys. */
  'user-erasing': Erasure
  /**
   * A person's sessions have ended, all or all but the one that asked, since they signed out everywhere or have another
   * password. Listeners end what these sessions may have let in.
   */
  'user-signed-out': ChangedPerson
  /** A person's public key has changed, so everything wrapped for the old key is useless. */
  'user-keys-changed': ChangedPerson
  /** A person's public name, picture, text or key has changed. */
  'user-profile-changed': ChangedPerson
  /** A person is about to write or to ask a model. */
  'user-acting': { userId: number; sql: Sql }
  /** Collects the state of each part of this replica, as a sentence. */
  'replica-asked': { parts: Record<string, PartState> }
  'health-check': { results: Map<string, HealthResult> }
  'usage-limit-reached': ReachedLimit
}

export type Listener<Payload> = (payload: Payload) => unknown

export interface HookRegistry {
  /** Returns a function that removes the listener. */
  on<K extends keyof Hooks>(name: K, listener: Listener<Hooks[K]>): () => void
  /** Calls every listener in order, and waits for none. */
  emit<K extends keyof Hooks>(name: K, payload: Hooks[K]): void
  /** Calls every listener in order, and awaits each before the next. */
  emitSerial<K extends keyof Hooks>(name: K, payload: Hooks[K]): Promise<void>
}

export function createHooks(): HookRegistry {
  const listeners: { [K in keyof Hooks]?: Listener<Hooks[K]>[] } = {}
  const of = <K extends keyof Hooks>(name: K) => (listeners[name] ?? []) as Listener<Hooks[K]>[]

  return {
    on(name, listener) {
      Object.assign(listeners, { [name]: [...of(name), listener] })
      return () => Object.assign(listeners, { [name]: of(name).filter((other) => other !== listener) })
    },
    emit(name, payload) {
      for (const listener of of(name)) listener(payload)
    },
    async emitSerial(name, payload) {
      for (const listener of of(name)) await listener(payload)
    },
  }
}

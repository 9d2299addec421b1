import type { EntityManager } from '@mikro-orm/postgresql'
import type { ReachedLimit } from '../../entities/ai/usage-commit.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { LimitLeft } from '../ports/ai/usage-ledger.ts'
import type { HealthResult } from '../ports/health.ts'
import type { RateLimitStatus } from '../ports/rate-limiter.ts'
import type { UserType } from './caller.ts'
import type { ChangeRecorder } from './change-recorder.ts'

/** A number of a stream of the change log. */
export interface StreamPosition {
  stream: string
  epoch: string
  seq: number
}

/** What a facade says beside the result of a call. */
export interface ResponseHints {
  /** What is left of a rate limit, once one was counted. */
  rateLimit?: RateLimitStatus
  /** When to come again after a refusal, in seconds, where that is not when the rate limit is reset; null for never. */
  retryAfterSeconds?: number | null
  /** What is left of usage limits, where it was looked up. */
  limits?: readonly LimitLeft[]
  /** Members of the request that were ignored, by their names. */
  ignoredParameters?: readonly string[]
  /** Parameters that the model was asked without, by our own names. */
  unsentParameters?: readonly string[]
  /** The model that answered in place of the one that was asked. */
  answeredBy?: string
  /** Set where repeating the request is of no use: a limit is spent, or the provider was asked several times already. */
  isFinal?: boolean
  /** Set where the browser must delete all it kept of a person. */
  clearSiteData?: true
  /** How many issues were told of so far: the calls of a batch share one answer. */
  reportedIssues?: number
  /** Where the change log stands after what was written, where callers are told. */
  positions?: StreamPosition[]
}

/** Why the type of a caller changes. A session that goes on, or has run out, changes none. */
export type TypeChangeCause = 'login' | 'registration' | 'logout' | 'key-reset' | 'bearer-token'

export interface Erasure {
  userId: number
  em: EntityManager
  changes: ChangeRecorder
  /** How many rows go, and how many stay without the person, per table. */
  report: ErasureReport
  /** Storage keys of files to which nothing will refer after the commit. */
  files: string[]
}

export interface NameHolder {
  subject: 'user' | 'app'
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

/** A person of whom others see something new, in a transaction that holds the person. */
export interface ChangedPerson {
  userId: number
  em: EntityManager
  changes: ChangeRecorder
}

/** How many rows went, and how many stayed without the person, per table. */
export type ErasureReport = Record<string, { deleted: number; kept: number }>

/**
 * Every hook with its payload. A hook runs in the request, and its listeners may change what happens by the payload; only that
 * of limits runs behind the requests, once for all replicas.
 */
export interface Hooks {
  'user-type-changed': {
    cause: TypeChangeCause
    from: UserType
    to: UserType
    userId?: number | undefined
    hints: ResponseHints
  }
  /** A person or an app gets a name, in a transaction. */
  'name-taken': NameHolder
  /** A person or an app gives up its name, in a transaction: it is about to go, or has another. */
  'name-freed': NameHolder
  /** Somebody gets their first keys, in a transaction, and has accepted the policy that was shown to them, if one was. */
  'user-registered': { userId: number; em: EntityManager; policy: AcceptedPolicy | undefined }
  /** Somebody is about to be erased, in a transaction: what refers to them in other ways than by a column is let go of first. */
  'user-erasing': Erasure
  /** What was wrapped for the public key that a person had is of no use to them any more. */
  'user-keys-changed': ChangedPerson
  /** Others see another name, picture, text or public key of a person. */
  'user-profile-changed': ChangedPerson
  /** Somebody is about to write, or to ask a model. */
  'user-acting': { userId: number; sql: Sql }
  /** Somebody asks how the parts of this replica are: each says so in a sentence. */
  'replica-asked': { parts: Record<string, PartState> }
  'health-check': { results: Map<string, HealthResult> }
  'usage-limit-reached': ReachedLimit
}

export type Listener<Payload> = (payload: Payload) => unknown

export interface HookRegistry {
  /** Returns the way to stop listening. */
  on<K extends keyof Hooks>(name: K, listener: Listener<Hooks[K]>): () => void
  /** Calls every listener in order, and waits for none. */
  emit<K extends keyof Hooks>(name: K, payload: Hooks[K]): void
  /** Calls every listener in order, and waits for each before the next. */
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

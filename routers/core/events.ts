import type { HealthResult } from '../system/health.ts'
import type { UserType } from './caller.ts'
import type { Notes } from './context.ts'

/** Every domain event with its payload. Emitters and listeners both read this list. */
export interface DomainEvents {
  'user-type-changed': { from: UserType; to: UserType; userId?: number | undefined; notes: Notes }
  'health-check': { results: Map<string, HealthResult> }
}

export type Listener<Payload> = (payload: Payload) => unknown

export interface Events {
  /** Returns the way to stop listening. */
  on<K extends keyof DomainEvents>(name: K, listener: Listener<DomainEvents[K]>): () => void
  /** Calls each listener now, in the order they came, and waits for none. */
  emit<K extends keyof DomainEvents>(name: K, payload: DomainEvents[K]): void
  /** Calls each listener in the order they came and waits for it before the next. */
  settle<K extends keyof DomainEvents>(name: K, payload: DomainEvents[K]): Promise<void>
}

export function createEvents(): Events {
  const listeners: { [K in keyof DomainEvents]?: Listener<DomainEvents[K]>[] } = {}
  const of = <K extends keyof DomainEvents>(name: K) => (listeners[name] ?? []) as Listener<DomainEvents[K]>[]

  return {
    on(name, listener) {
      Object.assign(listeners, { [name]: [...of(name), listener] })
      return () => Object.assign(listeners, { [name]: of(name).filter((other) => other !== listener) })
    },
    emit(name, payload) {
      for (const listener of of(name)) listener(payload)
    },
    async settle(name, payload) {
      for (const listener of of(name)) await listener(payload)
    },
  }
}

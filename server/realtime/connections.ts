import { codes } from '../../facades/realtime/frames.ts'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import type { Connection } from './connection.ts'

/** Milliseconds for which a connection without a subscription is kept even if the limit is reached. */
const ANONYMOUS_GRACE_MS = 10_000

/** Largest interval between checks for silent connections, in milliseconds. */
const MAX_TICK_MS = 1000

interface ConnectionsOptions {
  limiter: ConcurrencyLimiter
  max: number
  maxPerPerson: number
  /** Milliseconds. */
  pingInterval: number
}

/** The connections of this process. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #all = new Set<Connection>()
  readonly #timer: NodeJS.Timeout

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#ping(), Math.min(MAX_TICK_MS, options.pingInterval / 2)).unref()
  }

  get size(): number {
    return this.#all.size
  }

  get people(): number {
    return new Set([...this.#all].flatMap(({ person }) => person ?? [])).size
  }

  [Symbol.iterator]() {
    return this.#all.values()
  }

  /** Adds a connection; returns false at the limit. An unused connection is closed to make room. */
  add(connection: Connection): boolean {
    if (this.#all.size >= this.#options.max && !this.#closeUnused()) return false
    this.#all.add(connection)
    return true
  }

  remove(connection: Connection): void {
    const { person, slot } = connection
    if (!this.#all.delete(connection) || person === undefined) return
    void Promise.resolve(slot).then((isAcquired) => isAcquired && this.#options.limiter.release(buildKey(person)))
  }

  /** Assigns a connection to a person; returns whether it is within their limit at all replicas. The limit is checked once per connection. */
  async claim(connection: Connection, person: number): Promise<boolean> {
    if (!this.#all.has(connection)) return false
    connection.person = person
    connection.slot ??= this.#options.limiter.acquire(buildKey(person), this.#options.maxPerPerson)
    connection.slot = await connection.slot
    return connection.slot
  }

  close(): void {
    clearInterval(this.#timer)
    for (const connection of this.#all) connection.terminate()
  }

  #closeUnused(): boolean {
    const openedBefore = performance.now() - ANONYMOUS_GRACE_MS
    for (const connection of this.#all) {
      if (connection.person !== undefined || connection.openedAt > openedBefore) continue
      connection.close(codes.overCapacity, 'Others need the place.')
      this.remove(connection)
      return true
    }
    return false
  }

  /** Pings silent connections, and closes those that do not respond. */
  #ping(): void {
    const now = performance.now()
    for (const connection of this.#all) {
      const silentMs = now - connection.lastActivityAt
      if (silentMs > 2 * this.#options.pingInterval) connection.close(codes.silent, 'Nothing was heard for too long.')
      else if (silentMs > this.#options.pingInterval && !connection.isPinged) connection.ping()
    }
  }
}

const buildKey = (person: number) => `connections:${person}`

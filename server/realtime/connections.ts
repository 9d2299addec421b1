import { codes } from '../../facades/realtime/frames.ts'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import type { Connection } from './connection.ts'

/** How long a connection without a subscription is left in peace when there is no room, in milliseconds. */
const NAMELESS_MS = 10_000

/** More than one look a second is of no use. */
const MAX_TICK_MS = 1000

interface ConnectionsOptions {
  places: ConcurrencyLimiter
  max: number
  maxPerPerson: number
  /** In milliseconds. */
  pingInterval: number
}

/** All connections of this process. */
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

  /** Whether there is room, for which one that nobody uses gives way. */
  add(connection: Connection): boolean {
    if (this.#all.size >= this.#options.max && !this.#giveWay()) return false
    this.#all.add(connection)
    return true
  }

  remove(connection: Connection): void {
    const { person, place } = connection
    if (!this.#all.delete(connection) || person === undefined) return
    void Promise.resolve(place).then((isTaken) => isTaken && this.#options.places.release(buildKey(person)))
  }

  /** Says whose a connection is; whether they may have one more, at all replicas. Asks once for a connection. */
  async claim(connection: Connection, person: number): Promise<boolean> {
    if (!this.#all.has(connection)) return false
    connection.person = person
    connection.place ??= this.#options.places.acquire(buildKey(person), this.#options.maxPerPerson)
    connection.place = await connection.place
    return connection.place
  }

  close(): void {
    clearInterval(this.#timer)
    for (const connection of this.#all) connection.terminate()
  }

  #giveWay(): boolean {
    const before = performance.now() - NAMELESS_MS
    for (const connection of this.#all) {
      if (connection.person !== undefined || connection.openedAt > before) continue
      connection.close(codes.overCapacity, 'Others need the place.')
      this.remove(connection)
      return true
    }
    return false
  }

  /** Asks those that are silent for a sign of life, and closes those that give none. */
  #ping(): void {
    const now = performance.now()
    for (const connection of this.#all) {
      const silent = now - connection.heardAt
      if (silent > 2 * this.#options.pingInterval) connection.close(codes.silent, 'Nothing was heard for too long.')
      else if (silent > this.#options.pingInterval && !connection.isPinged) connection.ping()
    }
  }
}

const buildKey = (person: number) => `connections:${person}`

import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import {
  REPLICA_QUERY_TOPIC,
  REPLICA_TOPIC,
  type ReplicaReport,
  type ReplicaStats,
} from '../../routers/rooms/realtime.ts'
import { REPLICA_TTL_MS, replicaKey } from '../stores/concurrency-limiter.ts'

const HEARTBEAT_MS = 3000
const GREETING_RETRY_MS = 50
/** Milliseconds for which the results of health checks are reused. */
const CHECKS_TTL_MS = 2000

interface ReplicasOptions {
  /** Name of this replica. */
  own: string
  kv: KeyValueStore
  bus: ChangeBus
  stats: () => ReplicaStats
  /** Runs the health checks of this replica; returns the names of those that fail. */
  findFailing: () => Promise<string[]>
}

interface ReplicasListener {
  /** Is called when another replica is heard of for the first time. */
  onJoin(replica: string): void
  /** Is called when another replica sends no heartbeat any more. */
  onLeave(replica: string): void
}

/** The other living replicas, and the reports of this replica to them. */
export class Replicas {
  readonly own: string
  readonly #options: ReplicasOptions
  readonly #others = new Set<string>()
  readonly #listeners: ReplicasListener[] = []
  readonly #timer: NodeJS.Timeout
  readonly #stopListening: () => void
  #isClosed = false
  #failing: string[] | null = null
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(options: ReplicasOptions) {
    this.#options = options
    this.own = options.own
    const onMessage = (topic: string, content: unknown) => {
      if (topic === REPLICA_QUERY_TOPIC) void this.#reportWithChecks()
      if (topic === REPLICA_TOPIC) this.#addReplica((content as ReplicaReport).replica)
    }
    this.#stopListening = options.bus.subscribe({
      onChanges() {},
      onInterruption: () => this.#greet(),
      onMessage,
    })
    this.#timer = setInterval(() => void this.#sendHeartbeat().catch(() => {}), HEARTBEAT_MS).unref()
    setImmediate(() => void this.#sendHeartbeat().catch(() => {}))
  }

  [Symbol.iterator]() {
    return this.#others.values()
  }

  has(replica: string): boolean {
    return this.#others.has(replica)
  }

  listen(listener: ReplicasListener): void {
    this.#listeners.push(listener)
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#stopListening()
    // The heartbeat of a killed replica expires instead.
    this.#options.kv.delete(replicaKey(this.own)).catch(() => {})
  }

  /** Reports itself, and requests reports of the others, as soon as the bus is connected. */
  #greet(): void {
    const { bus } = this.#options
    if (!bus.isConnected()) {
      setTimeout(() => this.#isClosed || this.#greet(), GREETING_RETRY_MS).unref()
      return
    }
    this.#report()
    bus.broadcast(REPLICA_QUERY_TOPIC, {})
  }

  #report(): void {
    const report: ReplicaReport = { replica: this.own, ...this.#options.stats(), failing: this.#failing }
    this.#options.bus.broadcast(REPLICA_TOPIC, report)
  }

  /** Reports immediately, and again after new health checks. */
  async #reportWithChecks(): Promise<void> {
    this.#report()
    if (performance.now() - this.#checkedAt < CHECKS_TTL_MS) return
    this.#checkedAt = performance.now()
    this.#failing = await this.#options.findFailing()
    if (!this.#isClosed) this.#report()
  }

  #addReplica(replica: string): void {
    if (this.#others.has(replica)) return
    this.#others.add(replica)
    for (const { onJoin } of this.#listeners) onJoin(replica)
  }

  async #sendHeartbeat(): Promise<void> {
    const { kv } = this.#options
    await kv.set(replicaKey(this.own), '1', REPLICA_TTL_MS)
    this.#report()
    for (const replica of this.#others)
      if ((await kv.get(replicaKey(replica))) === undefined) this.#removeReplica(replica)
  }

  #removeReplica(replica: string): void {
    this.#others.delete(replica)
    for (const { onLeave } of this.#listeners) onLeave(replica)
  }
}

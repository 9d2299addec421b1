import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import { ASKED, REPLICA, type ReplicaReport, type ReplicaStats } from '../../routers/rooms/realtime.ts'
import { REPLICA_TTL_MS, replicaKey } from '../stores/places.ts'

const BEAT_MS = 3000
const GREETING_MS = 50
/** How long what was seen of the parts is told without another look. */
const PARTS_MS = 2000

interface ReplicasOptions {
  /** The name of this one. */
  own: string
  kv: KeyValueStore
  bus: ChangeBus
  stats: () => ReplicaStats
  /** Looks at the parts of this one, and names those that do not work. */
  findFailing: () => Promise<string[]>
}

interface ReplicasListener {
  /** Another one is heard for the first time. */
  came(replica: string): void
  /** Another one gives no sign of life any more. */
  gone(replica: string): void
}

/** The other replicas that live, and what this one tells them of itself. */
export class Replicas {
  readonly own: string
  readonly #options: ReplicasOptions
  readonly #others = new Set<string>()
  readonly #listeners: ReplicasListener[] = []
  readonly #timer: NodeJS.Timeout
  readonly #stopListening: () => void
  #isClosed = false
  #failing: string[] | null = null
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(options: ReplicasOptions) {
    this.#options = options
    this.own = options.own
    const told = (topic: string, content: unknown) => {
      if (topic === ASKED) void this.#answer()
      if (topic === REPLICA) this.#heard((content as ReplicaReport).replica)
    }
    this.#stopListening = options.bus.subscribe({
      onChanges() {},
      onInterruption: () => this.#greet(),
      onMessage: told,
    })
    this.#timer = setInterval(() => void this.#beat().catch(() => {}), BEAT_MS).unref()
    setImmediate(() => void this.#beat().catch(() => {}))
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
    // A killed one is missed later.
    this.#options.kv.delete(replicaKey(this.own)).catch(() => {})
  }

  /** Makes itself known, and has the others do so, as soon as the bus carries both ways. */
  #greet(): void {
    const { bus } = this.#options
    if (!bus.isConnected()) {
      setTimeout(() => this.#isClosed || this.#greet(), GREETING_MS).unref()
      return
    }
    this.#tell()
    bus.broadcast(ASKED, {})
  }

  #tell(): void {
    const report: ReplicaReport = { replica: this.own, ...this.#options.stats(), failing: this.#failing }
    this.#options.bus.broadcast(REPLICA, report)
  }

  /** Tells at once what is known, and again after a look at the parts. */
  async #answer(): Promise<void> {
    this.#tell()
    if (performance.now() - this.#lookedAt < PARTS_MS) return
    this.#lookedAt = performance.now()
    this.#failing = await this.#options.findFailing()
    if (!this.#isClosed) this.#tell()
  }

  #heard(replica: string): void {
    if (this.#others.has(replica)) return
    this.#others.add(replica)
    for (const { came } of this.#listeners) came(replica)
  }

  async #beat(): Promise<void> {
    const { kv } = this.#options
    await kv.set(replicaKey(this.own), '1', REPLICA_TTL_MS)
    this.#tell()
    for (const replica of this.#others) if ((await kv.get(replicaKey(replica))) === undefined) this.#lose(replica)
  }

  #lose(replica: string): void {
    this.#others.delete(replica)
    for (const { gone } of this.#listeners) gone(replica)
  }
}

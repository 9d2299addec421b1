import DataLoader from 'dataloader'
import { findPositions, findStreamsAhead } from '../../entities/events/change-log.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { findChangesOfStreams } from '../../entities/views/change-log.sql.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type {
  ChangeStreams,
  EphemeralEvent,
  Position,
  StreamFollower,
  StreamSubscription,
} from '../../routers/ports/change-streams.ts'
import type { Log } from '../../routers/ports/log.ts'
import { startInterval } from './interval.ts'
import { StreamCursor } from './stream-cursor.ts'

/** Largest number of streams that one statement reads. */
const MAX_STREAMS = 5000

const MAX_CHANGES = 500
const RETRY_MS = 300

const TOPIC = 'passing event'

interface StreamEvent {
  stream: string
  event: EphemeralEvent
}

interface ChangeStreamsOptions {
  sql: Sql
  bus: ChangeBus
  log: Log
}

/**
 * Follows streams of the change log through the change bus. Gaps, interruptions of the bus and unpublished changes are all
 * repaired in one way: one statement reads the log of all affected streams from their last sequence number.
 */
export class ChangeLogStreams implements ChangeStreams {
  readonly #sql: Sql
  readonly #bus: ChangeBus
  readonly #log: Log
  readonly #streams = new Map<string, StreamCursor>()
  readonly #lagging = new Set<StreamCursor>()
  readonly #positions: DataLoader<string, Position>
  readonly #stops: (() => void)[]
  #isCatchingUp = false
  #isClosed = false

  constructor(options: ChangeStreamsOptions) {
    const { sql, bus, log } = options
    this.#sql = sql
    this.#bus = bus
    this.#log = log
    this.#positions = new DataLoader((names) => readPositions(sql, names), {
      cache: false,
      maxBatchSize: MAX_STREAMS,
      batchScheduleFn: setImmediate,
    })
    const onInterruption = () => {
      for (const stream of this.#streams.values()) this.#markLagging(stream)
    }
    const onMessage = (topic: string, content: unknown) => {
      if (topic === TOPIC) this.#emit(content as StreamEvent)
    }
    const stopListening = bus.subscribe({
      onChanges: (changes) => changes.forEach(this.#accept),
      onInterruption,
      onMessage,
    })
    this.#stops = [stopListening, startPositionChecks(options, this.#streams, this.#markLagging)]
  }

  async follow(name: string, follower: StreamFollower): Promise<StreamSubscription> {
    const stream = this.#streams.get(name) ?? new StreamCursor(name, () => this.#positions.load(name))
    this.#streams.set(name, stream)
    const stop = () => {
      stream.remove(follower)
      if (stream.isIdle && this.#streams.get(name) === stream) this.#streams.delete(name)
    }
    try {
      const position = await stream.add(follower)
      if (stream.hasGap) this.#markLagging(stream)
      return { position, stop }
    } catch (error) {
      stop()
      throw error
    }
  }

  sendEphemeral(stream: string, event: EphemeralEvent): void {
    this.#emit({ stream, event })
    void this.#bus.broadcast(TOPIC, { stream, event } satisfies StreamEvent)
  }

  countStreams() {
    return { streams: this.#streams.size, behind: this.#lagging.size }
  }

  close(): void {
    this.#isClosed = true
    for (const stop of this.#stops) stop()
  }

  #emit({ stream, event }: StreamEvent): void {
    this.#streams.get(stream)?.emit(event)
  }

  #accept = (change: Parameters<StreamCursor['accept']>[0]): void => {
    const stream = this.#streams.get(change.stream)
    if (stream && !stream.accept(change)) this.#markLagging(stream)
  }

  #markLagging = (stream: StreamCursor): void => {
    this.#lagging.add(stream)
    if (!this.#isCatchingUp) void this.#catchUp()
  }

  async #catchUp(): Promise<void> {
    this.#isCatchingUp = true
    // Streams that are marked in the same turn of the event loop are read together.
    await new Promise(setImmediate)
    while (this.#lagging.size > 0 && !this.#isClosed) {
      const isRead = await this.#readLagging().catch((error: unknown) => {
        this.#log.warn({ error, streams: this.#lagging.size }, 'the change log could not be read')
        return false
      })
      if (!isRead) await new Promise((done) => setTimeout(done, RETRY_MS).unref())
    }
    this.#isCatchingUp = false
  }

  async #readLagging(): Promise<true> {
    const requested = this.#nextLagging()
    if (requested.size === 0) return true
    const names = [...requested.keys()]
    const seqs = [...requested.values()].map(({ seq }) => seq)
    const reads = await this.#sql(findChangesOfStreams, [names, seqs, MAX_CHANGES])
    for (const { stream: name, ...read } of reads) {
      const { stream, seq = 0 } = requested.get(name) ?? {}
      if (stream?.replay(seq, read)) this.#lagging.delete(stream)
    }
    return true
  }

  /** Returns the streams to read, with their last sequence numbers. A stream without a position has missed nothing. */
  #nextLagging(): Map<string, { stream: StreamCursor; seq: number }> {
    const requested = new Map<string, { stream: StreamCursor; seq: number }>()
    for (const stream of this.#lagging) {
      if (requested.size === MAX_STREAMS) break
      if (stream.position && !stream.isIdle) requested.set(stream.name, { stream, seq: stream.position.seq })
      else this.#lagging.delete(stream)
    }
    return requested
  }
}

async function readPositions(sql: Sql, names: readonly string[]): Promise<Position[]> {
  const rows = await sql(findPositions, [names])
  const positions = new Map(rows.map(({ stream, epoch, seq }) => [stream, { epoch, seq }]))
  return names.map((name) => positions.get(name) as Position)
}

/** Milliseconds between comparisons of positions with the log: a process may be killed after it writes a change and before it publishes it. */
const INTERVAL_MS = 800

/** Largest number of streams that one statement compares. */
const MAX_POSITIONS = 5000

/** Regularly compares the positions of streams with the log, in batches, and reports streams that have missed changes. Returns a function that stops it. */
function startPositionChecks(
  { sql, log }: ChangeStreamsOptions,
  streams: ReadonlyMap<string, StreamCursor>,
  onLagging: (stream: StreamCursor) => void,
): () => void {
  let next = 0
  const compare = async () => {
    const all = [...streams.values()]
    if (next >= all.length) next = 0
    const batch = all.slice(next, next + MAX_POSITIONS)
    next += MAX_POSITIONS
    for (const stream of await findLagging(sql, batch)) onLagging(stream)
  }
  const failure = 'positions could not be compared with the change log'
  return startInterval(compare, { period: INTERVAL_MS, log, failure })
}

async function findLagging(sql: Sql, streams: readonly StreamCursor[]): Promise<StreamCursor[]> {
  const positioned = streams.filter(({ position }) => position)
  if (positioned.length === 0) return []
  const values = [positioned.map(({ name }) => name), positioned.map(({ position }) => position?.seq)]
  const [log] = await sql(findStreamsAhead, values)
  const ahead = new Set(log?.ahead)
  return positioned.filter(({ name, position }) => ahead.has(name) || position?.epoch !== log?.epoch)
}

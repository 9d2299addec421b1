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
import { FollowedStream } from './followed-stream.ts'

/** Streams that one statement reads. */
const MAX_STREAMS = 5000

const MAX_CHANGES = 500
const RETRY_MS = 300

const TOPIC = 'passing event'

interface Passing {
  stream: string
  event: EphemeralEvent
}

interface ChangeStreamsOptions {
  sql: Sql
  bus: ChangeBus
  log: Log
}

/**
 * Follows streams by what the bus carries. A hole, an interruption of the bus and a change that nobody published are all
 * healed in one way: the log is read from the last number on, in one statement for all streams.
 */
export class LoggedStreams implements ChangeStreams {
  readonly #sql: Sql
  readonly #bus: ChangeBus
  readonly #log: Log
  readonly #streams = new Map<string, FollowedStream>()
  readonly #behind = new Set<FollowedStream>()
  readonly #positions: DataLoader<string, Position>
  readonly #stops: (() => void)[]
  #isHealing = false
  #isClosed = false

  constructor({ sql, bus, log }: ChangeStreamsOptions) {
    this.#sql = sql
    this.#bus = bus
    this.#log = log
    this.#positions = new DataLoader((names) => readPositions(sql, names), {
      cache: false,
      maxBatchSize: MAX_STREAMS,
      batchScheduleFn: setImmediate,
    })
    const onInterruption = () => {
      for (const stream of this.#streams.values()) this.#fallBehind(stream)
    }
    const onMessage = (topic: string, content: unknown) => {
      if (topic === TOPIC) this.#pass(content as Passing)
    }
    const stopListening = bus.subscribe({
      onChanges: (changes) => changes.forEach(this.#take),
      onInterruption,
      onMessage,
    })
    this.#stops = [stopListening, comparePositions(sql, this.#streams, this.#fallBehind)]
  }

  async follow(name: string, follower: StreamFollower): Promise<StreamSubscription> {
    const stream = this.#streams.get(name) ?? new FollowedStream(name, () => this.#positions.load(name))
    this.#streams.set(name, stream)
    const stop = () => {
      stream.remove(follower)
      if (stream.isIdle && this.#streams.get(name) === stream) this.#streams.delete(name)
    }
    try {
      const position = await stream.add(follower)
      if (stream.hasHole) this.#fallBehind(stream)
      return { position, stop }
    } catch (error) {
      stop()
      throw error
    }
  }

  sendEphemeral(stream: string, event: EphemeralEvent): void {
    this.#pass({ stream, event })
    void this.#bus.broadcast(TOPIC, { stream, event } satisfies Passing)
  }

  counts() {
    return { streams: this.#streams.size, behind: this.#behind.size }
  }

  close(): void {
    this.#isClosed = true
    for (const stop of this.#stops) stop()
  }

  #pass({ stream, event }: Passing): void {
    this.#streams.get(stream)?.pass(event)
  }

  #take = (change: Parameters<FollowedStream['take']>[0]): void => {
    const stream = this.#streams.get(change.stream)
    if (stream && !stream.take(change)) this.#fallBehind(stream)
  }

  #fallBehind = (stream: FollowedStream): void => {
    this.#behind.add(stream)
    if (!this.#isHealing) void this.#heal()
  }

  async #heal(): Promise<void> {
    this.#isHealing = true
    // What comes in one turn of the event loop is read together.
    await new Promise(setImmediate)
    while (this.#behind.size > 0 && !this.#isClosed) {
      const isRead = await this.#readBehind().catch((error: unknown) => {
        this.#log.warn({ error, streams: this.#behind.size }, 'the change log could not be read')
        return false
      })
      if (!isRead) await new Promise((done) => setTimeout(done, RETRY_MS).unref())
    }
    this.#isHealing = false
  }

  async #readBehind(): Promise<true> {
    const asked = this.#nextBehind()
    if (asked.size === 0) return true
    const seqs = [...asked.values()].map(({ seq }) => seq)
    for (const { stream: name, ...read } of await this.#sql(findChangesOfStreams, [
      [...asked.keys()],
      seqs,
      MAX_CHANGES,
    ])) {
      const { stream, seq = 0 } = asked.get(name) ?? {}
      if (stream?.catchUp(seq, read)) this.#behind.delete(stream)
    }
    return true
  }

  /** Those that have missed something, each with its last number. One that has no position yet has missed nothing. */
  #nextBehind(): Map<string, { stream: FollowedStream; seq: number }> {
    const asked = new Map<string, { stream: FollowedStream; seq: number }>()
    for (const stream of this.#behind) {
      if (asked.size === MAX_STREAMS) break
      if (stream.position && !stream.isIdle) asked.set(stream.name, { stream, seq: stream.position.seq })
      else this.#behind.delete(stream)
    }
    return asked
  }
}

async function readPositions(sql: Sql, names: readonly string[]): Promise<Position[]> {
  const found = await sql(findPositions, [names])
  const known = new Map(found.map(({ stream, epoch, seq }) => [stream, { epoch, seq }]))
  return names.map((name) => known.get(name) as Position)
}

/** How often positions are compared with the log, in milliseconds: whoever wrote a change may have been killed before telling it. */
const INTERVAL_MS = 800

/** Streams that one statement compares. */
const MAX_POSITIONS = 5000

/** Names the streams that have gone on unheard. Looks at all of them in turn, so many at a time; returns the way to stop. */
function comparePositions(
  sql: Sql,
  streams: ReadonlyMap<string, FollowedStream>,
  onBehind: (stream: FollowedStream) => void,
): () => void {
  let next = 0
  let isRunning = false
  const compare = async () => {
    const all = [...streams.values()]
    if (next >= all.length) next = 0
    const some = all.slice(next, next + MAX_POSITIONS)
    next += MAX_POSITIONS
    for (const stream of await findBehind(sql, some)) onBehind(stream)
  }
  const timer = setInterval(async () => {
    if (isRunning) return
    isRunning = true
    // While the database is away there is nothing to compare with.
    await compare().catch(() => {})
    isRunning = false
  }, INTERVAL_MS).unref()
  return () => clearInterval(timer)
}

async function findBehind(sql: Sql, streams: readonly FollowedStream[]): Promise<FollowedStream[]> {
  const begun = streams.filter(({ position }) => position)
  if (begun.length === 0) return []
  const values = [begun.map(({ name }) => name), begun.map(({ position }) => position?.seq)]
  const [found] = await sql(findStreamsAhead, values)
  const ahead = new Set(found?.ahead)
  return begun.filter(({ name, position }) => ahead.has(name) || position?.epoch !== found?.epoch)
}

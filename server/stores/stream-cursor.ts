import type { ChangesOfStream, LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { EphemeralEvent, Position, StreamFollower } from '../../routers/ports/change-streams.ts'

/** Largest number of changes that wait behind a gap; further ones are read from the log. */
const MAX_WAITING = 200

type LogRead = Omit<ChangesOfStream, 'stream'>

/** The position in one stream and its followers. Delivers each change once, in the order of the log. */
export class StreamCursor {
  readonly name: string
  position: Position | undefined
  readonly #followers = new Set<StreamFollower>()
  readonly #readPosition: () => Promise<Position>
  #starting: Promise<void> | undefined
  /** Number of followers that wait for the position. */
  #pending = 0
  /** Changes that arrived before the position was known, or behind a gap. */
  #waiting: LoggedChange[] = []

  constructor(name: string, readPosition: () => Promise<Position>) {
    this.name = name
    this.#readPosition = readPosition
  }

  get isIdle(): boolean {
    return this.#followers.size + this.#pending === 0
  }

  get hasGap(): boolean {
    return this.#waiting.length > 0
  }

  /** Adds a follower; resolves with the position after which it receives every change. */
  async add(follower: StreamFollower): Promise<Position> {
    this.#pending += 1
    try {
      this.#starting ??= this.#start()
      await this.#starting
      this.#followers.add(follower)
      return this.position as Position
    } finally {
      this.#pending -= 1
    }
  }

  remove(follower: StreamFollower): void {
    this.#followers.delete(follower)
  }

  emit(event: EphemeralEvent): void {
    for (const follower of this.#followers) follower.onEphemeral?.(event)
  }

  async #start(): Promise<void> {
    try {
      this.position = await this.#readPosition()
      this.#deliverWaiting()
    } catch (error) {
      this.#starting = undefined
      throw error
    }
  }

  /** Accepts a change from the bus; returns false if earlier changes are missing. */
  accept(change: LoggedChange): boolean {
    if (!this.position) {
      this.#keep(change)
      return true
    }
    if (change.epoch === this.position.epoch && change.seq <= this.position.seq) return true
    if (!this.#isNext(change)) {
      this.#keep(change)
      return false
    }
    this.#deliver(change)
    this.#deliverWaiting()
    return true
  }

  /** Accepts changes that were read from the log after a sequence number; returns whether the stream is complete now. */
  replay(after: number, { epoch, seq, changes }: LogRead): boolean {
    if (!this.position) return true
    const isContiguous =
      epoch === this.position.epoch && (changes[0] ? changes[0].seq <= after + 1 : seq <= this.position.seq)
    if (!isContiguous) return this.#reset({ epoch, seq })
    this.#waiting = this.#waiting.filter((change) => change.epoch === epoch)
    for (const change of changes) {
      const fullChange = { stream: this.name, epoch, ...change }
      if (this.#isNext(fullChange)) this.#deliver(fullChange)
    }
    this.#deliverWaiting()
    return this.position.seq >= seq && !this.hasGap
  }

  #isNext({ epoch, seq }: LoggedChange): boolean {
    return epoch === this.position?.epoch && seq === this.position.seq + 1
  }

  #keep(change: LoggedChange): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(change)
  }

  #deliverWaiting(): void {
    const waiting = this.#waiting.sort((one, other) => one.seq - other.seq)
    this.#waiting = []
    for (const change of waiting) {
      if (this.#isNext(change)) this.#deliver(change)
      else if (this.position && (change.epoch !== this.position.epoch || change.seq > this.position.seq))
        this.#waiting.push(change)
    }
  }

  #deliver(change: LoggedChange): void {
    this.position = { epoch: change.epoch, seq: change.seq }
    for (const follower of this.#followers) follower.onChange(change)
  }

  #reset(position: Position): true {
    this.position = position
    this.#waiting = []
    for (const follower of this.#followers) follower.onPositionLost(position)
    return true
  }
}

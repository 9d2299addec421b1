import type { ChangesOfStream, LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { EphemeralEvent, Position, StreamFollower } from '../../routers/ports/change-streams.ts'

/** More changes than this behind a hole are not kept: they are read from the log. */
const MAX_WAITING = 200

type Read = Omit<ChangesOfStream, 'stream'>

/** One stream and those who follow it: hands on each change once, in the order of the log. */
export class FollowedStream {
  readonly name: string
  position: Position | undefined
  readonly #followers = new Set<StreamFollower>()
  readonly #readPosition: () => Promise<Position>
  #starting: Promise<void> | undefined
  /** Those who wait for the position. */
  #beginners = 0
  /** What came before the position was known, or behind a hole. */
  #waiting: LoggedChange[] = []

  constructor(name: string, readPosition: () => Promise<Position>) {
    this.name = name
    this.#readPosition = readPosition
  }

  get isIdle(): boolean {
    return this.#followers.size + this.#beginners === 0
  }

  get hasHole(): boolean {
    return this.#waiting.length > 0
  }

  /** Resolves with the position behind which the follower hears everything. */
  async add(follower: StreamFollower): Promise<Position> {
    this.#beginners += 1
    try {
      this.#starting ??= this.#start()
      await this.#starting
      this.#followers.add(follower)
      return this.position as Position
    } finally {
      this.#beginners -= 1
    }
  }

  remove(follower: StreamFollower): void {
    this.#followers.delete(follower)
  }

  pass(event: EphemeralEvent): void {
    for (const follower of this.#followers) follower.onEphemeral?.(event)
  }

  async #start(): Promise<void> {
    try {
      this.position = await this.#readPosition()
      this.#takeWaiting()
    } catch (error) {
      this.#starting = undefined
      throw error
    }
  }

  /** Takes what the bus brings; returns false where something before it is missing. */
  take(change: LoggedChange): boolean {
    if (!this.position) {
      this.#keep(change)
      return true
    }
    if (change.epoch === this.position.epoch && change.seq <= this.position.seq) return true
    if (!this.#isNext(change)) {
      this.#keep(change)
      return false
    }
    this.#handOn(change)
    this.#takeWaiting()
    return true
  }

  /** Takes what was read from the log behind a number; returns whether nothing is missing any more. */
  catchUp(after: number, { epoch, seq, changes }: Read): boolean {
    if (!this.position) return true
    const isKnown =
      epoch === this.position.epoch && (changes[0] ? changes[0].seq <= after + 1 : seq <= this.position.seq)
    if (!isKnown) return this.#move({ epoch, seq })
    this.#waiting = this.#waiting.filter((change) => change.epoch === epoch)
    for (const change of changes) {
      const whole = { stream: this.name, epoch, ...change }
      if (this.#isNext(whole)) this.#handOn(whole)
    }
    this.#takeWaiting()
    return this.position.seq >= seq && !this.hasHole
  }

  #isNext({ epoch, seq }: LoggedChange): boolean {
    return epoch === this.position?.epoch && seq === this.position.seq + 1
  }

  #keep(change: LoggedChange): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(change)
  }

  #takeWaiting(): void {
    const waiting = this.#waiting.sort((one, other) => one.seq - other.seq)
    this.#waiting = []
    for (const change of waiting) {
      if (this.#isNext(change)) this.#handOn(change)
      else if (this.position && (change.epoch !== this.position.epoch || change.seq > this.position.seq))
        this.#waiting.push(change)
    }
  }

  #handOn(change: LoggedChange): void {
    this.position = { epoch: change.epoch, seq: change.seq }
    for (const follower of this.#followers) follower.onChange(change)
  }

  #move(position: Position): true {
    this.position = position
    this.#waiting = []
    for (const follower of this.#followers) follower.onPositionLost(position)
    return true
  }
}

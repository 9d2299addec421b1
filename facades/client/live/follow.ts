import type { Changes, ChangesSince } from './service.ts'
import {
  type Change,
  retryDelay as defaultRetryDelay,
  epochOf,
  isAhead,
  type Listener,
  nextPosition,
  type PassingEvent,
  type Position,
  pause,
  StreamEnded,
  seqOf,
  type Transport,
} from './transport.ts'

/** The largest number of buffered changes; more are read from the service. */
const MAX_WAITING = 1000

export interface FollowOptions {
  transport: Transport
  changesSince: ChangesSince
  /** Reads the whole state; may be called again at any time. */
  read: (signal: AbortSignal) => unknown
  /** Applies one change by reading what it names. It is retried if it fails. */
  apply: (change: Change, signal: AbortSignal) => unknown
  /** Receives passing events, at once and independent of the changes. */
  passed?: (event: PassingEvent) => void
  /** Called when the stream has ended for good. */
  ended?: (reason: StreamEnded) => void
  retryDelay?: typeof defaultRetryDelay
}

/**
 * Follows a stream without losing changes: it subscribes, reads the state, and applies buffered changes. After a gap or
 * a reconnect it reads the missed changes, or the whole state if they are no longer kept.
 */
export function follow(options: FollowOptions): LiveStream {
  const stream = new LiveStream(options)
  stream.start()
  return stream
}

class LiveStream implements Listener {
  readonly #options: FollowOptions
  readonly #stopped = new AbortController()
  readonly #waiting = new Map<Position, Change>()
  /** The position up to which all changes are applied. */
  #position: Position | undefined
  /** The newest known position. */
  #latest: Position | undefined
  #hasRead = false
  /** True if the service has more changes than it returned. */
  #hasMore = false
  #wake = () => {}
  #onCurrent: (() => void)[] = []
  #stop = () => {}

  constructor(options: FollowOptions) {
    this.#options = options
  }

  /** Returns the position up to which all changes are applied; undefined before the first read. */
  get position(): Position | undefined {
    return this.#hasRead ? this.#position : undefined
  }

  /** Returns true if all known changes are applied. */
  get isCurrent(): boolean {
    return this.#hasRead && !this.#hasMore && this.#position === this.#latest
  }

  /** Resolves once all known changes are applied, or the stream has stopped. */
  whenCurrent(): Promise<void> {
    if (this.isCurrent || this.#stopped.signal.aborted) return Promise.resolve()
    return new Promise((resolve) => this.#onCurrent.push(resolve))
  }

  start(): void {
    this.#stop = this.#options.transport.listen(this)
    if (this.#stopped.signal.aborted) this.#stop()
    void this.#run()
  }

  stop(): void {
    this.#stopped.abort()
    this.#stop()
    this.#wake()
    this.#resolveCurrent()
  }

  subscribed(position: Position): void {
    this.#recordLatest(position)
  }

  changed(position: Position, change: Change): void {
    if (this.#position && !isAhead(position, this.#position)) return
    if (this.#waiting.size < MAX_WAITING) this.#waiting.set(position, change)
    this.#recordLatest(position)
  }

  passed(event: PassingEvent): void {
    if (!this.#stopped.signal.aborted) this.#options.passed?.(event)
  }

  ended(reason: StreamEnded): void {
    if (this.#stopped.signal.aborted) return
    this.stop()
    this.#options.ended?.(reason)
  }

  #recordLatest(position: Position): void {
    if (!this.#latest || isAhead(position, this.#latest)) this.#latest = position
    this.#wake()
  }

  /** Runs one step at a time, so that changes are applied in order. */
  async #run(): Promise<void> {
    const { signal } = this.#stopped
    const { retryDelay = defaultRetryDelay } = this.#options
    let attempt = 0
    while (!signal.aborted) {
      try {
        await this.#step(signal)
        attempt = 0
      } catch (error) {
        if (error instanceof StreamEnded) return this.ended(error)
        attempt += 1
        await pause(retryDelay(attempt), signal)
      }
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    this.#position ??= this.#latest
    if (!this.#position || !this.#latest) return this.#sleep()
    if (!this.#hasRead) return this.#readAnew(signal)
    const next = this.#waiting.get(nextPosition(this.#position))
    if (next) return this.#apply(next, signal)
    if (this.#hasMore || this.#position !== this.#latest) return this.#catchUp(this.#position, this.#latest, signal)
    this.#resolveCurrent()
    return this.#sleep()
  }

  async #readAnew(signal: AbortSignal): Promise<void> {
    await this.#options.read(signal)
    this.#hasRead = true
  }

  async #apply(change: Change, signal: AbortSignal): Promise<void> {
    const next = nextPosition(this.#position ?? '')
    await this.#options.apply(change, signal)
    this.#waiting.delete(next)
    this.#position = next
    if (this.#latest && epochOf(this.#latest) === epochOf(next) && seqOf(this.#latest) < seqOf(next))
      this.#latest = next
  }

  async #catchUp(from: Position, latest: Position, signal: AbortSignal): Promise<void> {
    const found = await this.#options.changesSince(from, signal)
    if ('beginAt' in found) this.#beginAt(found.beginAt, latest)
    else await this.#applyAll(found, latest, signal)
    for (const position of this.#waiting.keys())
      if (this.#position && !isAhead(position, this.#position)) this.#waiting.delete(position)
  }

  #beginAt(position: Position, latest: Position): void {
    this.#position = position
    this.#hasRead = false
    this.#hasMore = false
    this.#waiting.clear()
    // Changes that arrived meanwhile are read again.
    if (this.#latest === latest) this.#latest = position
  }

  async #applyAll({ changes, position, hasMore }: Changes, latest: Position, signal: AbortSignal): Promise<void> {
    for (const change of changes) await this.#apply(change, signal)
    this.#position = position
    this.#hasMore = hasMore
    // Only changes in the log have happened.
    if (!hasMore && this.#latest === latest) this.#latest = position
  }

  async #sleep(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      if (this.#stopped.signal.aborted) resolve()
    })
  }

  #resolveCurrent(): void {
    for (const resolve of this.#onCurrent.splice(0)) resolve()
  }
}

export type { LiveStream }

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

/** Changes that are kept while something before them is read; what is more is read from the service. */
const MAX_WAITING = 1000

export interface FollowOptions {
  transport: Transport
  changesSince: ChangesSince
  /** Reads everything anew, in place of what is known; may be called again at any time. */
  read: (signal: AbortSignal) => unknown
  /** Applies one change: reads what it names, and keeps or drops it. Is called again where it fails. */
  apply: (change: Change, signal: AbortSignal) => unknown
  /** Takes what is told in passing, at once and beside all changes. */
  passed?: (event: PassingEvent) => void
  /** Takes that there is nothing to follow any more. */
  ended?: (reason: StreamEnded) => void
  retryDelay?: typeof defaultRetryDelay
}

/**
 * Follows a stream so that nothing is lost, whatever its transport loses: it subscribes first, then reads, and applies what
 * came meanwhile. Behind a hole and after a reconnect it reads the changes since, and where those are not known any more
 * everything anew.
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
  /** Up to where everything is applied. */
  #position: Position | undefined
  /** Up to where something is known to have happened. */
  #latest: Position | undefined
  #hasRead = false
  /** Whether the service has more changes than it told at once. */
  #hasMore = false
  #wake = () => {}
  #onCurrent: (() => void)[] = []
  #stop = () => {}

  constructor(options: FollowOptions) {
    this.#options = options
  }

  /** Up to where everything is applied; undefined before the first read. */
  get position(): Position | undefined {
    return this.#hasRead ? this.#position : undefined
  }

  /** Whether everything is applied that was heard of. */
  get isCurrent(): boolean {
    return this.#hasRead && !this.#hasMore && this.#position === this.#latest
  }

  /** Resolves once everything is applied that was heard of, or nothing more will be. */
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

  /** One step after the other, so that changes are applied in their order. */
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
    // Whatever came while it was read is asked for again.
    if (this.#latest === latest) this.#latest = position
  }

  async #applyAll({ changes, position, hasMore }: Changes, latest: Position, signal: AbortSignal): Promise<void> {
    for (const change of changes) await this.#apply(change, signal)
    this.#position = position
    this.#hasMore = hasMore
    // The log is the truth: what is not in it has not happened.
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

import { BulkheadRejectedError, bulkhead } from 'cockatiel'
import { type ErrorCode, Problem } from '../problems.ts'

interface SemaphoreLimits {
  /** Concurrent calls per key. */
  perKey: number
  /** Waiting calls per key. */
  maxWaiting: number
  maxWaitMs: number
  /** Error for calls beyond the limits. */
  refusal: ErrorCode
}

/** Calls of one key: the number of running calls, and the waiting ones in order of arrival. */
interface Queue {
  working: number
  waiting: Set<() => void>
}

/** Limits concurrent calls per key. Waiting calls hold no database connection. */
export class KeyedSemaphore {
  readonly #limits: SemaphoreLimits
  readonly #queues = new Map<string, Queue>()

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits
  }

  /** Acquires a turn, which disposing releases. `goneSignal` is called only if the call has to wait. */
  acquire(key: string, goneSignal?: () => AbortSignal): Disposable | Promise<Disposable> {
    const queue = this.#queues.get(key) ?? { working: 0, waiting: new Set() }
    this.#queues.set(key, queue)
    if (queue.working >= this.#limits.perKey) return this.#wait(key, queue, goneSignal?.())
    queue.working += 1
    return this.#turn(key, queue)
  }

  /** Passes a released turn to the call that has waited longest. */
  #turn(key: string, queue: Queue): Disposable {
    return {
      [Symbol.dispose]: () => {
        const [next] = queue.waiting
        if (next) return next()
        queue.working -= 1
        if (queue.working === 0) this.#queues.delete(key)
      },
    }
  }

  #wait(key: string, queue: Queue, gone: AbortSignal | undefined): Promise<Disposable> {
    const { maxWaiting, maxWaitMs, refusal } = this.#limits
    if (gone?.aborted) throw new Problem('client_gone')
    if (queue.waiting.size >= maxWaiting) throw new Problem(refusal)
    const { promise, resolve, reject } = Promise.withResolvers<Disposable>()
    const leave = () => {
      queue.waiting.delete(begin)
      clearTimeout(timer)
      gone?.removeEventListener('abort', end)
    }
    const begin = () => {
      leave()
      resolve(this.#turn(key, queue))
    }
    const end = () => {
      leave()
      reject(new Problem(gone?.aborted ? 'client_gone' : refusal))
    }
    const timer = setTimeout(end, maxWaitMs)
    gone?.addEventListener('abort', end, { once: true })
    queue.waiting.add(begin)
    return promise
  }
}

interface InFlightLimits {
  perKey: number
  inAll: number
}

/** Counts calls or bytes in progress, in all and per key, and refuses more than the limits allow. */
export class InFlightLimiter {
  readonly #limits: InFlightLimits
  readonly #counts = new Map<string, number>()
  #total = 0

  constructor(limits: InFlightLimits) {
    this.#limits = limits
  }

  get total(): number {
    return this.#total
  }

  /** Acquires one or several slots, which disposing releases. */
  acquire(key: string, count = 1): Disposable {
    const current = this.#counts.get(key) ?? 0
    if (current + count > this.#limits.perKey) throw new Problem('too_many_requests')
    if (this.#total + count > this.#limits.inAll) throw new Problem('busy')
    this.#counts.set(key, current + count)
    this.#total += count
    return { [Symbol.dispose]: () => this.#release(key, count) }
  }

  #release(key: string, count: number): void {
    const left = (this.#counts.get(key) ?? 0) - count
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
    this.#total -= count
  }
}

export type Bulkhead = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Runs at most `running` tasks at a time, queues at most `waiting` more, and refuses the rest. */
export function createBulkhead(running: number, waiting: number): Bulkhead {
  const policy = bulkhead(running, waiting)
  return (work) =>
    policy.execute(work).catch((error: unknown) => {
      throw error instanceof BulkheadRejectedError ? new Problem('busy', { cause: error }) : error
    })
}

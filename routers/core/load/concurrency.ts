import { BulkheadRejectedError, bulkhead } from 'cockatiel'
import { type ErrorCode, Problem } from '../problems.ts'

interface SemaphoreLimits {
  /** Calls of one key that work at the same time. */
  perKey: number
  /** Calls of one key that wait. */
  maxWaiting: number
  maxWaitMs: number
  /** What a call is told that is one too many, or waited too long. */
  refusal: ErrorCode
}

/** The calls of one key: how many work, and those that wait, in the order in which they came. */
interface Queue {
  working: number
  waiting: Set<() => void>
}

/** Lets a few calls of each key work at the same time. The others wait here, and so on no connection that others need. */
export class KeyedSemaphore {
  readonly #limits: SemaphoreLimits
  readonly #queues = new Map<string, Queue>()

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits
  }

  /** Takes a turn until it is disposed of; at once where there is room. `goneSignal` is asked for where it has to wait. */
  acquire(key: string, goneSignal?: () => AbortSignal): Disposable | Promise<Disposable> {
    const queue = this.#queues.get(key) ?? { working: 0, waiting: new Set() }
    this.#queues.set(key, queue)
    if (queue.working >= this.#limits.perKey) return this.#wait(key, queue, goneSignal?.())
    queue.working += 1
    return this.#turn(key, queue)
  }

  /** A turn that ends is handed to the call that has waited longest. */
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

/** Counts what is under way, in all and by key, and refuses more than the limits allow: calls, or bytes that they hold. */
export class InFlightLimiter {
  readonly #limits: InFlightLimits
  readonly #taken = new Map<string, number>()
  #total = 0

  constructor(limits: InFlightLimits) {
    this.#limits = limits
  }

  get total(): number {
    return this.#total
  }

  /** Takes a slot, or so many, until it is disposed of. */
  acquire(key: string, count = 1): Disposable {
    const taken = this.#taken.get(key) ?? 0
    if (taken + count > this.#limits.perKey) throw new Problem('too_many_requests')
    if (this.#total + count > this.#limits.inAll) throw new Problem('busy')
    this.#taken.set(key, taken + count)
    this.#total += count
    return { [Symbol.dispose]: () => this.#release(key, count) }
  }

  #release(key: string, count: number): void {
    const left = (this.#taken.get(key) ?? 0) - count
    if (left > 0) this.#taken.set(key, left)
    else this.#taken.delete(key)
    this.#total -= count
  }
}

export type Bulkhead = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Runs at most `running` pieces of work at a time, while at most `waiting` more wait their turn; refuses any beyond. */
export function createBulkhead(running: number, waiting: number): Bulkhead {
  const policy = bulkhead(running, waiting)
  return (work) =>
    policy.execute(work).catch((error: unknown) => {
      throw error instanceof BulkheadRejectedError ? new Problem('busy', { cause: error }) : error
    })
}

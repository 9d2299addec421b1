import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../routers/core/load/cache-size.ts'
import type { Log } from '../../routers/ports/log.ts'

interface BatchWriterOptions<Item> {
  name: string
  write(items: Item[]): Promise<unknown>
  log: Log
  /** Milliseconds for which items are collected before a write. */
  delayMs: number
  /** Largest number of waiting items; while the database is unavailable, the oldest ones beyond it are dropped. */
  maxWaiting?: number
}

const RETRY_MS = 1000

/** Attempts after which a rejected item is dropped. A second attempt helps if a referenced row has just been deleted. */
const MAX_TRIES = 3

/** PostgreSQL's error codes for invalid data, violated constraints, and exceptions raised by triggers. */
const refusalCodes = /^(22|23|P0)\w{3}$/

const isRefused = (error: unknown) => refusalCodes.test(String((error as { code?: unknown }).code))

interface FailedWrite<Item> {
  items: Item[]
  error: unknown
}

/** Writes items; if the database rejects them, writes each half alone, so that one bad item does not block the others. */
async function writeInHalves<Item>(
  items: Item[],
  write: BatchWriterOptions<Item>['write'],
): Promise<FailedWrite<Item>[]> {
  try {
    await write(items)
    return []
  } catch (error) {
    if (items.length === 1 || !isRefused(error)) return [{ items, error }]
    const middle = Math.floor(items.length / 2)
    return [
      ...(await writeInHalves(items.slice(0, middle), write)),
      ...(await writeInHalves(items.slice(middle), write)),
    ]
  }
}

/** Returns a function that counts an attempt of an item, and tells whether it was the last one. */
function createTryCounter<Item extends number | object>(): (item: Item) => boolean {
  const tries = new LRUCache<Item, number>(maxEntries(10_000))
  return (item) => {
    const count = (tries.get(item) ?? 0) + 1
    tries.set(item, count)
    return count >= MAX_TRIES
  }
}

/** Collects items and writes them in the background, after the responses. Each write takes all items that arrived during the last one. */
export class BatchWriter<Item extends number | object> {
  #waiting: Item[] = []
  #writing: Item[] = []
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #isLastTry = createTryCounter<Item>()
  readonly #options: BatchWriterOptions<Item>

  constructor(options: BatchWriterOptions<Item>) {
    this.#options = options
  }

  /** The items that wait or are being written. */
  get unwritten(): readonly Item[] {
    return [...this.#writing, ...this.#waiting]
  }

  add(item: Item): void {
    this.#waiting.push(item)
    if (!this.#running) this.#schedule(this.#options.delayMs)
  }

  /** Waits until all items are written; after a last failed attempt it gives up and logs that. */
  async flush(): Promise<void> {
    await this.#running
    await this.#run()
    if (this.#waiting.length > 0) await this.#run()
  }

  #schedule(delay: number): void {
    this.#timer ??= setTimeout(() => void this.#run(), delay).unref()
  }

  #run(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running ??= this.#writeAll().finally(() => {
      this.#running = undefined
      if (this.#waiting.length > 0) this.#schedule(this.#options.delayMs)
    })
    return this.#running
  }

  async #writeAll(): Promise<void> {
    const { name, write, log } = this.#options
    const items = this.#waiting
    this.#waiting = []
    if (items.length === 0) return
    this.#writing = items
    for (const { items: failed, error } of await writeInHalves(items, write)) {
      if (isRefused(error) && failed.every(this.#isLastTry))
        log.error({ name, error }, 'an item cannot be written, and is dropped')
      else this.#putBack(failed, error)
    }
    this.#writing = []
  }

  #putBack(items: Item[], error: unknown): void {
    const { name, log, maxWaiting = 100_000 } = this.#options
    const dropped = Math.max(0, items.length + this.#waiting.length - maxWaiting)
    this.#waiting = [...items, ...this.#waiting].slice(dropped)
    log.error({ name, waiting: this.#waiting.length, dropped, error }, 'a batch could not be written')
    this.#schedule(RETRY_MS)
  }
}

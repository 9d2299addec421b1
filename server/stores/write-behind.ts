import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../routers/core/load/cache-size.ts'
import type { Log } from '../../routers/ports/log.ts'

interface BatchOptions<Item> {
  name: string
  write(items: Item[]): Promise<unknown>
  log: Log
  /** How long to gather before a write, in milliseconds. */
  gather: number
  /** What is more than this is dropped while the database is away, oldest first. */
  most?: number
}

const RETRY_AFTER = 1000

/** After so many tries an item that the database refuses is dropped; a second one helps where a row it names was just deleted. */
const MAX_TRIES = 3

/** What PostgreSQL says of values: out of range, against a constraint, refused by a trigger. */
const refusals = /^(22|23|P0)\w{3}$/

const isRefused = (error: unknown) => refusals.test(String((error as { code?: unknown }).code))

interface Failure<Item> {
  items: Item[]
  error: unknown
}

/** Of what the database refuses, writes one half after the other, so that a single bad item keeps no other back. */
async function writeApart<Item>(items: Item[], write: BatchOptions<Item>['write']): Promise<Failure<Item>[]> {
  try {
    await write(items)
    return []
  } catch (error) {
    if (items.length === 1 || !isRefused(error)) return [{ items, error }]
    const middle = items.length >> 1
    return [...(await writeApart(items.slice(0, middle), write)), ...(await writeApart(items.slice(middle), write))]
  }
}

/** Whether this was the last try of an item. */
function countTries<Item extends number | object>(): (item: Item) => boolean {
  const tries = new LRUCache<Item, number>(maxEntries(10_000))
  return (item) => {
    const tried = (tries.get(item) ?? 0) + 1
    tries.set(item, tried)
    return tried >= MAX_TRIES
  }
}

/** Collects items and writes them behind the answers: one write at a time takes all that came during the last. */
export class Batch<Item extends number | object> {
  #waiting: Item[] = []
  #writing: Item[] = []
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #isLastTry = countTries<Item>()
  readonly #options: BatchOptions<Item>

  constructor(options: BatchOptions<Item>) {
    this.#options = options
  }

  /** Those that wait, and those that are being written. */
  get unwritten(): readonly Item[] {
    return [...this.#writing, ...this.#waiting]
  }

  add(item: Item): void {
    this.#waiting.push(item)
    if (!this.#running) this.#plan(this.#options.gather)
  }

  /** Waits until nothing is left to write; gives up, and says so in the log, after a last failed try. */
  async flush(): Promise<void> {
    await this.#running
    await this.#run()
    if (this.#waiting.length > 0) await this.#run()
  }

  #plan(delay: number): void {
    this.#timer ??= setTimeout(() => void this.#run(), delay).unref()
  }

  #run(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running ??= this.#writeAll().finally(() => {
      this.#running = undefined
      if (this.#waiting.length > 0) this.#plan(this.#options.gather)
    })
    return this.#running
  }

  async #writeAll(): Promise<void> {
    const { name, write, log } = this.#options
    const items = this.#waiting
    this.#waiting = []
    if (items.length === 0) return
    this.#writing = items
    for (const { items: failed, error } of await writeApart(items, write)) {
      if (isRefused(error) && failed.every(this.#isLastTry))
        log.error({ name, error }, 'an item cannot be written, and is dropped')
      else this.#putBack(failed, error)
    }
    this.#writing = []
  }

  #putBack(items: Item[], error: unknown): void {
    const { name, log, most = 100_000 } = this.#options
    const dropped = Math.max(0, items.length + this.#waiting.length - most)
    this.#waiting = [...items, ...this.#waiting].slice(dropped)
    log.error({ name, waiting: this.#waiting.length, dropped, error }, 'a batch could not be written')
    this.#plan(RETRY_AFTER)
  }
}

import { LRUCache } from 'lru-cache'
import { atMost } from '../../routers/core/load/cache-size.ts'
import type { Log } from '../../routers/ports/log.ts'

/** Collects items and writes them behind the answers: one write at a time takes all that came during the last. */
export interface Batch<Item> {
  add(item: Item): void
  /** Waits until nothing is left to write; gives up, and says so in the log, after a last failed try. */
  flush(): Promise<void>
}

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
  const tries = new LRUCache<Item, number>(atMost(10_000))
  return (item) => {
    const tried = (tries.get(item) ?? 0) + 1
    tries.set(item, tried)
    return tried >= MAX_TRIES
  }
}

export function createBatch<Item extends number | object>({
  name,
  write,
  log,
  gather,
  most = 100_000,
}: BatchOptions<Item>): Batch<Item> {
  let waiting: Item[] = []
  const isLastTry = countTries<Item>()
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const plan = (delay: number) => {
    timer ??= setTimeout(() => void run(), delay).unref()
  }

  function run(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    running ??= writeAll().finally(() => {
      running = undefined
      if (waiting.length > 0) plan(gather)
    })
    return running
  }

  async function writeAll(): Promise<void> {
    const items = waiting
    waiting = []
    if (items.length === 0) return
    for (const { items: failed, error } of await writeApart(items, write)) {
      if (isRefused(error) && failed.every(isLastTry))
        log.error({ name, error }, 'an item cannot be written, and is dropped')
      else putBack(failed, error)
    }
  }

  function putBack(items: Item[], error: unknown): void {
    const dropped = Math.max(0, items.length + waiting.length - most)
    waiting = [...items, ...waiting].slice(dropped)
    log.error({ name, waiting: waiting.length, dropped, error }, 'a batch could not be written')
    plan(RETRY_AFTER)
  }

  return {
    add(item) {
      waiting.push(item)
      if (!running) plan(gather)
    },
    async flush() {
      await running
      await run()
      if (waiting.length > 0) await run()
    },
  }
}

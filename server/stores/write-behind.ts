import { isOutage } from '../../routers/core/outage.ts'
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

export function createBatch<Item>({ name, write, log, gather, most = 100_000 }: BatchOptions<Item>): Batch<Item> {
  let waiting: Item[] = []
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
    await writeApart(items)
  }

  /** Of what the database refuses, writes one half after the other, so that a single bad item keeps no other back. */
  async function writeApart(items: Item[]): Promise<void> {
    try {
      await write(items)
    } catch (error) {
      if (isOutage(error)) return putBack(items, error)
      if (items.length === 1) return log.error({ name, error }, 'an item cannot be written, and is dropped')
      const middle = items.length >> 1
      await writeApart(items.slice(0, middle))
      await writeApart(items.slice(middle))
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

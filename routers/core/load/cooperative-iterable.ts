import { setImmediate } from 'node:timers/promises'

/** Milliseconds for which an iteration may hold the event loop. */
const SLICE_MS = 5

/** Iterates over what takes long to compute, and lets other requests run every few milliseconds. */
export async function* cooperativeIterable<Item>(items: Iterable<Item>): AsyncGenerator<Item, void> {
  let end = performance.now() + SLICE_MS
  for (const item of items) {
    yield item
    if (performance.now() < end) continue
    await setImmediate()
    end = performance.now() + SLICE_MS
  }
}

import { setTimeout as pause } from 'node:timers/promises'

const SLICE_MS = 50

/** Does something with each of many, so many a second, or faster where that would take longer than it may. */
export async function inSlices<T>(all: readonly T[], perSecond: number, atMostMs: number, act: (one: T) => void) {
  const pace = Math.max(perSecond, (all.length * 1000) / Math.max(atMostMs, SLICE_MS))
  const perSlice = Math.ceil((pace * SLICE_MS) / 1000)
  for (let at = 0; at < all.length; at += perSlice) {
    if (at > 0) await pause((perSlice * 1000) / pace)
    all.slice(at, at + perSlice).forEach(act)
  }
}

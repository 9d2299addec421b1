import type { Context } from './context.ts'
import { Problem } from './problems.ts'

/** What is left of a limit in the current window. */
export interface Allowance {
  limit: number
  remaining: number
  /** Seconds until the full limit is there again. */
  resetSeconds: number
}

/** Counts atomically, over all replicas where Redis is configured. */
export interface RateLimiter {
  /** Takes one or several of `limit` a minute, or in another window; remaining is negative when there were not enough left. */
  take(key: string, limit: number, windowSeconds?: number, points?: number): Promise<Allowance>
  /** Gives back one that was taken. Limit and window are those it was taken with. */
  giveBack(key: string, limit: number, windowSeconds?: number): Promise<void>
  /** Starts the key's count anew. Limit and window are those it was taken with. */
  clear(key: string, limit: number, windowSeconds?: number): Promise<void>
}

/** Counts a call against each key and notes the tightest allowance for the answer's headers. */
export async function takeAllowance(ctx: Context, keys: readonly string[], limit: number): Promise<void> {
  const taken = await Promise.all(keys.map((key) => ctx.limiter.take(key, limit)))
  const tightest = taken.reduce((least, next) => (next.remaining < least.remaining ? next : least))
  ctx.notes.allowance = tightest
  if (tightest.remaining < 0) throw new Problem('too_many_requests')
}

import type { Context } from '../context.ts'
import { Problem } from '../problems.ts'

/** Counts a call against each key, and reports the tightest limit in the response headers. */
export async function consumeRateLimit(ctx: Context, keys: readonly string[], limit: number): Promise<void> {
  const statuses = await Promise.all(keys.map((key) => ctx.services.limits.limiter.consume(key, limit)))
  const tightest = statuses.reduce((least, next) => (next.remaining < least.remaining ? next : least))
  ctx.notes.setRateLimit(tightest)
  if (tightest.remaining < 0) throw new Problem('too_many_requests')
}

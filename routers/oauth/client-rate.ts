import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'

/** Counts a request of a program, which nobody has to be signed in for, against its network address. */
export const assertWithinRate = (ctx: Context): Promise<void> =>
  consumeRateLimit(ctx, [`oauth:${ctx.address ?? ''}`], ctx.services.settings.oauth.requestsPerMinute)

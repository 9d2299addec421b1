import type { Context } from '../core/context.ts'
import { toClientNetwork } from '../core/load/client-network.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'

/** Counts a request of a program, which nobody has to be signed in for, against its network. */
export const assertWithinRate = (ctx: Context): Promise<void> =>
  consumeRateLimit(ctx, [`oauth:${toClientNetwork(ctx.address ?? '')}`], ctx.services.settings.oauth.requestsPerMinute)

import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'

/** Counts what others see of a person: each change is told to all their rooms. */
export const consumeProfileChange = (ctx: Context, person: number): Promise<void> =>
  consumeRateLimit(ctx, [`profile:${person}`], ctx.services.settings.profileChangesPerMinute)

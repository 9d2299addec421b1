import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/rate-limit.ts'

/** What belongs to the request of somebody who asks a model. */
export type Asking = Context & { caller: Extract<Caller, { type: 'user' }> }

/** Each token and each person has an allowance a minute. */
export async function consumeAiQuota(ctx: Context): Promise<void> {
  const { current } = ctx.callerContext
  const limit = ctx.services.settings.aiRequestsPerMinute
  if (limit === 0 || current.type !== 'user') return
  const { person, token } = current
  await consumeRateLimit(ctx, [`ai:user:${person.id}`, ...(token ? [`ai:token:${token.id}`] : [])], limit)
}

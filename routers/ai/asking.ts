import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { Problem } from '../core/problems.ts'
import type { FindModel } from '../ports/ai/callable-models.ts'

/** What belongs to the request of somebody who asks a model. */
export type Asking = Context & { caller: Extract<Caller, { type: 'user' }> }

/**
 * Prepares a call, and reserves for it: by the model and the caller that this process has seen, or again by what the database says
 * of both.
 */
export const prepared = <Call>(ctx: Asking, work: (ctx: Asking, find: FindModel) => Promise<Call>): Promise<Call> =>
  ctx.services.callableModels.prepare(async (find, again) => work(again ? await confirmed(ctx) : ctx, find))

async function confirmed(ctx: Asking): Promise<Asking> {
  await ctx.callerContext.confirm()
  const { current: caller } = ctx.callerContext
  if (caller.type !== 'user') throw new Problem('signed_out')
  return { ...ctx, caller }
}

/** Whether the caller may have models answer in rooms at all: programs may where that is allowed. */
export const mayAskInRooms = ({ caller, services }: Asking): boolean =>
  caller.token === undefined || services.settings.allowProgramsInRooms

/** Each token and each person has an allowance a minute for questions, and as large a one for counts of tokens. */
export async function consumeAiQuota(ctx: Context, kind: 'ai' | 'ai-count' = 'ai'): Promise<void> {
  const limit = ctx.services.settings.aiRequestsPerMinute
  if (limit === 0) return
  // A token that was revoked uses up nothing of what its person may ask.
  await ctx.callerContext.confirm()
  const { current } = ctx.callerContext
  if (current.type !== 'user') return
  const { person, token } = current
  await consumeRateLimit(ctx, [`${kind}:user:${person.id}`, ...(token ? [`${kind}:token:${token.id}`] : [])], limit)
}

/** The same for a question that may be prepared more than once. */
export function aiQuotaOnce(ctx: Context): () => Promise<void> {
  let consumed: Promise<void> | undefined
  return () => {
    consumed ??= consumeAiQuota(ctx)
    return consumed
  }
}

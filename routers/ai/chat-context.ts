import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import type { FindModel } from '../ports/ai/callable-models.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { listUsableGroups } from '../verbs/viewer.ts'

/** What belongs to the request of somebody who asks a model. */
export type ChatContext = Context & { caller: Extract<Caller, { type: 'user' }> }

/** Whether the caller may have models answer in rooms at all: programs may where that is allowed. */
export const mayAskInRooms = ({ caller, services }: ChatContext): boolean =>
  caller.token === undefined || services.settings.allowProgramsInRooms

/** Each token and each person has an allowance a minute for questions, and as large a one for counts of tokens. */
export async function consumeAiQuota(ctx: Context, kind: 'ai' | 'ai-count' = 'ai'): Promise<void> {
  const limit = ctx.services.settings.aiRequestsPerMinute
  if (limit === 0) return
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

/** Finds the model of a name that the caller may ask. One for other groups is as one that is not there. */
export async function findUsableModel(
  { caller, usage, services }: ChatContext,
  name: string,
  makes: 'chat' | 'embedding',
  find: FindModel = services.callableModels.find,
): Promise<CallableModel | undefined> {
  const model = await find(name, usage, makes)
  const groups = listUsableGroups(caller)
  const isFor = (allowed: readonly string[]) => allowed.length === 0 || allowed.some((group) => groups?.includes(group))
  return model && (groups === null || (isFor(model.groups) && isFor(model.providerGroups))) ? model : undefined
}

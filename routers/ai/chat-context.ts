import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import type { FindModel } from '../ports/ai/callable-models.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { listUsableGroups } from '../verbs/viewer.ts'
import { isForGroups, isToolForGroups, isToolForModel } from './tools/tool-access.ts'

/** Context of a user's request to a model. */
export type ChatContext = Context & { caller: Extract<Caller, { type: 'user' }> }

/** True if the caller may ask models in rooms; for programs this is a setting. */
export const canAskInRooms = ({ caller, services }: ChatContext): boolean =>
  caller.token === undefined || services.settings.allowProgramsInRooms

/**
 * Counts a request against the rate limits per minute of the person and the token. Token counts have a limit of their
 * own of the same size.
 */
export async function consumeAiQuota(ctx: Context, kind: 'ai' | 'ai-count' = 'ai'): Promise<void> {
  const limit = ctx.services.settings.aiRequestsPerMinute
  if (limit === 0) return
  const { current } = ctx.callerContext
  if (current.type !== 'user') return
  const { person, token } = current
  await consumeRateLimit(ctx, [`${kind}:user:${person.id}`, ...(token ? [`${kind}:token:${token.id}`] : [])], limit)
}

/** Seconds after which a call beyond those under way may be sent again. */
const RETRY_CALL_SECONDS = 5

/** Counts a call of a model as under way until it is disposed. Throws if the person has too many. */
export function beginAiCall({ caller, services, notes }: ChatContext): Disposable {
  try {
    return services.limits.aiCalls.acquire(`${caller.person.id}`)
  } catch (error) {
    notes.adviseRetry({ afterSeconds: RETRY_CALL_SECONDS })
    throw error
  }
}

/**
 * Finds a model that the caller may use, with the tools that the caller may call. A model for other groups counts as
 * missing.
 */
export async function findUsableModel(
  ctx: ChatContext,
  name: string,
  modelType: 'chat' | 'embedding',
  find: FindModel = ctx.services.ai.callableModels.find,
): Promise<CallableModel | undefined> {
  const model = await find(name, ctx.usage, modelType)
  const groups = listUsableGroups(ctx.caller)
  if (!model || !isForGroups(model.groups, groups) || !isForGroups(model.providerGroups, groups)) return undefined
  const tools = model.tools.filter(
    (tool) => isToolForGroups(tool, groups) && isToolForModel(tool, ctx.caller.token?.grant),
  )
  return tools.length < model.tools.length ? { ...model, tools } : model
}

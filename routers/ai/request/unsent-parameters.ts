import type { Context } from '../../core/context.ts'
import type { Issue } from '../../core/problems.ts'
import type { CallableModel, UnsentParameter } from '../../ports/ai/models.ts'
import { mustCall } from '../../ports/ai/tools.ts'
import type { AiRequest } from './request.ts'

/** The parameters of a request that would not reach the provider of the model as they are. */
export async function unsentParameters(ctx: Context, asked: AiRequest, model: CallableModel): Promise<Issue[]> {
  if (asked.optionalParameters) return []
  const areOffered = asked.tools.length > 0 || model.tools.length > 0
  const offered = { areOffered, isForced: mustCall(asked.toolChoice) }
  const unsent = await ctx.services.models.unsentParameters(model, asked.parameters, offered)
  return unsent.map((parameter) => ({ path: ['parameters', parameter.name], message: messageOf(parameter) }))
}

function messageOf({ most, isTakenAlone }: UnsentParameter): string {
  if (most !== undefined) return `must be at most ${most} for this model`
  return isTakenAlone
    ? 'is nothing that this model takes beside the other parameters'
    : 'is nothing that this model takes'
}

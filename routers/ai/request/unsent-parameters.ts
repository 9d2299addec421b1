import type { Context } from '../../core/context.ts'
import type { Issue } from '../../core/problems.ts'
import type { AssistantPart } from '../../ports/ai/messages.ts'
import type { CallableModel, UnsentParameter } from '../../ports/ai/models.ts'
import { mustCall } from '../../ports/ai/tools.ts'
import type { AiRequest, AskedMessage } from './request.ts'

/** The parameters of a request that would not reach the provider of the model as they are. */
export async function unsentParameters(ctx: Context, asked: AiRequest, model: CallableModel): Promise<Issue[]> {
  if (asked.optionalParameters) return []
  const unsent = await ctx.services.models.unsentParameters(model, asked.parameters, {
    hasTools: asked.tools.length > 0 || model.tools.length > 0,
    isForced: mustCall(asked.toolChoice),
    schema: asked.format?.schema,
    begun: findBeginning(asked.messages),
  })
  const isLeftOut = unsent.some(({ name }) => name === 'effort') && asked.parameters.isEffortOptional
  if (isLeftOut) ctx.hints.unsentParameters = [...(ctx.hints.unsentParameters ?? []), 'effort']
  return unsent
    .filter((parameter) => !isDispensable(asked, parameter))
    .map((parameter) => ({ path: pathOf(parameter), message: writeMessage(parameter) }))
}

/** The usual value asks for nothing, and some efforts are ours. */
const isDispensable = ({ isAdaptable, parameters }: AiRequest, { name }: UnsentParameter): boolean =>
  (name === 'effort' && parameters.isEffortOptional === true) ||
  (isAdaptable === true && (name === 'temperature' || name === 'topP') && parameters[name] === 1)

/** What the model said first in the turn that goes on with the results of tools. */
function findBeginning(messages: readonly AskedMessage[]): AssistantPart[] {
  const said = messages.filter(({ role }) => role !== 'system')
  const start = said.findLastIndex(({ role }, at) => role === 'user' && said[at - 1]?.role !== 'tool')
  const turn = said.slice(start + 1)
  const end = turn.findIndex(({ role }) => role !== 'assistant')
  const first = end < 0 ? [] : turn.slice(0, end)
  return first.flatMap((message) => (message.role === 'assistant' ? message.content : []))
}

const pathOf = ({ name }: UnsentParameter): Issue['path'] =>
  name === 'toolChoice' ? [name] : name === 'schema' ? ['format', name] : ['parameters', name]

function writeMessage({ most, isTakenAlone }: UnsentParameter): string {
  if (most !== undefined) return `must be at most ${most} for this model`
  return isTakenAlone
    ? 'is nothing that this model takes beside the other parameters'
    : 'is nothing that this model takes'
}

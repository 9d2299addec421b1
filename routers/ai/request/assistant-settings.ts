import type { AssistantParameters } from '../../../entities/assistants/assistant-version.ts'
import type { CallableModel, CallParameters } from '../../ports/ai/models.ts'
import type { AiRequest, AssistantSettings } from './request.ts'
import { canCallTool } from './tool-references.ts'

interface AppliedSettings {
  request: AiRequest
  /** Parameters of the caller that the assistant replaces. */
  replaced: readonly string[]
}

/** Applies the settings of the assistant, as far as the model takes them; a request for a model stays as it is. */
export function applyAssistant(request: AiRequest, model: CallableModel): AppliedSettings {
  const { assistant, parameters, modelTools } = request
  if (!assistant) return { request, replaced: [] }
  const fixed = chooseParameters(assistant, parameters, model)
  const replaced = Object.keys(fixed).filter((name) => {
    const { [name as keyof AssistantParameters]: requested } = parameters
    return requested !== undefined && requested !== fixed[name as keyof AssistantParameters]
  })
  const tools = assistant.tools && [
    ...(modelTools ?? []),
    ...assistant.tools.filter((reference) => canCallTool(model, reference)),
  ]
  return {
    request: { ...request, parameters: { ...parameters, ...fixed }, ...(tools && { modelTools: tools }) },
    replaced,
  }
}

/** A caller may ask for a shorter answer, but for no longer one. */
function chooseParameters(
  { parameters: { maxTokens, ...fixed } }: AssistantSettings,
  requested: CallParameters,
  { limits }: CallableModel,
): AssistantParameters {
  if (maxTokens === undefined) return fixed
  return {
    ...fixed,
    maxTokens: Math.min(maxTokens, requested.maxTokens ?? Infinity, limits?.maxOutputTokens ?? Infinity),
  }
}

/** True for a parameter that the assistant sets; one that the model does not take is left out. */
export const isSetByAssistant = ({ assistant }: AiRequest, name: string): boolean =>
  assistant !== undefined && Object.hasOwn(assistant.parameters, name)

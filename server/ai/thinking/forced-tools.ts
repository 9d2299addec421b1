import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { CallParameters, Circumstances, UnsentParameter } from '../../../routers/ports/ai/models.ts'
import type { JsonSchema } from '../../../routers/ports/ai/tools.ts'

export type AnthropicModel = Awaited<ReturnType<typeof capabilitiesOf>>

/** What the SDK knows of a model of Anthropic. */
export async function capabilitiesOf(modelId: string) {
  const { getModelCapabilities, supportsNativeStructuredOutputSchema } = await import('@ai-sdk/anthropic/internal')
  const model = getModelCapabilities(modelId)
  return {
    ...model,
    /** Whether the SDK asks for JSON of the schema by a tool of its own that the model must call. */
    isJsonByTool: (schema: JsonSchema) =>
      !(model.supportsStructuredOutput && supportsNativeStructuredOutputSchema(schema)),
  }
}

type Held = Pick<Circumstances, 'isForced' | 'schema'>

export function heldBy({ toolChoice, responseFormat: format }: LanguageModelV4CallOptions): Held {
  return {
    isForced: toolChoice?.type === 'required' || toolChoice?.type === 'tool',
    schema: format?.type === 'json' ? (format.schema as JsonSchema | undefined) : undefined,
  }
}

/** Whether the model must call a tool, be it the one that stands for JSON. */
export const mustCallTool = ({ isJsonByTool }: AnthropicModel, { isForced, schema }: Held): boolean =>
  isForced || (schema !== undefined && isJsonByTool(schema))

/** A call that must come is no JSON: the SDK would let its own tool stand for the one that is asked for. */
export function withoutRival({ responseFormat, ...options }: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  return heldBy(options).isForced || !responseFormat ? options : { ...options, responseFormat }
}

/** What the model is not held to, of which the SDK only warns: a call of a tool, or JSON by one, at all or beside thoughts. */
export function unheld(model: AnthropicModel, { maxThinkingTokens }: CallParameters, held: Held): UnsentParameter[] {
  if (!mustCallTool(model, held)) return []
  if (model.rejectsForcedToolUse) return [{ name: held.isForced ? 'toolChoice' : 'schema' }]
  return held.isForced || maxThinkingTokens === undefined ? [] : [{ name: 'maxThinkingTokens', isTakenAlone: true }]
}

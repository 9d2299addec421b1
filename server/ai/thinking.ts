import type { LanguageModelV4CallOptions, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelCall, ParameterContext } from '../../routers/ports/ai/models.ts'
import type { JsonSchema } from '../../routers/ports/ai/tools.ts'

type Effort = Exclude<LanguageModelV4CallOptions['reasoning'], undefined>

/** Share of the output that reasoning may take, for providers that expect a token budget instead of an effort. */
const outputShares: Partial<Record<Effort, number>> = { minimal: 0.05, low: 0.1, medium: 0.25, high: 0.4 }

/** The default effort is high. */
const computeEffortBudget = (effort: Effort = 'high', maxOutputTokens: number): number =>
  Math.floor(maxOutputTokens * (outputShares[effort] ?? 0.5))

/**
 * Returns the maximum number of reasoning tokens that the caller or the model sets. Reasoning counts as output, so it
 * gets at most half of it. The caller's effort takes precedence, up to the model's maximum.
 */
export function computeThinkingBudget(
  { model, parameters }: Pick<ModelCall, 'model' | 'parameters'>,
  maxOutputTokens: number,
): number | undefined {
  const { effort, thinking, maxThinkingTokens: requested } = parameters
  if (requested === undefined && thinking === 'adaptive') return undefined
  const maximum = requested ?? model.parameters?.maxThinkingTokens
  if (maximum === undefined || effort === 'none') return undefined
  const budget =
    requested === undefined && effort ? Math.min(maximum, computeEffortBudget(effort, maxOutputTokens)) : maximum
  return Math.min(budget, Math.floor(maxOutputTokens / 2))
}

type Thinking = { type: 'enabled'; budgetTokens: number } | { type: 'adaptive'; display?: 'summarized' } | undefined

/** Minimum budget that Anthropic accepts. */
const MIN_BUDGET = 1024

type AnthropicModel = Awaited<ReturnType<typeof lookUpCapabilities>>

/** Returns the capabilities of an Anthropic model by the list of the SDK. */
export async function lookUpCapabilities(modelId: string) {
  const { getModelCapabilities, supportsNativeStructuredOutputSchema } = await import('@ai-sdk/anthropic/internal')
  const model = getModelCapabilities(modelId)
  return {
    ...model,
    /** True if the SDK requests JSON of this schema by a tool that the model must call. */
    isJsonByTool: (schema: JsonSchema) =>
      !(model.supportsStructuredOutput && supportsNativeStructuredOutputSchema(schema)),
  }
}

type ToolConstraint = Pick<ParameterContext, 'isForced' | 'schema'>

/** Returns true if the model must call a tool, perhaps the one that stands for JSON. */
export const mustCallTool = ({ isJsonByTool }: AnthropicModel, { isForced, schema }: ToolConstraint): boolean =>
  isForced || (schema !== undefined && isJsonByTool(schema))

function readToolConstraint({ toolChoice, responseFormat: format }: LanguageModelV4CallOptions): ToolConstraint {
  return {
    isForced: toolChoice?.type === 'required' || toolChoice?.type === 'tool',
    schema: format?.type === 'json' ? (format.schema as JsonSchema | undefined) : undefined,
  }
}

/**
 * Returns options that keep an Anthropic model within its output limit. The SDK would let reasoning exceed it, and
 * would allow reasoning before a forced tool call.
 */
export const limitThinking = async (modelId: string, options: LanguageModelV4CallOptions) =>
  applyThinkingLimit(dropConflictingFormat(options), await lookUpCapabilities(modelId))

/** Drops the JSON format if a tool call is required, as the SDK would replace the required tool by its own. */
function dropConflictingFormat({ responseFormat, ...options }: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  return readToolConstraint(options).isForced || !responseFormat ? options : { ...options, responseFormat }
}

/**
 * Keeps reasoning and answer together within `maxOutputTokens`. The SDK adds the reasoning budget to it, and derives a
 * budget from the effort for models without adaptive thinking. A model does not reason if it must call a tool.
 */
function applyThinkingLimit(options: LanguageModelV4CallOptions, model: AnthropicModel): LanguageModelV4CallOptions {
  const { reasoning, maxOutputTokens } = options
  if (reasoning === 'none' || (!reasoning && !readThinking(options))) return options
  const chosen = mustCallTool(model, readToolConstraint(options)) ? undefined : chooseThinking(options, model)
  if (!chosen) return removeThinking(options)
  const limited = setThinking(options, chosen)
  if (chosen.type === 'adaptive' || maxOutputTokens === undefined) return limited
  return { ...limited, maxOutputTokens: maxOutputTokens - chosen.budgetTokens }
}

/** Returns true if the options ask for reasoning. */
export const isThinking = (options: LanguageModelV4CallOptions): boolean =>
  options.reasoning !== undefined || readThinking(options) !== undefined

const readThinking = ({ providerOptions }: LanguageModelV4CallOptions) =>
  providerOptions?.['anthropic']?.['thinking'] as Thinking

function chooseThinking(options: LanguageModelV4CallOptions, model: AnthropicModel): Thinking {
  const requested = readThinking(options)
  const known = requested?.type === 'enabled' ? requested.budgetTokens : undefined
  const isAdaptive = model.rejectsBudgetThinking || (model.supportsAdaptiveThinking && known === undefined)
  if (isAdaptive) return { type: 'adaptive', display: 'summarized' }
  const budgetTokens = known ?? computeEffortBudget(options.reasoning, options.maxOutputTokens ?? model.maxOutputTokens)
  const canThink = budgetTokens >= MIN_BUDGET && startsWithSignedThought(options.prompt)
  return canThink ? { type: 'enabled', budgetTokens } : undefined
}

const setThinking = ({ providerOptions, ...options }: LanguageModelV4CallOptions, set: Thinking) => {
  const { thinking: _, ...anthropic } = providerOptions?.['anthropic'] ?? {}
  const chosen: SharedV4ProviderOptions[string] = { ...anthropic, ...(set && { thinking: set }) }
  return { ...options, providerOptions: { ...providerOptions, anthropic: chosen } }
}

const removeThinking = ({ reasoning: _, ...options }: LanguageModelV4CallOptions) => setThinking(options, undefined)

/** True if the current turn started with reasoning that Anthropic signed and needs back with tool results. */
function startsWithSignedThought(prompt: LanguageModelV4Prompt): boolean {
  const start = prompt.findLastIndex(({ role }, at) => role === 'user' && prompt[at - 1]?.role !== 'tool')
  const first = prompt.slice(start).find((message) => message.role === 'assistant')
  if (!first || first.content.every(({ type }) => type !== 'tool-call')) return true
  return first.content.some((part) => part.type === 'reasoning' && isSigned(part.providerOptions?.['anthropic']))
}

const isSigned = (proof: SharedV4ProviderOptions[string] = {}) => Boolean(proof['signature'] ?? proof['redactedData'])

import type { LanguageModelV4CallOptions, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelCall } from '../../../routers/ports/ai/models.ts'
import { budgetFor, thinkingBudget } from './budget.ts'
import { type AnthropicModel, heldBy, mustCallTool } from './forced-tools.ts'

type Thinking = { type: 'enabled'; budgetTokens: number } | { type: 'adaptive'; display?: 'summarized' } | undefined

/** Anthropic refuses a smaller budget of thoughts. */
const MIN_BUDGET = 1024

/**
 * Keeps thoughts and answer together within `maxOutputTokens`. The SDK adds the budget of thoughts to it, and makes a budget
 * of an effort where a model does not decide itself how much it thinks. None thinks where it must call a tool.
 */
export function boundThinking(options: LanguageModelV4CallOptions, model: AnthropicModel): LanguageModelV4CallOptions {
  const { reasoning, maxOutputTokens } = options
  if (reasoning === 'none' || (!reasoning && !askedOf(options))) return options
  const chosen = mustCallTool(model, heldBy(options)) ? undefined : chosenThinking(options, model)
  if (!chosen) return withoutThinking(options)
  const bound = thinking(options, chosen)
  if (chosen.type === 'adaptive' || maxOutputTokens === undefined) return bound
  return { ...bound, maxOutputTokens: maxOutputTokens - chosen.budgetTokens }
}

/** Whether a model that is told how much it thinks could think in an answer of so many tokens. */
export function hasRoomToThink(call: Pick<ModelCall, 'model' | 'parameters'>, maxOutputTokens: number): boolean {
  const budget = thinkingBudget(call, maxOutputTokens) ?? budgetFor(call.parameters.effort, maxOutputTokens)
  return budget >= MIN_BUDGET
}

const askedOf = ({ providerOptions }: LanguageModelV4CallOptions) =>
  providerOptions?.['anthropic']?.['thinking'] as Thinking

function chosenThinking(options: LanguageModelV4CallOptions, model: AnthropicModel): Thinking {
  const asked = askedOf(options)
  const known = asked?.type === 'enabled' ? asked.budgetTokens : undefined
  const isAdaptive = model.rejectsBudgetThinking || (model.supportsAdaptiveThinking && known === undefined)
  if (isAdaptive) return { type: 'adaptive', display: 'summarized' }
  const budgetTokens = known ?? budgetFor(options.reasoning, options.maxOutputTokens ?? model.maxOutputTokens)
  const mayThink = budgetTokens >= MIN_BUDGET && beganWithThought(options.prompt)
  return mayThink ? { type: 'enabled', budgetTokens } : undefined
}

const thinking = ({ providerOptions, ...options }: LanguageModelV4CallOptions, set: Thinking) => {
  const { thinking: _, ...anthropic } = providerOptions?.['anthropic'] ?? {}
  const chosen: SharedV4ProviderOptions[string] = { ...anthropic, ...(set && { thinking: set }) }
  return { ...options, providerOptions: { ...providerOptions, anthropic: chosen } }
}

const withoutThinking = ({ reasoning: _, ...options }: LanguageModelV4CallOptions) => thinking(options, undefined)

/** Whether the turn that goes on began with a thought of Anthropic's, which it wants back along with results of tools. */
function beganWithThought(prompt: LanguageModelV4Prompt): boolean {
  const start = prompt.findLastIndex(({ role }, at) => role === 'user' && prompt[at - 1]?.role !== 'tool')
  const first = prompt.slice(start).find((message) => message.role === 'assistant')
  if (!first || first.content.every(({ type }) => type !== 'tool-call')) return true
  return first.content.some((part) => part.type === 'reasoning' && isSigned(part.providerOptions?.['anthropic']))
}

export const isSigned = (proof: SharedV4ProviderOptions[string] = {}) =>
  Boolean(proof['signature'] ?? proof['redactedData'])

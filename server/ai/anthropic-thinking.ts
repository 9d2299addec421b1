import type { LanguageModelV4CallOptions, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import { budgetFor } from './thinking.ts'

/** What the SDK knows of the thinking of a model. */
interface ThinkingModel {
  maxOutputTokens: number
  /** Whether the model itself decides how much it thinks. */
  supportsAdaptiveThinking: boolean
  rejectsBudgetThinking: boolean
}

type Thinking = { type: 'enabled'; budgetTokens: number } | { type: 'adaptive'; display?: 'summarized' } | undefined

/** Anthropic refuses a smaller budget of thoughts. */
const MIN_BUDGET = 1024

/**
 * Keeps thoughts and answer together within `maxOutputTokens`. The SDK adds the budget of thoughts to it, and makes a budget
 * of an effort where a model does not decide itself how much it thinks.
 */
export function boundThinking(options: LanguageModelV4CallOptions, model: ThinkingModel): LanguageModelV4CallOptions {
  const { reasoning, maxOutputTokens } = options
  const asked = options.providerOptions?.['anthropic']?.['thinking'] as Thinking
  if (reasoning === 'none' || (!asked && !reasoning)) return options
  if (isForced(options)) return withoutThinking(options)
  const known = asked?.type === 'enabled' ? asked.budgetTokens : undefined
  if (model.rejectsBudgetThinking || (model.supportsAdaptiveThinking && known === undefined))
    return thinking(options, { type: 'adaptive', display: 'summarized' })
  const budget = known ?? budgetFor(reasoning, maxOutputTokens ?? model.maxOutputTokens)
  if (budget < MIN_BUDGET || !beganWithThought(options.prompt)) return withoutThinking(options)
  return {
    ...thinking(options, { type: 'enabled', budgetTokens: budget }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens: maxOutputTokens - budget }),
  }
}

const thinking = ({ providerOptions, ...options }: LanguageModelV4CallOptions, set: Thinking) => {
  const { thinking: _, ...anthropic } = providerOptions?.['anthropic'] ?? {}
  const chosen: SharedV4ProviderOptions[string] = { ...anthropic, ...(set && { thinking: set }) }
  return { ...options, providerOptions: { ...providerOptions, anthropic: chosen } }
}

const withoutThinking = ({ reasoning: _, ...options }: LanguageModelV4CallOptions) => thinking(options, undefined)

/** No model of Anthropic thinks where it must call a tool. */
const isForced = ({ toolChoice }: LanguageModelV4CallOptions) =>
  toolChoice?.type === 'required' || toolChoice?.type === 'tool'

/** Whether the turn that goes on began with a thought of Anthropic's, which it wants back along with results of tools. */
function beganWithThought(prompt: LanguageModelV4Prompt): boolean {
  const start = prompt.findLastIndex(({ role }, at) => role === 'user' && prompt[at - 1]?.role !== 'tool')
  const first = prompt.slice(start).find((message) => message.role === 'assistant')
  if (!first || first.content.every(({ type }) => type !== 'tool-call')) return true
  return first.content.some((part) => part.type === 'reasoning' && isSigned(part.providerOptions?.['anthropic']))
}

const isSigned = (proof: SharedV4ProviderOptions[string] = {}) => Boolean(proof['signature'] ?? proof['redactedData'])

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Message } from '../../routers/ports/messages.ts'
import type { CallableModel, JsonFormat, ModelCall } from '../../routers/ports/models.ts'

export type CallOptions = Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal' | 'tools' | 'toolChoice'>

/** What the AI SDK has an option for: as the caller sets it, else as the model has it. */
export function callOptions(call: ModelCall): CallOptions {
  const { model, parameters, format, maxOutputTokens: most = Infinity } = call
  const { temperature, topP, maxTokens = Infinity } = { ...model.parameters, ...given(parameters) }
  const maxOutputTokens = Math.min(maxTokens, model.limits?.maxOutputTokens ?? Infinity, most)
  return {
    ...given({ temperature, topP, seed: parameters.seed, reasoning: parameters.effort }),
    ...(parameters.stop && { stopSequences: [...parameters.stop] }),
    ...(format && { responseFormat: asResponseFormat(format) }),
    ...(Number.isFinite(maxOutputTokens) && { maxOutputTokens }),
    ...thinking(call, maxOutputTokens),
  }
}

const asResponseFormat = (format: JsonFormat) =>
  ({ type: 'json', ...given(format) }) as NonNullable<CallOptions['responseFormat']>

/** The members that are set. */
function given<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members
}

/** Returns the other parameters, which are written into the request body unchanged. */
export function extraMembers({ parameters }: CallableModel): Record<string, unknown> {
  const { temperature: _t, topP: _p, maxTokens: _m, maxThinkingTokens: _th, ...extra } = parameters ?? {}
  return extra
}

/** Anthropic refuses a smaller thinking budget. */
const MIN_ANTHROPIC_THINKING = 1024

/** Thinking counts as output, so its budget is at most half of the output limit. Other adapters take no budget. */
function thinking({ model, parameters, ...call }: ModelCall, maxOutputTokens: number): CallOptions {
  const { adapter } = model
  // No provider is asked to keep what people say.
  if (adapter === 'openai') return { providerOptions: { openai: { store: false } } }
  const maxThinkingTokens = parameters.maxThinkingTokens ?? model.parameters?.maxThinkingTokens
  if (maxThinkingTokens === undefined) return {}
  const budget = Math.min(maxThinkingTokens, Math.floor(maxOutputTokens / 2))
  if (adapter === 'google') return { providerOptions: { google: { thinkingConfig: { thinkingBudget: budget } } } }
  if (adapter !== 'anthropic' || budget < MIN_ANTHROPIC_THINKING || !mayThink(call)) return {}
  return {
    providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: budget } } },
    // The SDK adds the thinking budget to this limit.
    ...(Number.isFinite(maxOutputTokens) && { maxOutputTokens: maxOutputTokens - budget }),
  }
}

/** Anthropic requires its own thoughts along with results of tools, and none where a tool must be called. */
function mayThink({ messages, toolChoice = 'auto' }: Pick<ModelCall, 'messages' | 'toolChoice'>): boolean {
  return (toolChoice === 'auto' || toolChoice === 'none') && messages.every(isThoughtThrough)
}

const isThoughtThrough = ({ content }: Message) =>
  content.every(({ type }) => type !== 'tool-call') ||
  content.some((part) => part.type === 'reasoning' && part.signature)

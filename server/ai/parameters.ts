import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { CallableModel, ModelCall } from '../../routers/ports/models.ts'

export type CallParameters = Pick<
  LanguageModelV4CallOptions,
  'temperature' | 'topP' | 'maxOutputTokens' | 'providerOptions'
>

/** The parameters of a model that the AI SDK has an option for. */
export function callParameters({ model, tools, maxOutputTokens: most = Infinity }: ModelCall): CallParameters {
  const { temperature, topP, maxTokens = Infinity } = model.parameters ?? {}
  const maxOutputTokens = Math.min(maxTokens, model.limits?.maxOutputTokens ?? Infinity, most)
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(Number.isFinite(maxOutputTokens) && { maxOutputTokens }),
    ...thinking(model, maxOutputTokens, tools.length > 0),
  }
}

/** Returns the other parameters, which are written into the request body unchanged. */
export function extraMembers({ parameters }: CallableModel): Record<string, unknown> {
  const { temperature: _t, topP: _p, maxTokens: _m, maxThinkingTokens: _th, ...extra } = parameters ?? {}
  return extra
}

/** Anthropic refuses a smaller thinking budget. */
const MIN_ANTHROPIC_THINKING = 1024

/** Thinking counts as output, so its budget is at most half of the output limit. Other adapters take no budget. */
function thinking({ adapter, parameters }: CallableModel, maxOutputTokens: number, hasTools: boolean): CallParameters {
  const { maxThinkingTokens } = parameters ?? {}
  if (maxThinkingTokens === undefined) return {}
  const budget = Math.min(maxThinkingTokens, Math.floor(maxOutputTokens / 2))
  if (adapter === 'google') return { providerOptions: { google: { thinkingConfig: { thinkingBudget: budget } } } }
  // Anthropic requires its thinking blocks along with tool results, and the service does not keep them.
  if (adapter !== 'anthropic' || hasTools || budget < MIN_ANTHROPIC_THINKING) return {}
  return {
    providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: budget } } },
    // The SDK adds the thinking budget to this limit.
    ...(Number.isFinite(maxOutputTokens) && { maxOutputTokens: maxOutputTokens - budget }),
  }
}

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

/** The other parameters, which stand in the body as they are. */
export function extraMembers({ parameters }: CallableModel): Record<string, unknown> {
  const { temperature: _t, topP: _p, maxTokens: _m, maxThinkingTokens: _th, ...extra } = parameters ?? {}
  return extra
}

/** Anthropic refuses a smaller bound. */
const MIN_ANTHROPIC_THINKING = 1024

/** Thinking counts as output, so at least half of it is left for the answer. Other kinds of providers take no bound. */
function thinking({ adapter, parameters }: CallableModel, maxOutputTokens: number, hasTools: boolean): CallParameters {
  const { maxThinkingTokens } = parameters ?? {}
  if (maxThinkingTokens === undefined) return {}
  const budget = Math.min(maxThinkingTokens, Math.floor(maxOutputTokens / 2))
  if (adapter === 'google') return { providerOptions: { google: { thinkingConfig: { thinkingBudget: budget } } } }
  // Anthropic wants its thoughts back with the results of tools, and they are not kept.
  if (adapter !== 'anthropic' || hasTools || budget < MIN_ANTHROPIC_THINKING) return {}
  return {
    providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: budget } } },
    // The SDK adds the budget to it.
    ...(Number.isFinite(maxOutputTokens) && { maxOutputTokens: maxOutputTokens - budget }),
  }
}

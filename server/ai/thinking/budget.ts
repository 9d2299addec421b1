import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ModelCall } from '../../../routers/ports/ai/models.ts'

type Effort = Exclude<LanguageModelV4CallOptions['reasoning'], undefined>

/** How much of the longest answer thoughts may take, where a provider is told a number of tokens for an effort. */
const shares: Partial<Record<Effort, number>> = { minimal: 0.05, low: 0.1, medium: 0.25, high: 0.4 }

/** Where nothing is said of the effort, it is high. */
export const budgetFor = (effort: Effort = 'high', maxOutputTokens: number): number =>
  Math.floor(maxOutputTokens * (shares[effort] ?? 0.5))

/**
 * The most tokens of thoughts, where the caller or the model's own settings say it. Thoughts count as output, so they take at
 * most half of it. The caller's effort goes before the settings of the model, which bound it.
 */
export function thinkingBudget(
  { model, parameters }: Pick<ModelCall, 'model' | 'parameters'>,
  maxOutputTokens: number,
): number | undefined {
  const { effort, thinking, maxThinkingTokens: asked } = parameters
  if (asked === undefined && thinking === 'adaptive') return undefined
  const most = asked ?? model.parameters?.maxThinkingTokens
  if (most === undefined || effort === 'none') return undefined
  const wanted = asked === undefined && effort ? Math.min(most, budgetFor(effort, maxOutputTokens)) : most
  return Math.min(wanted, Math.floor(maxOutputTokens / 2))
}

import { type Adapter, mostTokens } from '../../ports/ai/adapters.ts'
import type { ModelCall } from '../../ports/ai/models.ts'

/** One model for which OpenAI counts far more: 2833 tokens, and 5667 for each of 8 tiles, or 4 of a page. */
const dear = { name: /^gpt-4o-mini/, image: 48_169, page: 28_501 }

/**
 * As many tokens as the provider may count where our estimate is this. It errs high, which is right for a reservation and wrong
 * for refusing a request as too long: no model reads more than it takes.
 */
export function mostInputOf({ model, files }: Pick<ModelCall, 'model' | 'files'>, estimate: number): number {
  const isDear = dear.name.test(model.upstreamId ?? model.modelId)
  const { image, page } = isDear ? dear : mostTokens[model.adapter as Adapter]
  const more = files.images * image + files.pages * page - files.estimate
  return Math.max(estimate, Math.min(estimate + more, model.limits?.maxInputTokens || Infinity))
}

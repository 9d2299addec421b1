import type { Adapter } from '../../ports/ai/adapters.ts'
import type { ModelCall } from '../../ports/ai/models.ts'

/**
 * What providers count at most for an image, and for a page of a document, which is its text beside an image of it. They
 * say up to 3000 tokens for the text of a page and 1600 (Anthropic) to 4160 (Mistral) for its image, and for one of an
 * image 4784 (Anthropic), 10,000 patches of 1.2 (OpenAI), 16 tiles of 258 (Google); servers of open models up to 16,384.
 */
const mostTokens: Record<Adapter, { image: number; page: number }> = {
  'openai-compatible': { image: 16_384, page: 16_384 },
  open_web_ui: { image: 16_384, page: 16_384 },
  openai: { image: 12_000, page: 6000 },
  anthropic: { image: 4784, page: 4600 },
  google: { image: 4128, page: 2240 },
  mistral: { image: 4160, page: 7160 },
  demo: { image: 1600, page: 1500 },
}

/** One model for which OpenAI counts far more: 2833 tokens, and 5667 for each of 8 tiles, or 4 of a page. */
const dear = { name: /^gpt-4o-mini/, image: 48_169, page: 28_501 }

/**
 * As many tokens as the provider may count where our estimate is this. It errs high, which is right for a hold and wrong
 * for refusing a request as too long: no model reads more than it takes.
 */
export function mostInputOf({ model, files }: Pick<ModelCall, 'model' | 'files'>, estimate: number): number {
  const isDear = dear.name.test(model.upstreamId ?? model.modelId)
  const { image, page } = isDear ? dear : mostTokens[model.adapter as Adapter]
  const more = files.images * image + files.pages * page - files.estimate
  return Math.max(estimate, Math.min(estimate + more, model.limits?.maxInputTokens || Infinity))
}

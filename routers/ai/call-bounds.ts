import { type NativeUses, noUses } from '../catalogue/pricing.ts'
import {
  type Adapter,
  adaptersWithoutToolLimits,
  MAX_PAGE_TOKENS,
  MAX_UNBOUNDED_PAGES,
  maxFileTokens,
} from '../ports/ai/adapters.ts'
import type { ModelCall } from '../ports/ai/models.ts'
import { boundTokens } from './request-meter.ts'

/** Maximum use of the provider's own tools in one request; infinite if unknown. */
export interface MaxUses extends NativeUses {
  /**
   * Maximum tokens of pages that the provider fetches and bills as input. Results of a web search have no such bound.
   */
  pageTokens: number
}

export const noNativeUses: MaxUses = { ...noUses, pageTokens: 0 }

/** The most that each request of a call can take. It is computed once, before the call is reserved. */
export interface CallBounds {
  /** Returns the most input tokens that the provider may count for our estimate. */
  computeInput: (estimate: number) => number
  /** Maximum answer tokens, which are also sent to the provider where a limit is enforced. */
  output: number
  /** The most output tokens that the provider may bill without sending them, such as thoughts. */
  unseenOutput: number
  uses: MaxUses
}

/** Bounds a call whose answers may have so many tokens. */
export function boundCall(call: ModelCall, maxAnswerTokens: number): CallBounds {
  const { model, files, parameters } = call
  const requestedTokens = parameters.maxTokens ?? model.parameters?.maxTokens ?? Infinity
  const sentLimit = Math.min(requestedTokens, model.limits?.maxOutputTokens ?? Infinity)
  const output = Math.min(sentLimit, maxAnswerTokens)
  return {
    // Bounds may outlive the call and must not keep its messages in memory.
    computeInput: (estimate) => computeMaxInputTokens({ model, files }, estimate),
    output,
    // Without a limit of its own, a provider may count this much for the longest answer that we reserve.
    unseenOutput: Math.min(sentLimit, boundTokens(output)),
    uses: boundNativeUses(call),
  }
}

/** Embeddings have no output and use no native tools, and are counted as estimated. */
export const embeddingBounds: CallBounds = {
  computeInput: (estimate) => estimate,
  output: 0,
  unseenOutput: 0,
  uses: noNativeUses,
}

function boundNativeUses({ model, nativeTools, nativeToolUses, inputTokens }: ModelCall): MaxUses {
  if (nativeTools.length === 0) return noNativeUses
  const isBounded = !adaptersWithoutToolLimits.has(model.adapter)
  // The whole input, fetched pages included, must fit into the model's context.
  const room = Math.max(0, (model.limits?.maxInputTokens ?? Infinity) - Math.ceil(inputTokens))
  const limits = isBounded
    ? { searches: nativeToolUses, pages: nativeToolUses, pageTokens: nativeToolUses * MAX_PAGE_TOKENS }
    : { searches: Infinity, pages: MAX_UNBOUNDED_PAGES, pageTokens: room }
  const hasWebFetch = nativeTools.includes('web_fetch')
  return {
    webSearches: nativeTools.includes('web_search') ? limits.searches : 0,
    webFetches: hasWebFetch ? limits.pages : 0,
    pageTokens: hasWebFetch ? limits.pageTokens : 0,
  }
}

/**
 * OpenAI counts far more for this model: 2833 tokens and 5667 for each of 8 tiles of an image, or of 4 tiles of a page.
 */
const expensiveModel = { name: /^gpt-4o-mini/, image: 48_169, page: 28_501 }

/**
 * Returns the most tokens that the provider may count for our estimate. It errs high: that suits a reservation, but not
 * the refusal of a request as too long, as no model reads more than its maximum.
 */
export function computeMaxInputTokens({ model, files }: Pick<ModelCall, 'model' | 'files'>, estimate: number): number {
  const isExpensive = expensiveModel.name.test(model.upstreamId ?? model.modelId)
  const { image, page } = isExpensive ? expensiveModel : maxFileTokens[model.adapter as Adapter]
  const additionalTokens = files.images * image + files.pages * page - files.estimate
  return Math.max(estimate, Math.min(estimate + additionalTokens, model.limits?.maxInputTokens || Infinity))
}

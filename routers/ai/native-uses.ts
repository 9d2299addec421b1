import { type NativeUses, noUses } from '../catalogue/pricing.ts'
import { MAX_PAGE_TOKENS, MAX_UNBOUNDED_PAGES, takesNoBound } from '../ports/ai/adapters.ts'
import type { ModelCall } from '../ports/ai/models.ts'

/** The most that a provider does for one request by tools of its own; infinite where nobody knows. */
export interface MostUses extends NativeUses {
  /** Of the pages that it reads, each of which is billed as input. What a search finds has no such bound. */
  pageTokens: number
}

export const neverUsed: MostUses = { ...noUses, pageTokens: 0 }

export function mostUsesOf({ model, nativeTools, nativeToolUses, inputTokens }: ModelCall): MostUses {
  if (nativeTools.length === 0) return neverUsed
  const isBounded = !takesNoBound.has(model.adapter)
  // All that a model is given, pages too, must be within what it takes.
  const room = Math.max(0, (model.limits?.maxInputTokens ?? Infinity) - Math.ceil(inputTokens))
  const most = isBounded
    ? { searches: nativeToolUses, pages: nativeToolUses, pageTokens: nativeToolUses * MAX_PAGE_TOKENS }
    : { searches: Infinity, pages: MAX_UNBOUNDED_PAGES, pageTokens: room }
  const isReading = nativeTools.includes('web_fetch')
  return {
    webSearches: nativeTools.includes('web_search') ? most.searches : 0,
    webFetches: isReading ? most.pages : 0,
    pageTokens: isReading ? most.pageTokens : 0,
  }
}

/** A number as the database takes it: null where it is not known. */
export const unlessInfinite = (most: number): number | null => (most === Infinity ? null : most)

import { type NativeUses, noUses } from '../catalogue/pricing.ts'
import { MAX_PAGE_TOKENS } from '../ports/ai/adapters.ts'
import type { ModelCall } from '../ports/ai/models.ts'

/** As often as one request may use tools that its provider runs itself. */
export function mostUsesOf({ nativeTools, nativeToolUses }: ModelCall): NativeUses {
  if (nativeTools.length === 0) return noUses
  return {
    webSearches: nativeTools.includes('web_search') ? nativeToolUses : 0,
    webFetches: nativeTools.includes('web_fetch') ? nativeToolUses : 0,
  }
}

/** The tokens of as many pages, each of which is billed as input. What a search finds has no such bound. */
export const mostReadBy = ({ webFetches }: NativeUses): number => webFetches * MAX_PAGE_TOKENS

import { Refusal } from './refusal.ts'
import { ToldRefusal } from './told-refusal.ts'

/** The end of an answer to a question that is refused for what is in it; throws any other error. What it took is not said. */
export function refusedEnd(error: unknown) {
  const isRefusal = error instanceof Refusal || error instanceof ToldRefusal
  if (!isRefusal || !error.isOfContent) throw error
  return {
    finishReason: { unified: 'content-filter' as const, raw: 'content_filter' },
    usage: {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    },
  }
}

import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { CacheMark } from '../../routers/ports/ai/messages.ts'
import type { ModelCall } from '../../routers/ports/ai/models.ts'

/** Largest number of marks that Anthropic takes in a request. */
const MAX_MARKS = 4

interface MarkedPart {
  cache?: CacheMark | undefined
}

/**
 * Writes the caller's cache marks in the words of Anthropic, at most as many as it takes. The last ones stay, because
 * each covers all that stands before it. Other providers never see one.
 */
export class CacheMarks {
  readonly isUsed: boolean
  /** Marks that are left out before the next one is written. */
  #surplus: number

  constructor({ model, messages, callerTools, parameters }: ModelCall) {
    this.isUsed = model.adapter === 'anthropic'
    const parts = messages.flatMap(({ content }): readonly object[] => content) as readonly MarkedPart[]
    const marked = [...callerTools, ...parts, parameters].filter(({ cache }) => cache)
    this.#surplus = this.isUsed ? marked.length - MAX_MARKS : 0
  }

  /** Returns the options of the next part, which must be asked for in the order of the request: tools, system, messages. */
  toOptions({ cache }: MarkedPart): SharedV4ProviderOptions | undefined {
    if (!cache || !this.isUsed || this.#surplus-- > 0) return undefined
    return { anthropic: { cacheControl: toCacheControl(cache) } }
  }
}

/** Converts a mark to Anthropic's words. */
export const toCacheControl = ({ ttl }: CacheMark) => ({ type: 'ephemeral' as const, ...(ttl && { ttl }) })

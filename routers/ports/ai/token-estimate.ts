/**
 * Estimates the tokens of a text, for providers that do not report them. Four Latin letters are one token; each byte
 * beyond the first of a character adds half a token, which is too high for most tokenizers.
 */
export const estimateTokens = (text: string): number => (2 * Buffer.byteLength(text) - text.length) / 4

/** A document has at least one page per so many bytes. */
const PAGE_TOKENS = 1500
const PAGE_BYTES = 50_000

export const estimatePageTokens = (bytes: number): number => Math.ceil(bytes / PAGE_BYTES) * PAGE_TOKENS

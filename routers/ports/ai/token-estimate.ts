/**
 * About how many tokens a text is, with parts of one, for where a provider does not say. Four letters of Latin script are
 * one; each byte that another script takes beyond one a character is half a token more, which errs high for most tokenizers.
 */
export const estimateTokens = (text: string): number => (2 * Buffer.byteLength(text) - text.length) / 4

/** A page of a document, of which there are at least as many as it has so many bytes. */
const PAGE_TOKENS = 1500
const PAGE_BYTES = 50_000

export const estimatePageTokens = (bytes: number): number => Math.ceil(bytes / PAGE_BYTES) * PAGE_TOKENS

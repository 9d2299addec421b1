/** Fetches addresses named by strangers, never from private networks. Driver: the hardened HTTP client. */
export interface WebReader {
  /**
   * Resolves when the headers of the last redirect arrive; throws if the address is refused, missing, or of another
   * media type.
   */
  open(url: string, request: WebRequest): Promise<WebResource>
}

export interface WebRequest {
  /** Media types as in `Accept`. */
  accept: string
  /** Prefixes of accepted media types. */
  kinds: readonly string[]
  /** Milliseconds for everything: redirects, waiting and reading. */
  timeout: number
  signal: AbortSignal
}

export interface WebResource {
  /** The address after redirects. */
  url: string
  /** The charset of `Content-Type`, if any. */
  charset: string | undefined
  /** The decompressed body; stopping early closes the connection. */
  body: AsyncIterable<Uint8Array>
}

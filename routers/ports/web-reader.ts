/** Reads what strangers name on the web, and nothing of a private network. Driver: the hardened HTTP client. */
export interface WebReader {
  /** Resolves when the headers of the last hop arrive; throws where it is refused, not there, or not of these kinds. */
  open(url: string, request: WebRequest): Promise<WebResource>
}

export interface WebRequest {
  /** Media types as in `Accept`. */
  accept: string
  /** What the media type of the answer begins with. */
  kinds: readonly string[]
  /** Of everything: redirects, waiting and reading, in milliseconds. */
  timeout: number
  signal: AbortSignal
}

export interface WebResource {
  /** Where the redirects led. */
  url: string
  /** Of the `Content-Type`, if it names one. */
  charset: string | undefined
  /** Decompressed as it is read; whoever stops early closes the connection. */
  body: AsyncIterable<Uint8Array>
}

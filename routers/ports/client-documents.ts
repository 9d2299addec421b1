/** Fetches the documents by which programs describe themselves. Driver: the hardened HTTP client. */
export interface ClientDocuments {
  /**
   * Resolves with the text of the document; throws if its host is not allowed or it cannot be fetched within 5 seconds,
   * without a redirect, as JSON of at most 5 KB. A `HostOutage` says nothing about the document.
   */
  fetch(address: string, signal: AbortSignal): Promise<FetchedText>
}

/** The host of a document cannot be reached, or fails. */
export class HostOutage extends Error {
  override name = 'HostOutage'
}

export interface FetchedText {
  text: string
  /** Seconds for which the host says that the text may be kept. */
  maxAge: number | undefined
}

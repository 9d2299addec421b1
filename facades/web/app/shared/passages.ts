/** The sources that a text cites, and the way to open their passages. */
export interface Citations {
  /** Those that are passages of files have the numbers that the service gave. */
  sources: readonly { url: string; passage?: { number: number } | undefined }[]
  /** Shows the passage of an address over the page; absent where only its own page does. */
  open: ((address: string) => void) | undefined
}

/** Returns the sealed address of a passage, which is the last part of its URL. */
export const readPassageAddress = (url: string): string => url.slice(url.lastIndexOf('/') + 1)

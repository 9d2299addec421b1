import type { Readable } from 'node:stream'

/**
 * Why a file gave no text: it needs a password, it is not what it says or broken, it is larger inside than is allowed,
 * or reading it took more memory or time than is allowed.
 */
export const unreadableReasons = ['encrypted', 'damaged', 'too-large', 'too-much-memory', 'too-slow'] as const
export type Unreadable = (typeof unreadableReasons)[number]

export type ExtractedText =
  /** `truncated` says that the file has more text than is kept. A picture, for example, has none: `''`. */
  { text: string; truncated: boolean } | { unreadable: Unreadable }

export interface FileToRead {
  /** Its media type, by its bytes. */
  mime: string
  bytes: number
  /** Its bytes from the beginning; may be called again. */
  open(): Readable
}

/** Reads the text of files apart from the service, in little memory and time. */
export interface TextExtractor {
  /** Whether files of a media type may have text. */
  mayRead(mime: string): boolean
  /** Throws where something other than the file is at fault, so that another try may succeed. */
  extract(file: FileToRead, signal?: AbortSignal): Promise<ExtractedText>
}

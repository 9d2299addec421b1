import type { Readable } from 'node:stream'

/** Kinds of files that have text in them. */
export const textKinds = ['pdf', 'docx', 'xlsx', 'pptx', 'odt', 'ods', 'odp', 'rtf', 'html', 'plain'] as const
export type TextKind = (typeof textKinds)[number]

/**
 * Why a file gave no text: it needs a password, it is not what it says or broken, it is larger inside than is allowed,
 * or reading it took more memory or time than is allowed.
 */
export const unreadableReasons = ['encrypted', 'damaged', 'too-large', 'too-much-memory', 'too-slow'] as const
export type Unreadable = (typeof unreadableReasons)[number]

export type ExtractedText =
  /** `truncated` says that the file has more text than is kept. */
  { text: string; truncated: boolean } | { unreadable: Unreadable }

/** Reads the text of files apart from the service, in little memory and time. Throws where that itself fails. */
export interface TextExtractor {
  extract(file: Readable, kind: TextKind, signal?: AbortSignal): Promise<ExtractedText>
}

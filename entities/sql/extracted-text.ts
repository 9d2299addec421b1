/**
 * Reasons without text: password-protected, damaged or mislabelled, too large inside, too much memory, too slow,
 * unknown character encoding, or not read after all retries.
 */
export const textFailures = [
  'encrypted',
  'damaged',
  'too-large',
  'too-much-memory',
  'too-slow',
  'unknown-encoding',
  'not-read',
] as const
export type TextFailure = (typeof textFailures)[number]

/**
 * Content that a text lacks: pictures, pages without text, embedded files, unreadable parts, cells beyond the limit,
 * and characters that the file does not map.
 */
export const textGaps = ['pictures', 'pages', 'embedded-files', 'parts', 'cells', 'characters'] as const

/** A gap of a text, and its number. */
export interface TextNote {
  gap: (typeof textGaps)[number]
  count: number
}

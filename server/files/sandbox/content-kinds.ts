/** Kinds of files that contain text. */
export type TextKind = 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'odt' | 'ods' | 'odp' | 'rtf' | 'html' | 'markdown' | 'plain'

/** Formats of converter responses: an archive of Markdown files, or JSON of two shapes. */
const converterResponseKinds = ['markdown-zip', 'docling-json', 'kreuzberg-json'] as const
export type ConverterResponseKind = (typeof converterResponseKinds)[number]

export const isConverterResponse = (kind: string): kind is ConverterResponseKind =>
  (converterResponseKinds as readonly string[]).includes(kind)

/** A file, or the response of a converter for one. */
export type ContentKind = TextKind | ConverterResponseKind

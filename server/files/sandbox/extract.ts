import { type ContentKind, isConverterResponse } from './content-kinds.ts'
import { createTextCollector, type TextCollector, UnreadableError } from './text-collector.ts'

/** Returns the text of a file, or the reason why it has none. */
export async function extractText(bytes: Buffer, kind: ContentKind, maxCharacters: number) {
  const text = createTextCollector(maxCharacters)
  try {
    await readContent(bytes, kind, text)
    return text.result()
  } catch (error) {
    return { unreadable: error instanceof UnreadableError ? error.reason : ('damaged' as const) }
  }
}

/** Parsers are loaded only when they are needed. */
async function readContent(bytes: Buffer, kind: ContentKind, text: TextCollector): Promise<void> {
  if (isConverterResponse(kind))
    return (await import('./converter-responses.ts')).readConverterResponse(bytes, kind, text)
  if (kind === 'pdf') return (await import('./pdf.ts')).readPdf(bytes, text)
  if (kind === 'plain') return (await import('./plain.ts')).readPlain(bytes, text)
  if (kind === 'markdown') return (await import('./markdown.ts')).readMarkdown(bytes, text)
  return (await import('./office.ts')).readOffice(bytes, kind, text)
}

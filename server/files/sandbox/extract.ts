import { type Collector, createCollector, Unreadable } from './collector.ts'
import { type ContentKind, isAnswer } from './content-kinds.ts'

/** Reads the text of a file, or why there is none. */
export async function extract(bytes: Buffer, kind: ContentKind, maxCharacters: number) {
  const text = createCollector(maxCharacters)
  try {
    await read(bytes, kind, text)
    return text.result()
  } catch (error) {
    return { unreadable: error instanceof Unreadable ? error.reason : ('damaged' as const) }
  }
}

/** A parser is loaded only for files that need it. */
async function read(bytes: Buffer, kind: ContentKind, text: Collector): Promise<void> {
  if (isAnswer(kind)) return (await import('./converter-answers.ts')).readAnswer(bytes, kind, text)
  if (kind === 'pdf') return (await import('./pdf.ts')).readPdf(bytes, text)
  if (kind === 'plain') return (await import('./plain.ts')).readPlain(bytes, text)
  return (await import('./office.ts')).readOffice(bytes, kind, text)
}

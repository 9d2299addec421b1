import { getDocumentProxy } from 'unpdf'
import { type TextCollector, UnreadableError } from './text-collector.ts'

const MAX_PAGES = 5000

type Document = Awaited<ReturnType<typeof getDocumentProxy>>
type Page = Awaited<ReturnType<Document['getPage']>>

/** Reads page by page until the text is full. Nothing is rendered, and no image is decoded. */
export async function readPdf(bytes: Buffer, text: TextCollector): Promise<void> {
  const document = await openDocument(bytes)
  if (document.numPages > MAX_PAGES) throw new UnreadableError('too-large')
  for (let number = 1; number <= document.numPages && !text.isFull; number++) {
    text.mark('page', number)
    await readPage(document, number, text)
    text.add('\n\n')
  }
}

async function openDocument(bytes: Buffer): Promise<Document> {
  const options = { disableFontFace: true, useSystemFonts: false, enableXfa: false, maxImageSize: 1, verbosity: 0 }
  // The library takes ownership of the memory, so it gets a copy.
  return getDocumentProxy(new Uint8Array(bytes), options).catch((error: Error) => {
    throw new UnreadableError(error.name === 'PasswordException' ? 'encrypted' : 'damaged', error)
  })
}

async function readPage(document: Document, number: number, text: TextCollector): Promise<void> {
  const page = await document.getPage(number)
  let isEmpty = true
  for await (const part of readPageTexts(page)) {
    if (text.isFull) return
    if (/\S/.test(part)) isEmpty = false
    text.reportGap('characters', part.match(unknownCharacters)?.length ?? 0)
    text.add(part)
  }
  if (isEmpty) text.reportGap('pages')
  page.cleanup()
}

async function* readPageTexts(page: Page): AsyncGenerator<string, void> {
  const chunks = page.streamTextContent().getReader()
  for (let chunk = await chunks.read(); !chunk.done; chunk = await chunks.read()) yield* chunk.value.items.map(readItem)
  yield* (await page.getAnnotations()).map(writeAnnotation)
}

/** Characters that the font maps to no known character. */
const unknownCharacters = /[\ufffd\ue000-\uf8ff]/g

const readItem = (item: object): string =>
  'str' in item ? `${item.str}${'hasEOL' in item && item.hasEOL ? '\n' : ''}` : ''

interface Annotation {
  subtype?: string
  fieldName?: string
  fieldValue?: unknown
  checkBox?: boolean
  contentsObj?: { str?: string }
}

/** Writes a filled form field, a check box or a comment. */
function writeAnnotation({ subtype, fieldName = '', fieldValue, checkBox, contentsObj }: Annotation): string {
  if (checkBox) return `\n${fieldValue && fieldValue !== 'Off' ? '☒' : '☐'} ${fieldName}`
  if (subtype === 'Widget') return typeof fieldValue === 'string' && fieldValue ? `\n${fieldName}: ${fieldValue}` : ''
  return subtype !== 'Link' && contentsObj?.str ? `\n[Comment: ${contentsObj.str}]` : ''
}

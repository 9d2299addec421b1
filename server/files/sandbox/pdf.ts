import { getDocumentProxy } from 'unpdf'
import { type Collector, Unreadable } from './collector.ts'

const MAX_PAGES = 5000

type Document = Awaited<ReturnType<typeof getDocumentProxy>>
type Page = Awaited<ReturnType<Document['getPage']>>

/** Page by page, as far as there is room; nothing is drawn, and no image is decoded. */
export async function readPdf(bytes: Buffer, text: Collector): Promise<void> {
  const document = await open(bytes)
  if (document.numPages > MAX_PAGES) throw new Unreadable('too-large')
  for (let number = 1; number <= document.numPages && !text.isFull; number++) {
    await readPage(document, number, text)
    text.add('\n\n')
  }
}

async function open(bytes: Buffer): Promise<Document> {
  const options = { disableFontFace: true, useSystemFonts: false, enableXfa: false, maxImageSize: 1, verbosity: 0 }
  // The library takes the memory for its own, so it gets a copy of the pool's part.
  return getDocumentProxy(new Uint8Array(bytes), options).catch((error: Error) => {
    throw new Unreadable(error.name === 'PasswordException' ? 'encrypted' : 'damaged', error)
  })
}

async function readPage(document: Document, number: number, text: Collector): Promise<void> {
  const page = await document.getPage(number)
  let isEmpty = true
  for await (const written of writtenOn(page)) {
    if (text.isFull) return
    if (/\S/.test(written)) isEmpty = false
    text.note('characters', written.match(UNKNOWN)?.length ?? 0)
    text.add(written)
  }
  if (isEmpty) text.note('pages')
  page.cleanup()
}

async function* writtenOn(page: Page): AsyncGenerator<string, void> {
  const chunks = page.streamTextContent().getReader()
  for (let chunk = await chunks.read(); !chunk.done; chunk = await chunks.read()) yield* chunk.value.items.map(readItem)
  yield* (await page.getAnnotations()).map(writtenIn)
}

/** What a font does not name is a character of no meaning. */
const UNKNOWN = /[\ufffd\ue000-\uf8ff]/g

const readItem = (item: object): string =>
  'str' in item ? `${item.str}${'hasEOL' in item && item.hasEOL ? '\n' : ''}` : ''

interface Annotation {
  subtype?: string
  fieldName?: string
  fieldValue?: unknown
  checkBox?: boolean
  contentsObj?: { str?: string }
}

/** What somebody filled into a form, ticked, or noted on a page. */
function writtenIn({ subtype, fieldName = '', fieldValue, checkBox, contentsObj }: Annotation): string {
  if (checkBox) return `\n${fieldValue && fieldValue !== 'Off' ? '☒' : '☐'} ${fieldName}`
  if (subtype === 'Widget') return typeof fieldValue === 'string' && fieldValue ? `\n${fieldName}: ${fieldValue}` : ''
  return subtype !== 'Link' && contentsObj?.str ? `\n[Comment: ${contentsObj.str}]` : ''
}

import { getDocumentProxy } from 'unpdf'
import type { Collector } from './collector.ts'
import { Unreadable } from './unreadable.ts'

const MAX_PAGES = 5000

type Document = Awaited<ReturnType<typeof getDocumentProxy>>

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
  const chunks = page.streamTextContent().getReader()
  while (!text.isFull) {
    const { done, value } = await chunks.read()
    if (done) return void page.cleanup()
    for (const item of value.items) addItem(item, text)
  }
}

const addItem = (item: object, text: Collector) => {
  if ('str' in item) text.add(`${item.str}${'hasEOL' in item && item.hasEOL ? '\n' : ''}`)
}

import { setImmediate } from 'node:timers/promises'
import type { FilePart, StoredFilePart } from '../../ports/ai/messages.ts'
import type { AskedFiles } from '../../ports/ai/models.ts'
import { estimateFileTokens } from './input-tokens.ts'
import { countPdfPages } from './pdf-pages.ts'
import type { AskedMessage } from './request.ts'

/** As many pages as any provider reads of a document, and the bytes that each has at least, where they cannot be counted. */
const MAX_PAGES = 1000
const MIN_PAGE_BYTES = 1000

/** In characters of base64, which are four for three bytes. */
const SLICE = 4 * 65_536

/** What the images and documents of a request are: of these providers may count more than we estimate. */
export async function countFiles(messages: readonly AskedMessage[]): Promise<AskedFiles> {
  const files: AskedFiles = { images: 0, pages: 0, estimate: 0 }
  for (const { content } of messages) for (const file of filesAmong(content)) await add(file, files)
  return files
}

async function add(file: FilePart | StoredFilePart, files: AskedFiles): Promise<void> {
  const isImage = file.mime.startsWith('image/')
  if (!isImage && file.mime !== 'application/pdf') return
  files.estimate += estimateFileTokens(file)
  if (isImage) files.images++
  else files.pages += await countPages(file)
}

function* filesAmong(parts: readonly AskedMessage['content'][number][]): Generator<FilePart | StoredFilePart, void> {
  for (const part of parts)
    if (part.type === 'tool-result') yield* filesAmong(part.content)
    else if (part.type === 'file' || part.type === 'stored-file') yield part
}

async function countPages(file: FilePart | StoredFilePart): Promise<number> {
  const [pages, bytes] =
    file.type === 'file'
      ? [await countPdfPages(readSlices(file.data)), (file.data.length / 4) * 3]
      : // Whoever sends it is told why it cannot be read.
        [await file.content.pages().catch(() => undefined), file.content.bytes]
  return Math.min(MAX_PAGES, pages ?? Math.ceil(bytes / MIN_PAGE_BYTES))
}

/** The bytes of a file, between which other requests have their turn. */
async function* readSlices(base64: string): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < base64.length; at += SLICE) {
    yield Buffer.from(base64.slice(at, at + SLICE), 'base64')
    await setImmediate()
  }
}

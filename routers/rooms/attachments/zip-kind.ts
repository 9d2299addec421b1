import { buffer } from 'node:stream/consumers'
import { fromRandomAccessReaderPromise } from 'yauzl'
import type { RandomAccessFile } from './random-access-file.ts'

const ZIP = 'application/zip'
const MAX_ENTRIES = 10_000

/** The list of content types in a document with very many parts is some hundred kilobytes long. */
const MAX_BYTES = 1024 * 1024
const MAX_MIME = 100

/** What tells the kind of an archive: a list of the content types of its parts, or the one type of all of it. */
const markers = ['[Content_Types].xml', 'mimetype']

/** The media type of an archive by the entries that its central directory lists, wherever they lie. */
export async function detectZipKind(file: RandomAccessFile): Promise<string> {
  try {
    return (await markedKind(file)) || ZIP
  } catch (error) {
    // What is wrong with the archive is the matter of whoever reads it; what is wrong with the store is not.
    if (file.failure) throw error
    return ZIP
  }
}

async function markedKind(file: RandomAccessFile): Promise<string | undefined> {
  const zip = await fromRandomAccessReaderPromise(file.asZipReader(), file.size, { strictFileNames: false })
  if (zip.entryCount > MAX_ENTRIES) return undefined
  for await (const entry of zip.eachEntry()) {
    const { fileName, uncompressedSize } = entry
    if (!markers.includes(fileName)) continue
    if (uncompressedSize > MAX_BYTES) return undefined
    const text = (await buffer(await zip.openReadStreamPromise(entry))).toString()
    return fileName === 'mimetype' ? text.trim().slice(0, MAX_MIME) : detectOfficeKind(text)
  }
  return undefined
}

/** By the content type of the main part: `….document.main+xml`. */
function detectOfficeKind(contentTypes: string): string | undefined {
  const [, kind] = contentTypes.match(/["']application\/([\w.+-]{1,120})\.main\+xml["']/i) ?? []
  return kind && `application/${kind.toLowerCase()}`
}

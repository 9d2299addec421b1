import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
// Reads archives of strangers: it checks each size, and reads a part without the rest.
import { fromRandomAccessReaderPromise, RandomAccessReader } from 'yauzl'
import type { RandomAccessFile } from './random-access-file.ts'

const ZIP = 'application/zip'
const MAX_ENTRIES = 10_000

/** The largest content type list; a document with very many parts has some hundred kilobytes. */
const MAX_BYTES = 1024 * 1024
const MAX_MIME = 100

/** The entries that reveal the type of an archive: a list of the content types of its parts, or its one media type. */
const kindEntries = ['[Content_Types].xml', 'mimetype']

/** Detects the media type of an archive by the entries of its central directory. */
export async function detectZipKind(file: RandomAccessFile): Promise<string> {
  try {
    return (await readKindEntry(file)) || ZIP
  } catch (error) {
    // A damaged archive is stored as ZIP; a failure of the store is rethrown.
    if (file.failure) throw error
    return ZIP
  }
}

async function readKindEntry(file: RandomAccessFile): Promise<string | undefined> {
  const zip = await fromRandomAccessReaderPromise(new ZipReader(file), file.size, { strictFileNames: false })
  if (zip.entryCount > MAX_ENTRIES) return undefined
  for await (const entry of zip.eachEntry()) {
    const { fileName, uncompressedSize } = entry
    if (!kindEntries.includes(fileName)) continue
    if (uncompressedSize > MAX_BYTES) return undefined
    const text = (await buffer(await zip.openReadStreamPromise(entry))).toString()
    return fileName === 'mimetype' ? text.trim().slice(0, MAX_MIME) : detectOfficeKind(text)
  }
  return undefined
}

/** Reads the content type of the main part: `….document.main+xml`. */
function detectOfficeKind(contentTypes: string): string | undefined {
  const [, kind] = contentTypes.match(/["']application\/([\w.+-]{1,120})\.main\+xml["']/i) ?? []
  return kind && `application/${kind.toLowerCase()}`
}

class ZipReader extends RandomAccessReader {
  readonly #file: RandomAccessFile

  constructor(file: RandomAccessFile) {
    super()
    this.#file = file
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#file.readRange(start, end), { objectMode: false })
  }
}

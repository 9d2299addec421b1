import { finished } from 'node:stream/promises'
// Reads archives of strangers: it checks each size, and reads a part without the rest.
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import { UnreadableError } from './text-collector.ts'

const MAX_ENTRIES = 10_000
const MAX_NAME_LENGTH = 512
const MAX_BYTES = 128 * 1024 * 1024

/** Maximum compression ratio. Repetitive text stays below it; small entries are not checked. */
const MAX_RATIO = 250
const RATIO_FROM = 1024 * 1024

/** Folders in which documents embed other documents, such as the workbook of a chart. No parser opens these. */
export const embeddedDocument = /(^|\/)(embeddings|ObjectReplacements|Object [^/]*)(\/|$)/

/**
 * Inflates every entry through a counter before a parser reads any of it, since the sizes in the archive's directory
 * cannot be trusted. Returns the names of the entries; throws `UnreadableError` if the archive is not safe to parse.
 */
export async function inspectZip(bytes: Buffer): Promise<ReadonlySet<string>> {
  const zip = await fromBufferPromise(bytes, { strictFileNames: false, validateEntrySizes: true }).catch(throwDamaged)
  const budget = { bytes: MAX_BYTES, names: new Set<string>() }
  if (zip.entryCount > MAX_ENTRIES) throw new UnreadableError('too-large')
  try {
    for await (const entry of zip.eachEntry()) await countEntry(zip, entry, budget)
  } catch (error) {
    throw error instanceof UnreadableError ? error : new UnreadableError('damaged', error)
  }
  return budget.names
}

interface Budget {
  /** Remaining bytes. */
  bytes: number
  names: Set<string>
}

async function countEntry(zip: ZipFile, entry: Entry, budget: Budget): Promise<void> {
  assertName(entry.fileName, budget.names)
  if (entry.isEncrypted()) throw new UnreadableError('encrypted')
  if (entry.fileName.endsWith('/')) return
  const stream = await zip.openReadStreamPromise(entry)
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    if (size === 0 && isArchive(chunk) && !embeddedDocument.test(entry.fileName))
      stream.destroy(new UnreadableError('damaged'))
    size += chunk.length
    budget.bytes -= chunk.length
    if (budget.bytes < 0 || isBomb(size, entry.compressedSize)) stream.destroy(new UnreadableError('too-large'))
  })
  await finished(stream)
}

/** The guard and the parser could read different entries of the same name. */
function assertName(name: string, names: Set<string>): void {
  if (name.length > MAX_NAME_LENGTH || names.has(name)) throw new UnreadableError('damaged')
  names.add(name)
  if (names.size > MAX_ENTRIES) throw new UnreadableError('too-large')
}

const isBomb = (size: number, compressed: number) => size > RATIO_FROM && size > compressed * MAX_RATIO

const signatures = [
  'PK\x03\x04',
  '\x1f\x8b\x08',
  '7z\xbc\xaf\x27\x1c',
  'Rar!\x1a\x07',
  'BZh',
  '\xfd7zXZ\0',
  '\x28\xb5\x2f\xfd',
]

const isArchive = (chunk: Buffer) => {
  const head = chunk.toString('latin1', 0, 8)
  return signatures.some((signature) => head.startsWith(signature))
}

function throwDamaged(error: unknown): never {
  throw new UnreadableError('damaged', error)
}

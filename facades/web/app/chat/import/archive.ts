import { BlobReader, type FileEntry, ZipReader } from '@zip.js/zip.js/lib/zip-core-custom.js'

/** A file in JSON, by itself or in an archive. */
export interface JsonFile {
  name: string
  /** In bytes, unpacked, as it says itself; reading one that has more fails. */
  size: number
  /** Writes its bytes to where they are read. */
  pipeTo(sink: WritableStream<Uint8Array>): Promise<void>
}

/** An archive of so many files is none of a front end. */
const MAX_FILES = 100_000

/** The files in JSON of an archive, by its directory, which stands at its end; or the file itself. */
export async function listJsonFiles(file: File): Promise<JsonFile[]> {
  if (!(await isArchive(file))) {
    const { name, size } = file
    return [{ name, size, pipeTo: (sink) => (file.stream() as ReadableStream<Uint8Array>).pipeTo(sink) }]
  }
  const reader = new ZipReader(new BlobReader(file), { useWebWorkers: false })
  const files: JsonFile[] = []
  let count = 0
  for await (const entry of reader.getEntriesGenerator()) {
    if (++count > MAX_FILES) throw new Error('There are too many files in the archive.')
    if (!entry.directory && entry.filename.toLowerCase().endsWith('.json')) files.push(toJsonFile(entry))
  }
  return files
}

function toJsonFile(entry: FileEntry): JsonFile {
  const { filename, uncompressedSize } = entry
  return {
    name: filename.slice(-MAX_NAME),
    size: uncompressedSize,
    pipeTo: async (sink) => {
      await entry.getData(sink, { checkSignature: true })
    },
  }
}

/** What is shown of a name. */
const MAX_NAME = 120

const ZIP = [0x50, 0x4b]

async function isArchive(file: File): Promise<boolean> {
  const begin = new Uint8Array(await file.slice(0, ZIP.length).arrayBuffer())
  return ZIP.every((byte, index) => begin[index] === byte)
}

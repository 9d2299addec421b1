// Reads an archive of any size from the disk of a browser, a part at a time.
import { BlobReader, BlobWriter, ZipReader } from '@zip.js/zip.js/lib/zip-core-custom.js'
import type { Salts } from '../../browser/crypto.ts'

/** The content of `manifest.json`, as `server/personal-data/archive.ts` writes it. */
interface Manifest {
  createdAt: string
  service: string
  salts: Salts
  person: { id: number; username: string; displayName: string }
  types: Record<string, { files: string[]; rows: number }>
  files: Record<string, string>
  /** Absent in archives of earlier versions. */
  sharedCopies?: Record<string, string>
  damagedFiles: string[]
}

/** A row of an archive, as a resource object of JSON:API. */
export interface Row<Attributes = Record<string, unknown>> {
  type: string
  id: string
  attributes: Attributes
  relationships?: Record<string, { data?: { id: string } | null }>
}

/** The chosen files are no archive. */
export class NotAnArchive extends Error {
  override readonly name = 'NotAnArchive'
}

/** An archive of a person's data: a ZIP, or its unpacked folder. */
export class Archive {
  readonly manifest: Manifest
  readonly #read: ReadEntry

  private constructor(manifest: Manifest, read: ReadEntry) {
    this.manifest = manifest
    this.#read = read
  }

  static async open(files: readonly File[]): Promise<Archive> {
    const [first] = files
    if (!first) throw new NotAnArchive()
    const isFolder = first.webkitRelativePath !== ''
    const read = isFolder ? readFolder(files) : await readZip(first)
    const text = await (await read('manifest.json')).text()
    const manifest = JSON.parse(text) as Manifest & { format?: number }
    if (manifest.format !== 1) throw new NotAnArchive()
    return new Archive(manifest, read)
  }

  /** Reads the rows of a type file by file, so that few are in memory. */
  async *readRows<Attributes>(type: string): AsyncGenerator<Row<Attributes>, void> {
    for (const path of this.manifest.types[type]?.files ?? [])
      yield* (JSON.parse(await (await this.#read(path)).text()) as { data: Row<Attributes>[] }).data
  }

  /** Reads all rows of a type that has few. */
  async readAllRows<Attributes>(type: string): Promise<Row<Attributes>[]> {
    const found: Row<Attributes>[] = []
    for await (const row of this.readRows<Attributes>(type)) found.push(row)
    return found
  }

  /** Reads an uploaded file by the id of its attachment. */
  async readFile(id: string): Promise<Blob> {
    return this.#readPath(this.manifest.files[id])
  }

  /** Reads the sealed copy that a link leads to, by the address of the link. */
  async readSharedCopy(address: string): Promise<Blob> {
    return this.#readPath(this.manifest.sharedCopies?.[address])
  }

  async #readPath(path: string | undefined): Promise<Blob> {
    if (path === undefined) throw new NotAnArchive()
    return this.#read(path)
  }
}

type ReadEntry = (path: string) => Promise<Blob>

async function readZip(file: File): Promise<ReadEntry> {
  const reader = new ZipReader(new BlobReader(file), { useWebWorkers: false })
  const entries = await reader.getEntries().catch((cause: unknown) => {
    throw new NotAnArchive('', { cause })
  })
  const byName = new Map(entries.map((entry) => [entry.filename, entry]))
  return async (path) => {
    const entry = byName.get(path)
    if (!entry || entry.directory) throw new NotAnArchive()
    return entry.getData(new BlobWriter(), { checkSignature: true })
  }
}

/** Reads files by their path in the chosen folder. */
function readFolder(files: readonly File[]): ReadEntry {
  const byPath = new Map(files.map((file) => [file.webkitRelativePath.split('/').slice(1).join('/'), file]))
  return async (path) => {
    const file = byPath.get(path)
    if (!file) throw new NotAnArchive()
    return file
  }
}

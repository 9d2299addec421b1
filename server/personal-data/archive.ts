import { PassThrough, Readable, Writable } from 'node:stream'
// Writes archives of any size as a stream, and browsers read them with it.
import { ZipWriter } from '@zip.js/zip.js/lib/zip-core-custom.js'
import { listKnowledgeFilesOf } from '../../entities/assistants/knowledge-maintenance.sql.ts'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { listFilesOfUploader } from '../../entities/rooms/attachment.sql.ts'
import { listCopiesOf } from '../../entities/rooms/shared-link.sql.ts'
import { createWireNames } from '../../facades/http/names.ts'
import { declaredMembers } from '../../facades/json-api/members.ts'
import { createContext } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Services } from '../../routers/core/services.ts'
import { createCaller } from '../../routers/index.ts'
import { personalTables } from './contents.ts'
import { type PersonalRows, type RowParts, readPersonalRows } from './rows.ts'

export interface ArchiveParts {
  services: Services
  /** Reads the page that shows an archive. */
  readPage(): Promise<Uint8Array>
}

/** The page that shows the archive loads each file as a whole. */
const ROWS_PER_FILE = 1000

/** Number of files in one statement. */
const FILES_AT_ONCE = 100

const README = `This is a copy of what the service keeps of you. Open the file open.html in a browser: it needs no network, and your
passkey opens in it what is encrypted. The folder data has everything as JSON, the folder files your files,
the folder knowledge those that you search in, and the folder shared the copies of conversations that you have shared,
which the page opens, too.

Dies ist eine Kopie dessen, was der Dienst von Ihnen hat. Öffnen Sie die Datei open.html in einem Browser: Sie braucht kein
Netz, und Ihr Passkey öffnet darin, was verschlüsselt ist. Im Ordner data steht alles als JSON, im Ordner files liegen Ihre
Dateien, im Ordner knowledge die, in denen Sie suchen, im Ordner shared die Kopien von Unterhaltungen, die Sie geteilt
haben und die diese Seite ebenfalls öffnet.
`

/** Streams all data of a person as a ZIP archive. Stops when the signal aborts. */
export async function* writeArchive(
  parts: ArchiveParts,
  userId: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const output = new PassThrough()
  const zip = new ZipWriter(Writable.toWeb(output), { useWebWorkers: false, signal })
  const archive = new PersonArchive(parts, zip)
  const writing = archive
    .write(userId)
    .then(() => zip.close())
    .catch((error: Error) => output.destroy(error))
  try {
    yield* output
  } finally {
    output.destroy()
    await writing
  }
}

interface Manifest {
  format: 1
  createdAt: string
  /** Address and version of the service. */
  service: string
  version: string
  /** Salts from which keys are derived, together with the passkey. */
  salts: Services['settings']['public']['salts']
  person: { id: number; username: string; displayName: string }
  /** Files with the rows of each type, and the number of rows. */
  types: Record<string, { files: string[]; rows: number }>
  /** Paths of uploaded files, by attachment id. */
  files: Record<string, string>
  /** Paths of files of knowledge, by the id of the file. */
  knowledgeFiles: Record<string, string>
  /** Paths of the sealed copies that links lead to, by the address of the link. */
  sharedCopies: Record<string, string>
  /** Paths of files that could not be read completely. */
  damagedFiles: string[]
}

class PersonArchive {
  readonly #services: Services
  readonly #readPage: ArchiveParts['readPage']
  readonly #zip: ZipWriter<unknown>

  constructor({ services, readPage }: ArchiveParts, zip: ZipWriter<unknown>) {
    this.#services = services
    this.#readPage = readPage
    this.#zip = zip
  }

  async write(userId: number): Promise<void> {
    const person = await this.#services.em.fork().findOne(User, userId)
    if (!person || userId === AI_USER_ID) throw new Problem('not_found')
    const { username, name: displayName, avatar } = person
    const manifest = this.#createManifest({ id: userId, username, displayName })
    await this.#add('README.txt', toIterable(README))
    await this.#add('open.html', toIterable(await this.#readPage()))
    const rows = this.#buildRowParts(person)
    for (const table of personalTables) await this.#addRows(manifest, readPersonalRows(table, rows))
    await this.#addRows(manifest, { type: 'usage-limits', batches: this.#readLimits(person) })
    if (avatar) await this.#addFile(manifest, 'picture.webp', this.#readPicture(avatar))
    await this.#addFiles(manifest, userId)
    await this.#addKnowledge(manifest, userId)
    await this.#addSharedCopies(manifest, userId)
    // The manifest comes last, so that it proves that the archive is complete.
    await this.#add('manifest.json', toIterable(JSON.stringify(manifest, null, 2)))
  }

  #createManifest(person: Manifest['person']): Manifest {
    const { settings } = this.#services
    return {
      format: 1,
      createdAt: new Date().toISOString(),
      service: settings.baseUrl,
      version: settings.version,
      salts: settings.public.salts,
      person,
      types: {},
      files: {},
      knowledgeFiles: {},
      sharedCopies: {},
      damagedFiles: [],
    }
  }

  #buildRowParts({ id: viewer, groups }: User): RowParts {
    const { em, records, settings, vault } = this.#services
    const { baseUrl: origin, brand, defaultLocale } = settings
    const names = createWireNames(brand)
    return {
      records,
      vault,
      metadata: em.getMetadata(),
      documentContext: {
        resources: new Map(records.resources.all.map((resource) => [resource.type, resource])),
        members: declaredMembers,
        names,
        origin,
        baseUrl: origin + names.basePath,
      },
      viewer: { viewer, usage: 'main', groups, models: null, locale: defaultLocale, defaultLocale, brand },
    }
  }

  /** Writes a JSON:API document for each thousand rows, and at least one. */
  async #addRows(manifest: Manifest, { type, batches }: PersonalRows): Promise<void> {
    const listing = { files: [] as string[], rows: 0 }
    manifest.types[type] = listing
    const batch = batches[Symbol.asyncIterator]()
    try {
      let next = await batch.next()
      do {
        const path = `data/${type}${listing.files.length > 0 ? `-${listing.files.length + 1}` : ''}.json`
        listing.files.push(path)
        await this.#add(path, writeDocument())
      } while (!next.done)
      async function* writeDocument() {
        yield '{"jsonapi":{"version":"1.1"},"data":['
        for (let rows = 0; !next.done && rows < ROWS_PER_FILE; next = await batch.next()) {
          yield `${rows > 0 ? ',' : ''}\n${next.value.map((row) => JSON.stringify(row)).join(',\n')}`
          rows += next.value.length
          listing.rows += next.value.length
        }
        yield '\n]}\n'
      }
    } finally {
      await batch.return?.()
    }
  }

  /** Reads the usage limits as the person sees them. */
  async *#readLimits({ id, username, name, email, role, groups }: User): PersonalRows['batches'] {
    const caller = { type: 'user' as const, person: { id, username, name, email, role, groups } }
    const limits = await createCaller(createContext(this.#services, { caller, requestId: 'export' })).usage.limits()
    if (limits.length > 0)
      yield limits.map((attributes, at) => ({
        type: 'usage-limits',
        id: String(at + 1),
        attributes: { ...attributes },
      }))
  }

  async *#readPicture(key: string) {
    yield await this.#services.files.storage.get(key)
  }

  async #addFiles(manifest: Manifest, userId: number): Promise<void> {
    const { sql } = this.#services
    const { attachments: files } = this.#services.files
    // A cursor would occupy its connection for as long as the files are read.
    for (let after = 0; ; ) {
      const rows = await sql(listFilesOfUploader, [userId, after, FILES_AT_ONCE])
      for (const { id, uuid, name, bytes, sealedKey, clientEncrypted } of rows) {
        const path = `files/${id}${clientEncrypted ? '.sealed' : getExtension(name)}`
        manifest.files[id] = path
        await this.#addFile(manifest, path, files.read({ name: uuid, bytes, sealedKey }))
      }
      if (rows.length < FILES_AT_ONCE) return
      after = rows.at(-1)?.id ?? 0
    }
  }

  async #addKnowledge(manifest: Manifest, userId: number): Promise<void> {
    const { sql, files } = this.#services
    for (let after = 0; ; ) {
      const rows = await sql(listKnowledgeFilesOf, [userId, after, FILES_AT_ONCE])
      for (const { id, path: knowledgePath, ...file } of rows) {
        const path = `knowledge/${id}${getExtension(knowledgePath)}`
        manifest.knowledgeFiles[id] = path
        await this.#addFile(manifest, path, files.knowledge.read(file))
      }
      if (rows.length < FILES_AT_ONCE) return
      after = rows.at(-1)?.id ?? 0
    }
  }

  async #addSharedCopies(manifest: Manifest, userId: number): Promise<void> {
    const { sql, files } = this.#services
    for (let after = 0; ; ) {
      const rows = await sql(listCopiesOf, [userId, after, FILES_AT_ONCE])
      for (const { address, ...file } of rows) {
        const path = `shared/${address}.sealed`
        manifest.sharedCopies[address] = path
        await this.#addFile(manifest, path, files.sharedCopies.read(file))
      }
      if (rows.length < FILES_AT_ONCE) return
      after = rows.at(-1)?.id ?? 0
    }
  }

  /**
   * Skips the rest of a damaged file, and lists it in the manifest. If the storage is unavailable, the whole export
   * fails and is retried.
   */
  async #addFile(manifest: Manifest, path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    async function* readUntilDamaged() {
      try {
        yield* content
      } catch (error) {
        if (error instanceof Problem) throw error
        manifest.damagedFiles.push(path)
      }
    }
    // Encrypted and compressed files would not get smaller.
    await this.#add(path, readUntilDamaged(), 0)
  }

  async #add(path: string, content: AsyncIterable<Uint8Array | string>, level = 6): Promise<void> {
    const bytes = Readable.toWeb(Readable.from(content, { objectMode: false }))
    await this.#zip.add(path, bytes as ReadableStream<Uint8Array>, { level })
  }
}

async function* toIterable(content: Uint8Array | string) {
  yield content
}

const getExtension = (name: string) => /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? ''

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import mime from 'mime'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Problem } from '../../routers/core/problems.ts'
import { chooseCoding } from '../http/negotiation.ts'
import {
  APP_BASE,
  ARCHIVE_PAGE,
  buildIfChanged,
  type EntryName,
  entries,
  ignoreMissing,
  listBuildFolders,
  listEarlierBuilds,
  MANIFEST,
} from './app-build.ts'

/** The files that a page loads first; their addresses change with the content. */
export interface AppEntry {
  script: string
  styles: string[]
  /** Scripts that the entry imports. */
  imports: string[]
}

/** The source of the front end. */
export interface AppSource {
  entry(name: EntryName): Promise<AppEntry>
  /** Registers the routes of its files. */
  serve(app: FastifyInstance): void
  /** Additions to the policy of its pages, by directive. */
  relaxations?: Readonly<Record<string, string>>
}

declare module 'fastify' {
  interface FastifyInstance {
    appSource: AppSource
  }
}

/** The files of the built front end. */
export class AppFiles implements AppSource {
  readonly #folders: string[]

  /** Accepts a fallback folder if the default one is read-only. */
  constructor(fallback?: string) {
    this.#folders = listBuildFolders(fallback)
  }

  /** Builds the app if its sources have changed. */
  readonly build = lazyPromise(() => buildIfChanged(this.#folders))
  readonly #entries = lazyPromise(() => this.build().then(readEntries))

  async entry(name: EntryName): Promise<AppEntry> {
    return (await this.#entries())[name]
  }

  serve(app: FastifyInstance): void {
    serveAppFiles(app, this)
  }

  /** Reads the page that opens a personal data archive. */
  readonly readArchivePage = async (): Promise<Buffer> => readFile(join(await this.build(), ARCHIVE_PAGE))

  /** Reads a file of the newest build, or of an earlier one for pages opened before a restart. */
  async read(name: string): Promise<Buffer | undefined> {
    const read = (folder: string) => readFile(join(folder, name)).catch(ignoreMissing)
    const newest = await read(await this.build())
    if (newest) return newest
    for (const folder of await listEarlierBuilds(this.#folders)) {
      const body = await read(folder)
      if (body) return body
    }
    return undefined
  }
}

interface Chunk {
  file: string
  imports?: string[]
  css?: string[]
}

async function readEntries(folder: string): Promise<Record<EntryName, AppEntry>> {
  const manifest = JSON.parse(await readFile(join(folder, MANIFEST), 'utf8')) as Record<string, Chunk>
  const read = (name: EntryName) => readEntry(manifest, entries[name])
  return { app: read('app'), signIn: read('signIn'), share: read('share') }
}

function readEntry(manifest: Record<string, Chunk>, source: string): AppEntry {
  const main = manifest[source]
  if (!main) throw new Error(`The build of the front end has no ${source}.`)
  const chunks = listReachable(manifest, main)
  const imports = chunks.map(({ file }) => file).filter((file) => file !== main.file)
  return {
    script: toAddress(main.file),
    styles: chunks.flatMap(({ css = [] }) => css).map(toAddress),
    imports: imports.map(toAddress),
  }
}

/** Lists a chunk after everything that it imports, as its styles may replace theirs. */
function listReachable(manifest: Record<string, Chunk>, main: Chunk, seen: Set<Chunk> = new Set()): Chunk[] {
  seen.add(main)
  const imported = (main.imports ?? []).flatMap((name) => {
    const chunk = manifest[name]
    return chunk && !seen.has(chunk) ? listReachable(manifest, chunk, seen) : []
  })
  return [...imported, main]
}

const toAddress = (file: string) => APP_BASE + file

const fileName = /^[\w-]+(\.[\w-]+)*\.(js|css|svg|woff2?|ttf)$/
const suffixes = { br: '.br', gzip: '.gz' } as const

/** Registers the routes of built files in their compressed forms. */
function serveAppFiles(app: FastifyInstance, files: AppFiles): void {
  app.get<{ Params: { name: string } }>('/assets/app/:name', async ({ params: { name }, headers }, reply) => {
    if (!fileName.test(name)) throw new Problem('not_found')
    const { body, coding } = await readCompressed(files, name, headers['accept-encoding'])
    reply.headers({ 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' })
    if (coding) reply.header('content-encoding', coding)
    return reply.type(mime.getType(name) ?? 'application/octet-stream').send(body)
  })
}

async function readCompressed(files: AppFiles, name: string, accepted: string | undefined) {
  const coding = chooseCoding(accepted)
  const compressed = coding && (await files.read(name + suffixes[coding]))
  if (compressed) return { body: compressed, coding }
  const body = await files.read(name)
  if (!body) throw new Problem('not_found')
  return { body, coding: undefined }
}

import { createHash } from 'node:crypto'
import { constants, createReadStream, type Dirent } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { MeasuredFile } from '../routers/assistants/knowledge/compare-files.ts'
import { filePath } from '../routers/assistants/knowledge/upload.ts'
import type { IncomingFile } from '../routers/core/context.ts'
import { FileInspector } from '../routers/core/files/file-inspector.ts'
import { RandomAccessFile } from '../routers/core/files/random-access-file.ts'
import { Problem } from '../routers/core/problems.ts'
import type { FileRules } from '../routers/core/settings.ts'

/** A file or folder that is left out. */
export interface SkippedEntry {
  /** Names with slashes between them, from the folder on. */
  path: string
  reason: string
}

export interface SourceFolder {
  files: MeasuredFile[]
  skipped: SkippedEntry[]
}

interface SourceRules {
  files: FileRules
  canRead(mime: string): boolean
  /** Files that a folder may have in all, with those that are left out. */
  maxEntries: number
}

/**
 * Reads all files of a folder and of those below it; throws if one of the folders cannot be read, as its files might then
 * count as removed.
 */
export async function readSourceFolder(folder: string, rules: SourceRules): Promise<SourceFolder> {
  const source: SourceFolder = { files: [], skipped: [] }
  let entries = 0
  for await (const { path, reason } of walk(folder)) {
    if (++entries > rules.maxEntries)
      throw new Error(`${folder} has more than ${rules.maxEntries} files, the most that a person keeps as knowledge.`)
    try {
      if (reason === undefined) source.files.push({ path, ...(await measureFile(join(folder, path), rules)) })
      else source.skipped.push({ path, reason })
    } catch (error) {
      source.skipped.push({ path, reason: explainFailure(error) })
    }
  }
  return source
}

/** Yields files, and whatever is left out with a reason. */
async function* walk(folder: string, parent = ''): AsyncGenerator<{ path: string; reason?: string }, void> {
  const children = await readdir(join(folder, parent), { withFileTypes: true })
  for (const child of children.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = parent === '' ? child.name : `${parent}/${child.name}`
    const reason = explainSkip(child, path)
    if (reason !== undefined) yield { path, reason }
    else if (child.isDirectory()) yield* walk(folder, path)
    else yield { path }
  }
}

function explainSkip(entry: Dirent, path: string): string | undefined {
  if (entry.name.startsWith('.')) return 'It is hidden.'
  if (entry.isSymbolicLink()) return 'It is a symbolic link.'
  if (!entry.isDirectory() && !entry.isFile()) return 'It is no file.'
  // Names that are no UTF-8 are read with this character.
  if (path.includes('\uFFFD') || !filePath.safeParse(path).success) return 'Its name cannot be kept.'
  return undefined
}

function explainFailure(error: unknown): string {
  if (error instanceof Problem)
    return error.issues.length > 0 ? error.issues.map(({ message }) => `It ${message}.`).join(' ') : error.message
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  return `It cannot be opened: ${code}.`
}

async function measureFile(path: string, rules: SourceRules): Promise<Omit<MeasuredFile, 'path'>> {
  await using file = await openFile(path)
  const inspector = new FileInspector(rules.files, false)
  const hash = createHash('sha256')
  let bytes = 0
  for await (const part of inspector.inspect(readFile(file))) {
    hash.update(part)
    bytes += part.length
  }
  const content = new RandomAccessFile(bytes, ({ start, end }) =>
    createReadStream('', { fd: file, start, end, autoClose: false }),
  )
  const { mime } = await inspector.detectKind(content)
  if (!rules.canRead(mime)) throw new Problem('unsupported_media_type', { detail: 'A file of this kind has no text.' })
  return { sha256: hash.digest('hex'), bytes, mime }
}

/** Follows no link, which may have taken the place of a file since its folder was read. */
const openFile = (path: string): Promise<FileHandle> =>
  open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)

const readFile = (file: FileHandle) => createReadStream('', { fd: file, start: 0, autoClose: false })

/** Opens a file for an upload, and closes it after the task. */
export async function withFile<T>(path: string, task: (file: IncomingFile) => Promise<T>): Promise<T> {
  await using file = await openFile(path)
  return await task({ content: readFile(file), announced: 0 })
}

/** Returns a test whether a path, or a folder above it, was left out. */
export function createSkipTest(skipped: readonly SkippedEntry[]): (path: string) => boolean {
  const paths = new Set(skipped.map(({ path }) => path))
  return (path) => {
    const names = path.split('/')
    return names.some((_, at) => paths.has(names.slice(0, at + 1).join('/')))
  }
}

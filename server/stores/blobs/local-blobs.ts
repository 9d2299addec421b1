import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makeFolder } from '../../../routers/core/make-folder.ts'
import { type BlobEntry, DRAFTS } from '../../../routers/ports/files/storage.ts'
import { assertKey, BlobNotFound, type Blobs, compareKeys, HEALTH_CHECK_KEY, rethrowDiskError } from './blobs.ts'

/** Bytes that are buffered for the disk, so that one write takes several chunks. */
const BUFFER = 128 * 1024

/** Content of a check: one block, the smallest allocation of a disk. */
const PROBE = Buffer.alloc(4096)

/** Creates a blob storage in a folder; the key of a blob is its path below the folder. */
export function createLocalBlobs(folder: string): Blobs {
  const toPath = (key: string) => {
    assertKey(key)
    return join(folder, key)
  }
  return {
    async put(key, bytes) {
      const path = toPath(key)
      await makeFolder(dirname(path), 0o700).catch(rethrowDiskError)
      const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true, highWaterMark: BUFFER })
      await pipeline(bytes, file).catch(async (error: unknown) => {
        // If the source fails immediately, the file may still be being created: it is removed after it is closed.
        if (!file.closed) await new Promise<void>((done) => file.once('close', () => done()))
        // A file that exists already belongs to an earlier call.
        if (codeOf(error) !== 'EEXIST') await rm(path, { force: true })
        rethrowDiskError(error)
      })
    },
    async replace(key, bytes) {
      const [path, draft] = [toPath(key), toPath(`${DRAFTS}${randomUUID()}`)]
      await makeFolder(dirname(draft), 0o700).catch(rethrowDiskError)
      try {
        await writeFile(draft, bytes, { flag: 'wx', mode: 0o600, flush: true })
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        rethrowDiskError(error)
      }
    },
    async *get(key, range) {
      try {
        yield* createReadStream(toPath(key), range) as AsyncIterable<Buffer>
      } catch (error) {
        throw isAbsent(error) ? new BlobNotFound('there is no such file', { cause: error }) : error
      }
    },
    remove: async (key) => rm(toPath(key), { force: true }),
    list: (below) => listFiles(folder, below),
    check: shareRunning(() => probeFolder(folder)),
    close: async () => {},
  }
}

/** Writes and deletes a file. Its name is always the same, so that a killed process leaves one file, which the next check deletes. */
async function probeFolder(folder: string): Promise<void> {
  const path = join(folder, HEALTH_CHECK_KEY)
  await makeFolder(folder, 0o700)
  try {
    await writeFile(path, PROBE, { mode: 0o600, flush: true })
  } finally {
    await rm(path, { force: true })
  }
}

/** Shares a running call among concurrent callers, so that a disk that hangs blocks one thread only. */
function shareRunning(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}

/** Lists files folder by folder, so that only the names of one folder are in memory. */
async function* listFiles(root: string, below: string): AsyncGenerator<BlobEntry, void> {
  for (const entry of await listEntries(join(root, below))) {
    const key = `${below}${entry.name}`
    if (entry.isDirectory()) yield* listFiles(root, `${key}/`)
    // The file may have just been removed.
    const found = entry.isFile() ? await stat(join(root, key)).catch(ignoreAbsent) : undefined
    if (found) yield { key, bytes: found.size, modifiedAt: found.mtime }
  }
}

/** Reads a folder in key order; a missing folder is empty. */
async function listEntries(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ignoreAbsent)
  return (entries ?? []).sort((a, b) => compareKeys(a.name, b.name))
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

const isAbsent = (error: unknown) => codeOf(error) === 'ENOENT'

/** Ignores a missing file; rethrows other errors, because an unreadable file is not a missing one. */
function ignoreAbsent(error: unknown): undefined {
  if (!isAbsent(error)) throw error
}

import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type BlobEntry, DRAFTS } from '../../../routers/ports/files/storage.ts'
import { assertKey, type Blobs, byKey, NoSuchBlob } from './blobs.ts'
import { explainFullDisk } from './full-disk.ts'

/** As many bytes as wait for the disk, so that it is given several parts at a time. */
const BUFFER = 128 * 1024

/** What a check writes: the least that takes room on a disk. */
const PROBE = Buffer.alloc(4096)

/** Files below a folder, at paths that are their keys. */
export function localBlobs(folder: string): Blobs {
  const toPath = (key: string) => {
    assertKey(key)
    return join(folder, key)
  }
  return {
    async put(key, bytes) {
      const path = toPath(key)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(explainFullDisk)
      const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true, highWaterMark: BUFFER })
      await pipeline(bytes, file).catch(async (error: unknown) => {
        // Bytes that fail at once fail before the file is open, which makes it all the same.
        if (!file.closed) await new Promise<void>((done) => file.once('close', () => done()))
        await rm(path, { force: true })
        explainFullDisk(error)
      })
    },
    async replace(key, bytes) {
      const [path, draft] = [toPath(key), toPath(`${DRAFTS}${randomUUID()}`)]
      await mkdir(dirname(draft), { recursive: true, mode: 0o700 }).catch(explainFullDisk)
      try {
        await writeFile(draft, bytes, { flag: 'wx', mode: 0o600, flush: true })
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        explainFullDisk(error)
      }
    },
    async *get(key, range) {
      try {
        yield* createReadStream(toPath(key), range) as AsyncIterable<Buffer>
      } catch (error) {
        throw isAbsent(error) ? new NoSuchBlob('there is no such file', { cause: error }) : error
      }
    },
    remove: async (key) => rm(toPath(key), { force: true }),
    list: (below) => listFiles(folder, below),
    check: oneAtATime(() => probe(folder)),
    close: async () => {},
  }
}

/** By the same name each time, so that a process that is killed meanwhile leaves one file, which the next check deletes. */
async function probe(folder: string): Promise<void> {
  const path = join(folder, 'health-check')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    await writeFile(path, PROBE, { mode: 0o600, flush: true })
  } finally {
    await rm(path, { force: true })
  }
}

/** Whoever asks meanwhile shares the answer: a disk that hangs holds one thread, not all. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}

/** One folder after the other, so that no more names than those of a folder are held. */
async function* listFiles(root: string, below: string): AsyncGenerator<BlobEntry, void> {
  for (const entry of await listEntries(join(root, below))) {
    const key = `${below}${entry.name}`
    if (entry.isDirectory()) yield* listFiles(root, `${key}/`)
    // It may just have been removed.
    const found = entry.isFile() ? await stat(join(root, key)).catch(unlessAbsent) : undefined
    if (found) yield { key, bytes: found.size, modifiedAt: found.mtime }
  }
}

/** Nothing was stored yet where there is no folder. */
async function listEntries(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(unlessAbsent)
  return (entries ?? []).sort((a, b) => byKey(a.name, b.name))
}

const isAbsent = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** Whoever may not read what is there, or cannot, must not take it for absent. */
function unlessAbsent(error: unknown): undefined {
  if (!isAbsent(error)) throw error
}

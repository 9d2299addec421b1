import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, opendir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ByteRange } from '../../routers/ports/file-store.ts'

/** Keeps bytes under names, which are UUIDs. */
export interface Blobs {
  /** Settles once the bytes would survive a loss of power; where they break off, none are kept. */
  put(name: string, bytes: AsyncIterable<Buffer>): Promise<void>
  /** Opens nothing before it is read: who asked for it may be gone. */
  get(name: string, range: ByteRange): AsyncIterable<Buffer>
  remove(name: string): Promise<void>
  list(): AsyncIterable<{ name: string; modifiedAt: Date }>
}

/** As many bytes as wait for the disk, so that it is given several parts at a time. */
const BUFFER = 128 * 1024

const NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Files in folders by the first two characters of their names. The disk library has no way to read a part of a file. */
export function localBlobs(folder: string): Blobs {
  const pathOf = (name: string) => {
    if (!NAME.test(name)) throw new Error('this is no name of a file')
    return join(folder, name.slice(0, 2), name)
  }
  return {
    async put(name, bytes) {
      const path = pathOf(name)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true, highWaterMark: BUFFER })
      await pipeline(bytes, file).catch(async (error: unknown) => {
        await rm(path, { force: true })
        throw error
      })
    },
    get: (name, range) => readPart(pathOf(name), range),
    remove: (name) => rm(pathOf(name), { force: true }),
    list: () => listFiles(folder),
  }
}

async function* readPart(path: string, range: ByteRange) {
  yield* createReadStream(path, range) as AsyncIterable<Buffer>
}

async function* listFiles(folder: string) {
  // Nothing was stored yet where there is no folder.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (!entry.isFile() || !NAME.test(entry.name)) continue
    // It may just have been removed.
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined)
    if (found) yield { name: entry.name, modifiedAt: found.mtime }
  }
}

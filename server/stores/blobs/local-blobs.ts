import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { assertKey, type BlobEntry, type Blobs, byKey } from './blobs.ts'

/** As many bytes as wait for the disk, so that it is given several parts at a time. */
const BUFFER = 128 * 1024

/** Files below a folder, at paths that are their keys. */
export function localBlobs(folder: string): Blobs {
  const pathOf = (key: string) => {
    assertKey(key)
    return join(folder, key)
  }
  return {
    async put(key, bytes) {
      const path = pathOf(key)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true, highWaterMark: BUFFER })
      await pipeline(bytes, file).catch(async (error: unknown) => {
        await rm(path, { force: true })
        throw error
      })
    },
    async *get(key, range) {
      yield* createReadStream(pathOf(key), range) as AsyncIterable<Buffer>
    },
    remove: async (key) => rm(pathOf(key), { force: true }),
    list: (below) => listFiles(folder, below),
    check: async () => {},
    close: async () => {},
  }
}

/** One folder after the other, so that no more names than those of a folder are held. */
async function* listFiles(root: string, below: string): AsyncGenerator<BlobEntry, void> {
  for (const entry of await entriesOf(join(root, below))) {
    const key = `${below}${entry.name}`
    if (entry.isDirectory()) yield* listFiles(root, `${key}/`)
    // It may just have been removed.
    const found = entry.isFile() ? await stat(join(root, key)).catch(() => undefined) : undefined
    if (found) yield { key, modifiedAt: found.mtime }
  }
}

/** Nothing was stored yet where there is no folder. */
async function entriesOf(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return entries.sort((a, b) => byKey(a.name, b.name))
}

import { randomBytes, randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { FileStore } from '../../routers/ports/file-store.ts'
import { FILE_KEY, type Vault } from '../../routers/ports/vault.ts'
import { type Blobs, localBlobs } from './local-blobs.ts'
import { openChunks, sealChunks, sealedRange } from './sealed-chunks.ts'

/** The folder below DATA_DIR where the local driver keeps files. */
const filesFolder = (dataDir: string) => resolve(join(dataDir, 'files', 'sealed'))

export const createFileStore = (vault: Vault, dataDir: string): FileStore =>
  sealedFiles(vault, localBlobs(filesFolder(dataDir)))

/** As many as are removed at a time. */
const BATCH = 16

function sealedFiles(vault: Vault, blobs: Blobs): FileStore {
  return {
    async write(content) {
      const [name, key] = [randomUUID(), randomBytes(32)]
      let bytes = 0
      async function* counted() {
        for await (const part of content) {
          bytes += part.length
          yield part
        }
      }
      await blobs.put(name, sealChunks(key, counted()))
      return { name, bytes, sealedKey: vault.seal(key.toString('base64url'), FILE_KEY) }
    },

    read({ name, bytes, sealedKey }, range = { start: 0, end: Math.max(0, bytes - 1) }) {
      const key = Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url')
      const sealed = blobs.get(name, sealedRange({ bytes, ...range }))
      return Readable.from(openChunks({ key, bytes, ...range }, sealed), { objectMode: false })
    },

    async remove(names) {
      for (let at = 0; at < names.length; at += BATCH)
        await Promise.all(names.slice(at, at + BATCH).map((name) => blobs.remove(name)))
    },

    list: () => blobs.list(),
  }
}

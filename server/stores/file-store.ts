import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FileStore } from '../../routers/ports/files/file-store.ts'
import { FILE_KEY, type Vault } from '../../routers/ports/vault.ts'
import type { Blobs } from './blobs/blobs.ts'
import { openChunks, sealChunks, sealedRange } from './sealed-chunks.ts'

/** Where sealed files are among what is stored. */
const FOLDER = 'sealed/'
const NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** By the first two characters of the name, so that no folder of a disk gets too many files. */
function keyOf(name: string): string {
  if (!NAME.test(name)) throw new Error('this is no name of a file')
  return `${FOLDER}${name.slice(0, 2)}/${name}`
}

/** As many as are removed at a time. */
const BATCH = 16

export function createFileStore(vault: Vault, blobs: Blobs): FileStore {
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
      await blobs.put(keyOf(name), sealChunks(key, counted()))
      return { name, bytes, sealedKey: vault.seal(key.toString('base64url'), FILE_KEY) }
    },

    read({ name, bytes, sealedKey }, range = { start: 0, end: Math.max(0, bytes - 1) }) {
      const key = Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url')
      const sealed = blobs.get(keyOf(name), sealedRange({ bytes, ...range }))
      return Readable.from(openChunks({ key, bytes, ...range }, sealed), { objectMode: false })
    },

    async remove(names) {
      for (let at = 0; at < names.length; at += BATCH)
        await Promise.all(names.slice(at, at + BATCH).map(async (name) => blobs.remove(keyOf(name))))
    },

    async *list() {
      for await (const { key, modifiedAt } of blobs.list(FOLDER)) {
        const name = key.slice(key.lastIndexOf('/') + 1)
        if (NAME.test(name) && keyOf(name) === key) yield { name, modifiedAt }
      }
    },
  }
}

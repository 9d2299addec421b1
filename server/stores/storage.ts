import { buffer } from 'node:stream/consumers'
import type { Storage } from '../../routers/ports/storage.ts'
import type { Blobs } from './blobs/blobs.ts'

/** Pictures, each in one piece. */
export const createStorage = (blobs: Blobs): Storage => ({
  put: (key, bytes) => blobs.put(key, inOnePiece(bytes)),
  get: (key) => buffer(blobs.get(key)),
  delete: (key) => blobs.remove(key),
})

async function* inOnePiece(bytes: Uint8Array) {
  yield bytes
}

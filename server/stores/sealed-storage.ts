import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Storage } from '../../routers/ports/storage.ts'
import { FILE_KEY, type Vault } from '../../routers/ports/vault.ts'

const IV = 12
const TAG = 16

/** In front of the ciphertext stands the key of the file, sealed with the application key, on a line of its own. */
const END = '\n'.charCodeAt(0)

/** What was stored before pictures were encrypted begins as WebP does. */
const isPlain = (bytes: Buffer) => bytes.toString('latin1', 0, 4) === 'RIFF'

/** Keeps each file encrypted under a key of its own, and opens it only by the key that it was stored under. */
export function sealedStorage(vault: Vault, storage: Storage): Storage {
  return {
    ...storage,
    put: (key, bytes) => storage.put(key, seal(vault, key, bytes)),
    async get(key) {
      const stored = Buffer.from(await storage.get(key))
      return isPlain(stored) ? stored : open(vault, key, stored)
    },
  }
}

function seal(vault: Vault, name: string, bytes: Uint8Array): Buffer {
  const [key, iv] = [randomBytes(32), randomBytes(IV)]
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name))
  const sealed = [cipher.update(bytes), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat([Buffer.from(`${vault.seal(key.toString('base64url'), FILE_KEY)}\n`), iv, ...sealed])
}

function open(vault: Vault, name: string, stored: Buffer): Buffer {
  const end = stored.indexOf(END)
  const key = Buffer.from(vault.open(stored.toString('latin1', 0, end), FILE_KEY), 'base64url')
  const [iv, text] = [stored.subarray(end + 1, end + 1 + IV), stored.subarray(end + 1 + IV, -TAG)]
  const decipher = createDecipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name)).setAuthTag(stored.subarray(-TAG))
  return Buffer.concat([decipher.update(text), decipher.final()])
}

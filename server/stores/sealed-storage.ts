import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { Problem } from '../../routers/core/problems.ts'
import type { Storage } from '../../routers/ports/files/storage.ts'
import { FILE_KEY, type Vault } from '../../routers/ports/vault.ts'
import { BlobNotFound, type Blobs } from './blobs/blobs.ts'

const IV = 12
const TAG = 16

/** Ends the first line of a stored picture, which has the file's key, sealed with the application key. The ciphertext follows. */
const END = '\n'.charCodeAt(0)

/** Returns whether a stored picture is not encrypted, as those of earlier versions are: it then begins as WebP files do. */
const isPlain = (bytes: Buffer) => bytes.toString('latin1', 0, 4) === 'RIFF'

/** Creates a storage that encrypts each picture with a key of its own. A picture only decrypts under the name that it was stored under. */
export function createSealedStorage(vault: Vault, blobs: Blobs): Storage {
  const read = (key: string): Promise<Buffer> => buffer(blobs.get(key))
  const readOrFault = (key: string) => read(key).catch(toReadFault)
  return {
    put: (key, bytes) => blobs.put(key, toChunks(sealPicture(vault, key, bytes))),
    delete: (key) => blobs.remove(key),
    list: (folder) => blobs.list(folder),

    async get(key) {
      const stored = await read(key)
      return isPlain(stored) ? stored : openPicture(vault, key, stored)
    },

    async check(key) {
      const stored = await readOrFault(key)
      if (typeof stored === 'string') return checkResults[stored]
      if (isPlain(stored)) return undefined
      if (!hasKnownKey(vault, stored)) return 'unknown-key'
      return canOpen(vault, key, stored) ? undefined : 'damaged'
    },

    async renew(key) {
      const stored = await readOrFault(key)
      if (typeof stored === 'string') return stored
      const renewed = reseal(vault, key, stored)
      if (typeof renewed === 'string') return renewed
      await blobs.replace(key, renewed)
      return 'renewed'
    },
  }
}

async function* toChunks(bytes: Uint8Array) {
  yield bytes
}

const checkResults = { gone: 'no-file', unreadable: 'damaged' } as const

/** Converts a read error to a fault of the file. Rethrows problems, such as an unavailable bucket, which say nothing about the file. */
function toReadFault(error: unknown): keyof typeof checkResults {
  if (error instanceof Problem) throw error
  return error instanceof BlobNotFound ? 'gone' : 'unreadable'
}

function sealPicture(vault: Vault, name: string, bytes: Uint8Array): Buffer {
  const [key, iv] = [randomBytes(32), randomBytes(IV)]
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name))
  const sealed = [cipher.update(bytes), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat([Buffer.from(`${vault.seal(key.toString('base64url'), FILE_KEY)}\n`), iv, ...sealed])
}

function openPicture(vault: Vault, name: string, stored: Buffer): Buffer {
  const { sealedKey, rest } = splitStored(stored)
  const key = Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url')
  const [iv, text] = [rest.subarray(0, IV), rest.subarray(IV, -TAG)]
  const decipher = createDecipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name)).setAuthTag(rest.subarray(-TAG))
  return Buffer.concat([decipher.update(text), decipher.final()])
}

function splitStored(stored: Buffer): { sealedKey: string; rest: Buffer } {
  const end = stored.indexOf(END)
  return { sealedKey: stored.toString('latin1', 0, end), rest: stored.subarray(end + 1) }
}

/** Returns the picture with its key sealed by the current application key; encrypts it if it was not encrypted. */
function reseal(vault: Vault, name: string, stored: Buffer): Buffer | 'current' | 'unknown' {
  if (isPlain(stored)) return sealPicture(vault, name, stored)
  if (!hasKnownKey(vault, stored)) return 'unknown'
  const { sealedKey, rest } = splitStored(stored)
  const renewed = vault.renew(sealedKey, FILE_KEY)
  return renewed === sealedKey ? 'current' : Buffer.concat([Buffer.from(`${renewed}\n`), rest])
}

const hasKnownKey = (vault: Vault, stored: Buffer) =>
  tryOrUndefined(() => vault.open(splitStored(stored).sealedKey, FILE_KEY))
const canOpen = (vault: Vault, name: string, stored: Buffer) =>
  tryOrUndefined(() => openPicture(vault, name, stored)) !== undefined

function tryOrUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

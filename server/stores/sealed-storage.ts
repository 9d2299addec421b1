import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { Problem } from '../../routers/core/problems.ts'
import type { Storage } from '../../routers/ports/files/storage.ts'
import { FILE_KEY, type Vault } from '../../routers/ports/vault.ts'
import { type Blobs, NoSuchBlob } from './blobs/blobs.ts'

const IV = 12
const TAG = 16

/** In front of the ciphertext stands the key of the file, sealed with the application key, on a line of its own. */
const END = '\n'.charCodeAt(0)

/** What was stored before pictures were encrypted begins as WebP does. */
const isPlain = (bytes: Buffer) => bytes.toString('latin1', 0, 4) === 'RIFF'

/** Keeps each picture encrypted under a key of its own, and opens it only by the name that it was stored under. */
export function sealedStorage(vault: Vault, blobs: Blobs): Storage {
  const read = (key: string): Promise<Buffer> => buffer(blobs.get(key))
  const find = (key: string) => read(key).catch(asFound)
  return {
    put: (key, bytes) => blobs.put(key, inOnePiece(seal(vault, key, bytes))),
    delete: (key) => blobs.remove(key),
    list: (folder) => blobs.list(folder),

    async get(key) {
      const stored = await read(key)
      return isPlain(stored) ? stored : open(vault, key, stored)
    },

    async check(key) {
      const stored = await find(key)
      if (typeof stored === 'string') return faults[stored]
      if (isPlain(stored)) return undefined
      if (!keyIn(vault, stored)) return 'unknown-key'
      return opens(vault, key, stored) ? undefined : 'damaged'
    },

    async renew(key) {
      const stored = await find(key)
      if (typeof stored === 'string') return stored
      const renewed = renew(vault, key, stored)
      if (typeof renewed === 'string') return renewed
      await blobs.replace(key, renewed)
      return 'renewed'
    },
  }
}

async function* inOnePiece(bytes: Uint8Array) {
  yield bytes
}

const faults = { gone: 'no-file', unreadable: 'damaged' } as const

/** What is wrong with a file, by the error of reading it. That nobody can be asked says nothing of it. */
function asFound(error: unknown): keyof typeof faults {
  if (error instanceof Problem) throw error
  return error instanceof NoSuchBlob ? 'gone' : 'unreadable'
}

function seal(vault: Vault, name: string, bytes: Uint8Array): Buffer {
  const [key, iv] = [randomBytes(32), randomBytes(IV)]
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name))
  const sealed = [cipher.update(bytes), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat([Buffer.from(`${vault.seal(key.toString('base64url'), FILE_KEY)}\n`), iv, ...sealed])
}

function open(vault: Vault, name: string, stored: Buffer): Buffer {
  const { sealedKey, rest } = parts(stored)
  const key = Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url')
  const [iv, text] = [rest.subarray(0, IV), rest.subarray(IV, -TAG)]
  const decipher = createDecipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name)).setAuthTag(rest.subarray(-TAG))
  return Buffer.concat([decipher.update(text), decipher.final()])
}

function parts(stored: Buffer): { sealedKey: string; rest: Buffer } {
  const end = stored.indexOf(END)
  return { sealedKey: stored.toString('latin1', 0, end), rest: stored.subarray(end + 1) }
}

/** The same picture with its key sealed anew; one that is not encrypted yet becomes so. */
function renew(vault: Vault, name: string, stored: Buffer): Buffer | 'current' | 'unknown' {
  if (isPlain(stored)) return seal(vault, name, stored)
  if (!keyIn(vault, stored)) return 'unknown'
  const { sealedKey, rest } = parts(stored)
  const renewed = vault.renew(sealedKey, FILE_KEY)
  return renewed === sealedKey ? 'current' : Buffer.concat([Buffer.from(`${renewed}\n`), rest])
}

const keyIn = (vault: Vault, stored: Buffer) => attempt(() => vault.open(parts(stored).sealedKey, FILE_KEY))
const opens = (vault: Vault, name: string, stored: Buffer) => attempt(() => open(vault, name, stored)) !== undefined

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

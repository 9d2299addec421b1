import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  randomUUID,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Vault } from '../../routers/ports/vault.ts'
import { makeDataFolder } from '../config/data-folder.ts'

/**
 * Creates the vault: AES-256-GCM with a key derived from the application key. A sealed text names its key, so that previous
 * keys still open it. The purpose is authenticated as additional data.
 */
export function createVault(key: string, previousKeys: readonly string[] = []): Vault {
  const keys = new Map([...previousKeys, key].map((source) => [fingerprintKey(source), deriveKey(source)]))
  const current = fingerprintKey(key)
  // The keys of the purposes are few, and deriving one takes longer than a code.
  const macKeys = new Map<string, Buffer[]>()
  const deriveMacKeys = (purpose: string) => [key, ...previousKeys].map((source) => deriveKey(source, purpose))

  const vault: Vault = {
    seal(plain, purpose) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keys.get(current) as Buffer, iv).setAAD(Buffer.from(purpose))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return ['v1', current, iv.toString('base64url'), text.toString('base64url')].join('.')
    },

    open(sealed, purpose) {
      const [version, name = '', iv = '', text = '', ...more] = sealed.split('.')
      const key = keys.get(name)
      if (version !== 'v1' || !key) throw new Error('sealed with a key that is not in APP_KEY or APP_PREVIOUS_KEYS')
      if (more.length > 0) throw new Error('something follows the sealed text')
      const bytes = Buffer.from(text, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url')).setAAD(Buffer.from(purpose))
      decipher.setAuthTag(bytes.subarray(-16))
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
    },

    computeMacs(text, purpose) {
      const found = macKeys.get(purpose) ?? deriveMacKeys(purpose)
      macKeys.set(purpose, found)
      return found.map((macKey) => createHmac('sha256', macKey).update(text).digest())
    },

    renew(sealed, purpose) {
      const [, name = ''] = sealed.split('.')
      return name === current || !keys.has(name) ? sealed : vault.seal(vault.open(sealed, purpose), purpose)
    },
  }
  return vault
}

/** Returns the key that seals secrets if APP_KEY is not set. It is created once, as a file that only its owner can read. */
export async function readOrCreateAppKey(dataDir: string): Promise<string> {
  const file = join(dataDir, 'app.key')
  if (!existsSync(file)) await createAppKey(dataDir, file)
  const key = (await readFile(file, 'utf8')).trim()
  if (key === '') throw new Error(`${file} is empty: restore it, or delete it if nothing was sealed yet.`)
  return key
}

async function createAppKey(dataDir: string, file: string): Promise<void> {
  await makeDataFolder(dataDir)
  const draft = `${file}.${randomUUID()}`
  try {
    await writeFile(draft, randomBytes(48).toString('base64'), { mode: 0o600, flush: true })
    // Linking is atomic and fails if the file exists, so processes that start at the same time read the same key.
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
}

const deriveKey = (source: string, purpose = 'vault') =>
  Buffer.from(hkdfSync('sha256', source, '', `svc ${purpose} v1`, 32))

/** Derives the secret that signs cookies from an application key. */
export const deriveCookieSecret = (source: string) => deriveKey(source, 'cookies').toString('base64url')

/** Derives the secret that signs real-time subscriptions, for installations that set none. */
export const deriveRealtimeSecret = (source: string) => deriveKey(source, 'realtime').toString('base64url')

const fingerprintKey = (source: string) =>
  createHash('sha256').update(`svc vault name ${source}`).digest('hex').slice(0, 8)

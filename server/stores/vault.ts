import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Vault } from '../../routers/ports/vault.ts'

/**
 * AES-256-GCM under a key derived from the application key. A sealed text says which key it needs, so that earlier keys
 * still open what they sealed; the purpose goes in as additional data.
 */
export function createVault(key: string, previousKeys: readonly string[] = []): Vault {
  const keys = new Map([...previousKeys, key].map((source) => [nameKey(source), derive(source)]))
  const current = nameKey(key)

  const vault: Vault = {
    seal(plain, purpose) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keys.get(current) as Buffer, iv).setAAD(Buffer.from(purpose))
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return ['v1', current, iv.toString('base64url'), text.toString('base64url')].join('.')
    },

    open(sealed, purpose) {
      const [version, name = '', iv = '', text = ''] = sealed.split('.')
      const key = keys.get(name)
      if (version !== 'v1' || !key) throw new Error('sealed with a key that is not in APP_KEY or APP_PREVIOUS_KEYS')
      const bytes = Buffer.from(text, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url')).setAAD(Buffer.from(purpose))
      decipher.setAuthTag(bytes.subarray(-16))
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
    },

    renew(sealed, purpose) {
      const [, name = ''] = sealed.split('.')
      return name === current || !keys.has(name) ? sealed : vault.seal(vault.open(sealed, purpose), purpose)
    },
  }
  return vault
}

const derive = (source: string, purpose = 'vault') =>
  Buffer.from(hkdfSync('sha256', source, '', `svc ${purpose} v1`, 32))

/** What cookies are signed with, by an application key. */
export const cookieSecret = (source: string) => derive(source, 'cookies').toString('base64url')

/** What signs channels of real time, where no setting says so. */
export const realtimeSecret = (source: string) => derive(source, 'realtime').toString('base64url')

const nameKey = (source: string) => createHash('sha256').update(`svc vault name ${source}`).digest('hex').slice(0, 8)

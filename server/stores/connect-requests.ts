import { createCipheriv, createDecipheriv, createHash, createHmac, hash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { ConnectRequests } from '../../routers/ports/connect-requests.ts'
import { isSameSecret } from '../../routers/ports/constant-time.ts'
import { resourceId } from '../../routers/resource/ids.ts'

const contents = z.strictObject({
  appId: resourceId,
  version: z.string(),
  extAppUserId: z.string(),
  __validUntil: z.number(),
  __validator: z.string(),
})
type Contents = z.output<typeof contents>

/**
 * Creates the codec of connect requests, in the format that existing apps and front ends pass on: AES-256-GCM with the first
 * 32 bytes of the application key's text, around JSON with an HMAC that covers the public key of the app. Tests replace `drawIv`.
 */
export function createConnectRequests(appKey: string, drawIv = () => randomBytes(12)): ConnectRequests {
  const key = Buffer.alloc(32)
  Buffer.from(appKey).copy(key)

  const hashContents = (claims: Omit<Contents, '__validator'>, publicKey: string) =>
    createHmac('sha256', `${appKey}-${publicKey}`)
      .update(
        createHash('md5')
          .update(toEscapedJson(sortMembers(claims)))
          .digest('hex'),
      )
      .digest('hex')

  return {
    write({ appId, version, extAppUserId }, { publicKey, expiresAt }) {
      const __validUntil = Math.floor(expiresAt.getTime() / 1000)
      const claims = { appId, version, extAppUserId, __validUntil }
      const plain = toEscapedJson({ ...claims, __validator: hashContents(claims, publicKey) })
      const iv = drawIv()
      const cipher = createCipheriv('aes-256-gcm', key, iv)
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
      return encodeParts([iv, cipher.getAuthTag(), sealed])
    },

    read(text) {
      const parts = decodeParts(text)
      // Only the canonical encoding is accepted: other texts could decode to the same bytes.
      const decrypted = parts && encodeParts(parts) === text && decryptContents(key, parts)
      if (!parts || !decrypted) return undefined
      const { __validator, ...claims } = decrypted
      const expiresAt = new Date(claims.__validUntil * 1000)
      if (expiresAt.getTime() <= Date.now()) return undefined
      const { appId, version, extAppUserId } = claims
      const isFor = (publicKey: string) => isSameSecret(__validator, hashContents(claims, publicKey))
      return { appId, version, extAppUserId, expiresAt, hash: hash('sha256', Buffer.concat(parts), 'base64url'), isFor }
    },
  }
}

type Parts = [iv: Buffer, tag: Buffer, sealed: Buffer]

const encodeParts = (parts: Parts) =>
  Buffer.from(parts.map((part) => part.toString('base64')).join('|')).toString('base64')

function decodeParts(text: string): Parts | undefined {
  const [iv, tag, sealed, ...more] = Buffer.from(text, 'base64')
    .toString()
    .split('|')
    .map((part) => Buffer.from(part, 'base64'))
  return iv?.length === 12 && tag?.length === 16 && sealed && more.length === 0 ? [iv, tag, sealed] : undefined
}

function decryptContents(key: Buffer, [iv, tag, sealed]: Parts): Contents | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: 16 }).setAuthTag(tag)
    const plain = Buffer.concat([decipher.update(sealed), decipher.final()]).toString()
    return contents.safeParse(JSON.parse(plain)).data
  } catch {
    return undefined
  }
}

const sortMembers = (claims: object) =>
  Object.fromEntries(Object.entries(claims).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** Returns JSON with escaped slashes and non-ASCII characters, as in the requests that existing apps hold. */
const toEscapedJson = (value: object) =>
  JSON.stringify(value)
    .replaceAll('/', '\\/')
    .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

import { createDecipheriv, createPrivateKey, generateKeyPairSync, privateDecrypt } from 'node:crypto'
import type { TestApp } from '../app.ts'
import type { TestBrowser } from '../browser.ts'

/** Settings under which external apps work. */
export const APPS_ON = { ALLOW_EXTERNAL_COMMUNICATION: 'true', ALLOW_EXTERNAL_APPS: 'true' }

const CONNECTIONS = '/api/svc/v1/connections'
export const EXT_APPS = '/api/svc/v1/ext-apps'

/** One pair for all apps of a test file: making one takes longer than all else. */
const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
export const appPublicKey = publicKey

type AppInput = Parameters<TestApp['host']['extApps']['create']>[0]

/** Adds an app and returns the calls that its credential allows. */
export async function addApp(svc: TestApp, overrides: Partial<AppInput> = {}) {
  const name = overrides.name ?? 'Campus portal'
  const app = await svc.host.extApps.create({
    name,
    url: 'https://portal.example',
    redirectUrls: ['https://portal.example/back'],
    publicKey,
    needsKeys: true,
    ...overrides,
  })
  const connection = async (user: string) => {
    const answer = await svc.send('GET', `${CONNECTIONS}/${encodeURIComponent(user)}`, {
      token: String(app.credential),
    })
    const { data } = (await answer.json()) as { data?: { attributes: Record<string, never> } }
    return { status: answer.status, ...(data?.attributes as Partial<ConnectionAttributes>) }
  }
  return {
    ...app,
    id: app.id,
    credential: String(app.credential),
    connection,
    connectRequest: async (user: string) => String((await connection(user)).extAppConnectRequest),
    /** Returns the secrets of a linked user, opened with the app's key. */
    async secrets(user: string) {
      const { extAppSecrets } = await connection(user)
      const { apiToken = '', privateKey: ownKey } = extAppSecrets ?? {}
      return { ...extAppSecrets, apiToken: openSealed(apiToken), privateKey: ownKey ? openSealed(ownKey) : ownKey }
    },
  }
}

export type TestExtApp = Awaited<ReturnType<typeof addApp>>

interface ConnectionAttributes {
  connectionType: string
  configs: object
  userinfo: { username: string }
  extAppConnectRequest: string
  extAppSecrets: { passkey: string | null; apiToken: string; privateKey: string | null }
}

/** Sends the consent of a person's browser. */
export const establishConnection = (
  browser: TestBrowser,
  connectRequest: string,
  more: object = { passkey: 'c2VhbGVk' },
) => browser.send('POST', `${EXT_APPS}/actions/establish-connection`, { body: { connectRequest, ...more } })

const splitParts = (text: string) => text.split('|').map((part) => Buffer.from(part, 'base64'))

/** Opens a hybrid text as an app does. */
export function openSealed(sealed: string, key = privateKey): string {
  const [wrapped, text] = splitParts(sealed).map(String) as [string, string]
  const aesKey = privateDecrypt({ key: createPrivateKey(key), oaepHash: 'sha256' }, Buffer.from(wrapped, 'base64'))
  const [iv, tag, ciphertext] = splitParts(text) as [Buffer, Buffer, Buffer]
  const decipher = createDecipheriv('aes-256-gcm', aesKey, iv).setAuthTag(tag)
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString()
}

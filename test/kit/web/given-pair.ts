import type { Page } from 'playwright-core'
import { keyPairs } from './crypto.ts'

/** Has a page take a key pair that is there already, where it would look for one of 4096 bits for seconds. */
export async function givePair(page: Page): Promise<void> {
  const [pair] = await keyPairs()
  await page.addInitScript(({ publicKey, privateKey }) => {
    const read = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
    const { subtle } = crypto
    const generateKey = async (algorithm: { name: string; hash: string }, isExtractable: boolean) => ({
      publicKey: await subtle.importKey('spki', read(publicKey), algorithm, isExtractable, ['encrypt']),
      privateKey: await subtle.importKey('pkcs8', read(privateKey), algorithm, isExtractable, ['decrypt']),
    })
    Object.assign(subtle, { generateKey })
  }, pair)
}

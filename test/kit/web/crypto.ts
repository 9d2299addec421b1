import { createCipheriv } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { lock } from 'proper-lockfile'
import { inject } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'

/** Returns what `make` makes, as JSON carries it: the first worker that asks makes it, for all of the run. */
async function makeOnceARun<Value>(name: string, make: () => Promise<Value>): Promise<Value> {
  const file = join(inject('runFolder'), `${name}.json`)
  const unlock = await lock(file, { realpath: false, retries: { retries: 1200, minTimeout: 50, maxTimeout: 100 } })
  try {
    const made = await readFile(file, 'utf8').catch(() => undefined)
    if (made !== undefined) return JSON.parse(made) as Value
    const value = await make()
    await writeFile(file, JSON.stringify(value))
    return value
  } finally {
    await unlock()
  }
}

export const salt = '0123456789abcdef0123456789abcdef'

export const salts: web.Salts = { userdata: salt, passkey: salt, backup: salt, invitation: salt, ai: salt }

export const roomKey = 'ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8='

export const invitation = {
  encryptedRoomKey: 'avG4Icv5qH92GtBjwAOaNAW1J5NYOraSu6nYqcKe+VU=',
  iv: 'AAECAwQFBgcICQoL',
  tag: '+FSt68PE/Sm/PuYgPHfVuQ==',
}

const makePairs = () => Promise.all([web.makeKeyPair(), web.makeKeyPair()])

let cachedPairs: ReturnType<typeof makePairs> | undefined

/** Two pairs of keys, made once for all tests of a run. */
export function loadKeyPairs() {
  cachedPairs ??= makeOnceARun('key-pairs', makePairs)
  return cachedPairs
}

export const derivePasskeyKey = () => web.passkeyKey('Datakey_123', salts)

export const fixedIv = '000102030405060708090a0b'

/** A sealed text made with other code than ours, so that opening it proves which key a derived key is. */
export function sealWithNode(hexKey: string, plain: string | Buffer, iv = Buffer.from(fixedIv, 'hex')): web.Sealed {
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(hexKey, 'hex'), iv)
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()])
  const parts = { ciphertext, iv, tag: cipher.getAuthTag() }
  return {
    ciphertext: parts.ciphertext.toString('base64'),
    iv: parts.iv.toString('base64'),
    tag: parts.tag.toString('base64'),
  }
}

/** Gives a page an existing key pair, as generating one of 4096 bits takes seconds. */
export async function injectKeyPair(page: Page): Promise<void> {
  const [pair] = await loadKeyPairs()
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

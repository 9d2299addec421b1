import { createCipheriv } from 'node:crypto'
import * as web from '../../../facades/web/browser/crypto.ts'
import { makeOnceARun } from '../once-a-run.ts'

export const salt = '0123456789abcdef0123456789abcdef'

export const salts: web.Salts = { userdata: salt, passkey: salt, backup: salt, invitation: salt, ai: salt }

export const roomKey = 'ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8='

export const invitation = {
  encryptedRoomKey: 'avG4Icv5qH92GtBjwAOaNAW1J5NYOraSu6nYqcKe+VU=',
  iv: 'AAECAwQFBgcICQoL',
  tag: '+FSt68PE/Sm/PuYgPHfVuQ==',
}

const makePairs = () => Promise.all([web.makeKeyPair(), web.makeKeyPair()])

let made: ReturnType<typeof makePairs> | undefined

/** Two pairs of keys, made once for all tests of a run. */
export function keyPairs() {
  made ??= makeOnceARun('key-pairs', makePairs)
  return made
}

export const passkeyKey = () => web.passkeyKey('Datakey_123', salts)

export const fixedIv = '000102030405060708090a0b'

/** A sealed text made with other code than ours, so that opening it proves which key a derived key is. */
export function sealedElsewhere(hexKey: string, plain: string | Buffer, iv = Buffer.from(fixedIv, 'hex')): web.Sealed {
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(hexKey, 'hex'), iv)
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()])
  const parts = { ciphertext, iv, tag: cipher.getAuthTag() }
  return {
    ciphertext: parts.ciphertext.toString('base64'),
    iv: parts.iv.toString('base64'),
    tag: parts.tag.toString('base64'),
  }
}

import { createHash } from 'node:crypto'

let count = 0

/** Returns a new username, so that tests can share a service. */
export const newName = (stem = 'ada') => `${stem}-${++count}`

/** Makes a well-formed public key for a name, without a private key. */
export function makePublicKey(name = 'anybody'): string {
  const bytes = Array.from({ length: 8 }, (_, n) => createHash('sha512').update(`${n} ${name}`).digest())
  const modulus = Buffer.concat(bytes)
  modulus[0] = 0xc0
  modulus[511] = 1
  const head = Buffer.from('30820222300d06092a864886f70d01010105000382020f003082020a0282020100', 'hex')
  return Buffer.concat([head, modulus, Buffer.from('0203010001', 'hex')]).toString('base64')
}

import { z } from 'zod'

/** An RSA key of 4096 bits in SPKI as every browser writes it: what stands before and behind the modulus never differs. */
const HEAD = Buffer.from('30820222300d06092a864886f70d01010105000382020f003082020a0282020100', 'hex')
const TAIL = Buffer.from('0203010001', 'hex')
const MODULUS_BYTES = 512
const CHARACTERS = 736

/** Whether the browsers of others can encrypt with a public key. */
export function isPublicKey(text: string): boolean {
  if (text.length !== CHARACTERS) return false
  const der = Buffer.from(text, 'base64')
  const modulus = der.subarray(HEAD.length, HEAD.length + MODULUS_BYTES)
  const isFramed = Buffer.concat([HEAD, modulus, TAIL]).equals(der)
  // Of 4096 bits, and odd, as browsers insist; base64 can be written in more ways than one.
  return (
    isFramed && Number(modulus.at(0)) >= 0x80 && Number(modulus.at(-1)) % 2 === 1 && der.toString('base64') === text
  )
}

export const publicKey = z
  .string()
  .min(1, { error: 'must not be empty', abort: true })
  .max(CHARACTERS, { error: 'is too long for an RSA key of 4096 bits', abort: true })
  .refine(isPublicKey, 'must be an RSA key of 4096 bits, as SPKI in base64')
  .describe('An RSA key of 4096 bits as SPKI in base64, as a browser makes it.')

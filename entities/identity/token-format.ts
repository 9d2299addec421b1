import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ours = /^svc_(\d{1,10})_([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/
const imported = /^(\d{1,10})\|([\x21-\x7e]{16,200})$/

/** The parts of a plain token. */
export interface TokenText {
  id: number
  secret: string
}

/** What a token claims: the id of its row, and the hash that the row must have. */
export interface TokenClaim {
  id: number
  hash: string
}

export const mintSecret = () => Array.from({ length: 40 }, () => alphabet[randomInt(62)]).join('')

/** `svc_{id}_{secret}{checksum}`: scanners recognise a leaked token, and the checksum reveals a typing error without a look-up. */
export const writeToken = ({ id, secret }: TokenText) => `svc_${id}_${secret}${checksum(secret)}`

/** Reads our own tokens, and imported ones of the form `id|secret`; undefined for anything else. */
export function readToken(text: string): TokenClaim | undefined {
  const [, id, secret, sum] = ours.exec(text) ?? []
  if (id && secret) return sum === checksum(secret) ? claimOf(Number(id), secret) : undefined
  const [, importedId, importedSecret] = imported.exec(text) ?? []
  return importedId && importedSecret ? claimOf(Number(importedId), importedSecret) : undefined
}

export const hashSecret = (secret: string) => hash('sha256', secret, 'hex')

function checksum(secret: string): string {
  let rest = crc32(secret)
  let digits = ''
  while (digits.length < 6) {
    digits += alphabet[rest % 62]
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** A larger id would be a database error. */
const claimOf = (id: number, secret: string) =>
  id > 0 && id <= 2_147_483_647 ? { id, hash: hashSecret(secret) } : undefined

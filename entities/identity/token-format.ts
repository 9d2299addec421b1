import { hash, randomInt } from 'node:crypto'
import { computeChecksum, type TokenKind } from './token-reference.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ownTokenPattern = /^svc_(app_)?(\d{1,10})_([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/
const importedTokenPattern = /^(\d{1,10})\|([\x21-\x7e]{16,200})$/

/** The parts of a plain token. */
export interface TokenText {
  id: number
  secret: string
  kind?: TokenKind
}

/** The claim of a token: its kind, the id of its row, and the hash that the row must have. */
export interface TokenClaim {
  kind: TokenKind
  id: number
  hash: string
}

export const generateSecret = () => Array.from({ length: 40 }, () => alphabet[randomInt(62)]).join('')

/**
 * Formats a token as `svc_{id}_{secret}{checksum}`, or `svc_app_...` for an app. The prefix lets scanners recognise
 * leaks; the checksum detects typos without a look-up.
 */
export const writeToken = ({ id, secret, kind }: TokenText) =>
  `svc_${kind === 'app' ? 'app_' : ''}${id}_${secret}${computeChecksum(secret)}`

/** Reads our own tokens, and imported ones of the form `id|secret`; undefined for anything else. */
export function readToken(text: string): TokenClaim | undefined {
  const [, app, id, secret, sum] = ownTokenPattern.exec(text) ?? []
  if (id && secret) return sum === computeChecksum(secret) ? toClaim(toKind(app), Number(id), secret) : undefined
  const [, importedId, importedSecret] = importedTokenPattern.exec(text) ?? []
  return importedId && importedSecret ? toClaim('person', Number(importedId), importedSecret) : undefined
}

export const hashSecret = (secret: string) => hash('sha256', secret, 'hex')

const toKind = (prefix: string | undefined): TokenKind => (prefix ? 'app' : 'person')

/** A larger id would cause a database error. */
const toClaim = (kind: TokenKind, id: number, secret: string) =>
  id > 0 && id <= 2_147_483_647 ? { kind, id, hash: hashSecret(secret) } : undefined

/** Kind of a token: of a person, perhaps held by an app, or of an app itself. */
export const tokenKinds = ['person', 'app'] as const
export type TokenKind = (typeof tokenKinds)[number]

/** The part of a token that is no secret. */
export interface TokenReference {
  kind: TokenKind
  id: number
}

const MAX_ID = 2_147_483_647
const SECRET_LENGTH = 40
const CHECKSUM_LENGTH = 6
const ownToken = /^svc_(app_)?(\d{1,10})_([0-9A-Za-z]*)$/
const importedToken = /^(\d{1,10})\|[\x21-\x7e]{0,200}$/
/** Marks with which logs and scanners replace the rest of a token. */
const mask = /[*.…]+$/

/**
 * Reads the id from a token or its beginning; undefined for what is no token of ours. It runs in browsers as well, so
 * that the secret doesn't leave the page.
 */
export function readTokenReference(text: string): TokenReference | undefined {
  const token = text.trim().replace(mask, '')
  const [, app, ownId, rest = ''] = ownToken.exec(token) ?? []
  const id = Number(ownId ?? importedToken.exec(token)?.[1])
  if (!(id > 0 && id <= MAX_ID) || (ownId && !isBeginning(rest))) return undefined
  return { kind: app ? 'app' : 'person', id }
}

/** False if the characters are too many, or their checksum is wrong. */
function isBeginning(text: string): boolean {
  const [secret, checksum] = [text.slice(0, SECRET_LENGTH), text.slice(SECRET_LENGTH)]
  return checksum.length < CHECKSUM_LENGTH || checksum === computeChecksum(secret)
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Computes the CRC-32 of a secret in base 62, its last digit first. */
export function computeChecksum(secret: string): string {
  let rest = computeCrc32(secret)
  let digits = ''
  while (digits.length < CHECKSUM_LENGTH) {
    digits += alphabet[rest % 62]
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** Computes the CRC-32 of ASCII text, as zlib does, which browsers lack. */
function computeCrc32(text: string): number {
  let crc = 0xff_ff_ff_ff
  for (const character of text) {
    crc ^= character.charCodeAt(0)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xed_b8_83_20 : crc >>> 1
  }
  return (crc ^ 0xff_ff_ff_ff) >>> 0
}

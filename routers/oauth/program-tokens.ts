import { hashSecret, writeToken } from '../../entities/identity/token-format.ts'
import { computeChecksum } from '../../entities/identity/token-reference.ts'
import type { Context } from '../core/context.ts'
import { isSameSecret } from '../ports/constant-time.ts'
import { OAUTH_TOKEN } from '../ports/vault.ts'

/** The secrets of a grant are derived from these values and the application key. */
export interface TokenSource {
  id: number
  tokenId: number
  salt: string
}

/** The secrets of one generation of a grant. */
interface Secrets {
  access: string
  refresh: string
}

const SECRET_LENGTH = 40
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Writes a code as base 62; 40 digits hold 238 of its 256 bits. */
function toSecret(code: Buffer): string {
  let rest = BigInt(`0x${code.toString('hex')}`)
  let digits = ''
  while (digits.length < SECRET_LENGTH) {
    digits += alphabet[Number(rest % 62n)]
    rest /= 62n
  }
  return digits
}

/**
 * Derives the secrets of a generation under the application key, and then under each previous one. So a repeated refresh
 * gets the same answer, although only hashes are stored.
 */
function deriveSecrets({ services }: Context, { id, salt }: TokenSource, generation: number): Secrets[] {
  const derive = (kind: string) =>
    services.vault.computeMacs([id, salt, generation, kind].join(' '), OAUTH_TOKEN).map(toSecret)
  const refresh = derive('refresh')
  return derive('access').map((access, key) => ({ access, refresh: refresh[key] ?? '' }))
}

/** The texts that a program gets. */
export interface TokenPair {
  accessToken: string
  refreshToken: string
  /** Hash of the access token. */
  hash: string
}

const writePair = ({ id, tokenId }: TokenSource, generation: number, { access, refresh }: Secrets): TokenPair => ({
  accessToken: writeToken({ id: tokenId, secret: access }),
  refreshToken: `svc_refresh_${id}_${generation}_${refresh}${computeChecksum(refresh)}`,
  hash: hashSecret(access),
})

/** Makes the tokens of a generation with the current key. */
export function makePair(ctx: Context, source: TokenSource, generation: number): TokenPair {
  const [secrets] = deriveSecrets(ctx, source, generation)
  if (!secrets) throw new Error('there is no application key')
  return writePair(source, generation, secrets)
}

/** Makes the tokens of a generation again, of which one hash is stored; undefined if no key makes this hash. */
export const remakePair = (ctx: Context, source: TokenSource, generation: number, stored: string) =>
  deriveSecrets(ctx, source, generation)
    .map((secrets) => writePair(source, generation, secrets))
    .find((pair) => pair.hash === stored)

export interface RefreshClaim {
  grantId: number
  generation: number
  secret: string
}

const refreshPattern = /^svc_refresh_(\d{1,10})_(\d{1,9})_([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/
const MAX_ID = 2 ** 31 - 1

export function readRefreshToken(text: string): RefreshClaim | undefined {
  const [, id, generation, secret = '', sum] = refreshPattern.exec(text) ?? []
  if (sum === undefined || sum !== computeChecksum(secret) || Number(id) > MAX_ID) return undefined
  return { grantId: Number(id), generation: Number(generation), secret }
}

/** Returns true if the secret was made here, under the current application key or a previous one. */
export const isGenuine = (ctx: Context, source: TokenSource, { generation, secret }: RefreshClaim): boolean =>
  deriveSecrets(ctx, source, generation).some(({ refresh }) => isSameSecret(refresh, secret))

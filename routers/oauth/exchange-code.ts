import { hash, randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { hashSecret } from '../../entities/identity/token-format.ts'
import { type IssuedCode, lockCode, setCodeGrant } from '../../entities/oauth/oauth-code.sql.ts'
import {
  createGrant,
  createProgramToken,
  findExcessGrants,
  setTokenSecret,
} from '../../entities/oauth/oauth-grant.sql.ts'
import type { ChangeTransaction } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { refuseRequest } from '../core/oauth-refusal.ts'
import { runForOneRow, runStatement } from '../core/run-statement.ts'
import { isSameSecret } from '../ports/constant-time.ts'
import { removeSlash } from '../ports/web-address.ts'
import { endGrant, logEnd } from './grants.ts'
import { makePair } from './program-tokens.ts'
import { assertWithinResources } from './resource-address.ts'
import { computeEnd, type IssuedTokens, type TokenRequest, toIssuedTokens } from './token-request.ts'

const MAX_TOKEN_NAME = 16
const MAX_DEVICE = 40

/** Exchanges a code for the tokens of a new grant. A code that is used again ends what it gave. */
export async function exchangeCode(ctx: Context, clientId: string, request: TokenRequest): Promise<IssuedTokens> {
  const { code = '', codeVerifier = '', redirectUri } = request
  if (!code || !codeVerifier) throw refuseRequest('A code and its code_verifier are required.', 'invalid_request')
  const outcome = await withChangeLog(ctx, async (em, changes) => {
    const [issued] = await runStatement(em, lockCode, [hashSecret(code), clientId])
    if (!issued) return 'This code is not valid.'
    if (issued.grantId !== null) {
      await endGrant({ em, changes }, issued.grantId, null)
      logEnd(ctx, issued.grantId, issued.userId)
      return 'This code was used before, so the access that it gave has ended.'
    }
    if (Date.now() >= issued.expiresAt) return 'This code has expired.'
    if (redirectUri !== issued.redirectUri) return 'The redirect_uri is not the one for which the code was given.'
    if (!isSameSecret(hash('sha256', codeVerifier, 'base64url'), issued.challenge)) return 'The code_verifier is wrong.'
    return createGrantFor(ctx, { em, changes }, issued, request)
  })
  if (typeof outcome === 'string') throw refuseRequest(outcome, 'invalid_grant')
  return outcome
}

async function createGrantFor(
  ctx: Context,
  { em, changes }: ChangeTransaction,
  issued: IssuedCode,
  { code = '', resources: wanted, userAgent }: TokenRequest,
): Promise<IssuedTokens> {
  const { oauth } = ctx.services.settings
  const { userId, client, clientName, abilities, servers } = issued
  assertWithinResources(ctx, issued.resources, wanted)
  // A program that named no address before is bound to the one that it names now.
  const resources = issued.resources.length > 0 ? issued.resources : wanted.map(removeSlash)
  const now = Date.now()
  const endsAt = computeEnd(now, now, oauth.grantLifetime)
  const salt = randomBytes(16).toString('hex')
  const tokenName = [...clientName].slice(0, MAX_TOKEN_NAME).join('')
  const { id: tokenId } = await runForOneRow(em, createProgramToken, [userId, tokenName, hashSecret(salt), abilities])
  const values = [salt, resources, servers, new Date(now), new Date(endsAt), findDevice(userAgent)]
  const { id } = await runForOneRow(em, createGrant, [userId, client, tokenId, ...values])
  const pair = makePair(ctx, { id, tokenId, salt }, 0)
  const expiresAt = Math.min(now + oauth.accessLifetime, endsAt)
  await runStatement(em, setTokenSecret, [tokenId, pair.hash, null, new Date(expiresAt)])
  await runStatement(em, setCodeGrant, [hashSecret(code), id])
  await endExcessGrants({ em, changes }, userId, oauth.grantsPerPerson)
  ctx.services.log.info(
    { requestId: ctx.requestId, grantId: id, tokenId, userId, abilities },
    'a program was signed in',
  )
  return toIssuedTokens(pair, { expiresAt, abilities }, now)
}

/** Ends the grants of a person that were not used for the longest time, if there are too many. */
async function endExcessGrants(tx: ChangeTransaction & { em: EntityManager }, userId: number, most: number) {
  for (const { id } of await runStatement(tx.em, findExcessGrants, [userId, most])) await endGrant(tx, id, userId)
}

/** Returns the product at the beginning of a user agent, such as `claude-code/2.1`. */
const findDevice = (userAgent = ''): string | null =>
  /^[\w.+-]{1,30}(\/[\w.+-]{1,20})?/.exec(userAgent)?.[0].slice(0, MAX_DEVICE) ?? null

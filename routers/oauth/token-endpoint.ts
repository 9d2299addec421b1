import { z } from 'zod'
import { hashSecret, readToken } from '../../entities/identity/token-format.ts'
import { findGrantOfToken, lockGrant } from '../../entities/oauth/oauth-grant.sql.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { refuseRequest } from '../core/oauth-refusal.ts'
import { runStatement } from '../core/run-statement.ts'
import { isSameSecret } from '../ports/constant-time.ts'
import { exchangeCode } from './exchange-code.ts'
import { endGrant, logEnd } from './grants.ts'
import { findTokenClient } from './oauth-client.ts'
import { assertOAuthOn, assertWithinRate } from './oauth-policy.ts'
import { isGenuine, readRefreshToken } from './program-tokens.ts'
import { refreshGrant } from './refresh-grant.ts'
import { clientCredentials, type IssuedTokens, parameter, type TokenRequest } from './token-request.ts'

export const revocation = z.strictObject({ ...clientCredentials, token: parameter })
type Revocation = z.output<typeof revocation>

/** Issues tokens for a code or a refresh token. */
export async function issueTokens(ctx: Context, request: TokenRequest): Promise<IssuedTokens> {
  const clientId = await authenticateClient(ctx, request)
  if (request.grantType === 'authorization_code') return exchangeCode(ctx, clientId, request)
  if (request.grantType === 'refresh_token') return refreshGrant(ctx, clientId, request)
  throw refuseRequest('The grant_type is authorization_code or refresh_token.', 'unsupported_grant_type')
}

/** Returns the stored id of the calling client. One with a secret must know it; others prove themselves by their codes. */
async function authenticateClient(
  ctx: Context,
  { clientId, clientSecret }: Pick<TokenRequest, 'clientId' | 'clientSecret'>,
): Promise<string> {
  assertOAuthOn(ctx.services.settings)
  await assertWithinRate(ctx)
  const client = await findTokenClient(ctx, clientId)
  const secretHash = client?.stored?.secretHash
  const isAuthentic = !secretHash || isSameSecret(hashSecret(clientSecret ?? ''), secretHash)
  if (!client || !isAuthentic)
    throw refuseRequest('This client is not known here, or its secret is wrong.', 'invalid_client')
  return client.storedId
}

/** Ends the grant of a token. As RFC 7009 wants, one that is no token of this client changes nothing and is no error. */
export async function revokeToken(ctx: Context, request: Revocation): Promise<void> {
  const clientId = await authenticateClient(ctx, request)
  const refresh = readRefreshToken(request.token)
  const access = readToken(request.token)
  const grantId = refresh?.grantId ?? (access && (await ctx.services.sql(findGrantOfToken, [access.id]))[0]?.id)
  if (grantId === undefined) return
  await withChangeLog(ctx, async (em, changes) => {
    const [grant] = await runStatement(em, lockGrant, [grantId])
    if (!grant || grant.clientId !== clientId) return
    const hashes = [grant.hash, ...(grant.previous ?? []).map(({ hash }) => hash)]
    const isOwn = refresh
      ? isGenuine(ctx, grant, refresh)
      : hashes.some((hash) => isSameSecret(hash, access?.hash ?? ''))
    if (!isOwn) return
    await endGrant({ em, changes }, grant.id, null)
    logEnd(ctx, grant.id, grant.userId)
  })
}

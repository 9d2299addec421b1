import type { EarlierSecret } from '../../entities/identity/access-token.ts'
import {
  endReplayedGrant,
  type LockedGrant,
  lockGrant,
  rotateGrant,
  setTokenSecret,
} from '../../entities/oauth/oauth-grant.sql.ts'
import { recordCallInTransaction } from '../core/audit.ts'
import { AuditedCall } from '../core/audited-call.ts'
import type { ChangeTransaction } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { refuseRequest } from '../core/oauth-refusal.ts'
import { runStatement } from '../core/run-statement.ts'
import { tokenCredential } from '../ports/credential-watch.ts'
import { isGenuine, makePair, readRefreshToken, remakePair } from './program-tokens.ts'
import { assertWithinResources } from './resource-address.ts'
import { computeEnd, type IssuedTokens, type TokenRequest, toIssuedTokens } from './token-request.ts'

/** Time in which the other processes of a program may present the token that one of them has just exchanged. */
const GRACE_MS = 60_000
const MAX_EARLIER = 3

/**
 * Exchanges a refresh token under the lock of its grant, so that any number of processes at any replicas end with one pair.
 * An old token that comes again ends the grant, since somebody else may have it; one that we did not make changes nothing.
 */
export async function refreshGrant(
  ctx: Context,
  clientId: string,
  { refreshToken = '', resources }: TokenRequest,
): Promise<IssuedTokens> {
  const claim = readRefreshToken(refreshToken)
  if (!claim) throw refuseRequest('This refresh token is not valid.', 'invalid_grant')
  const outcome = await withChangeLog(ctx, async (em, changes) => {
    const [grant] = await runStatement(em, lockGrant, [claim.grantId])
    if (!grant || grant.clientId !== clientId || !isGenuine(ctx, grant, claim))
      return 'This refresh token is not valid.'
    if (grant.blocked || grant.disabled || Date.now() >= grant.endsAt) return 'The access of this program has ended.'
    assertWithinResources(ctx, grant.resources, resources)
    return refreshGenuine(ctx, { em, changes }, grant, claim.generation)
  })
  if (typeof outcome === 'string') throw refuseRequest(outcome, 'invalid_grant')
  return outcome
}

/** Answers a token that we made. One that is ahead of the grant comes from the time before a backup was restored. */
async function refreshGenuine(
  ctx: Context,
  tx: ChangeTransaction,
  grant: LockedGrant,
  presented: number,
): Promise<IssuedTokens | string> {
  if (presented >= grant.generation) return rotateTokens(ctx, tx, grant, presented + 1)
  if (presented === grant.generation - 1 && Date.now() < grant.rotatedAt + GRACE_MS) {
    const pair = remakePair(ctx, grant, grant.generation, grant.hash)
    return pair ? toIssuedTokens(pair, grant, Date.now()) : rotateTokens(ctx, tx, grant, grant.generation + 1)
  }
  await endReplayed(ctx, tx, grant)
  return 'This refresh token was used before, so the access of this program has ended.'
}

/** Makes the tokens of the next generation. Earlier access tokens work until their own ends. */
async function rotateTokens(
  ctx: Context,
  { em }: ChangeTransaction,
  grant: LockedGrant,
  generation: number,
): Promise<IssuedTokens> {
  const { oauth } = ctx.services.settings
  const now = Date.now()
  const pair = makePair(ctx, grant, generation)
  const endsAt = computeEnd(grant.createdAt, now, oauth.grantLifetime)
  const expiresAt = Math.min(now + oauth.accessLifetime, endsAt)
  const earlier = JSON.stringify(listEarlierSecrets(grant, now))
  await runStatement(em, rotateGrant, [grant.id, generation, new Date(now), new Date(endsAt)])
  await runStatement(em, setTokenSecret, [grant.tokenId, pair.hash, earlier, new Date(expiresAt)])
  return toIssuedTokens(pair, { expiresAt, abilities: grant.abilities }, now)
}

const listEarlierSecrets = ({ hash, expiresAt, previous }: LockedGrant, now: number): EarlierSecret[] =>
  [{ hash, endsAt: new Date(expiresAt).toISOString() }, ...(previous ?? [])]
    .filter(({ endsAt }) => Date.parse(endsAt) > now)
    .slice(0, MAX_EARLIER)

async function endReplayed(ctx: Context, { em, changes }: ChangeTransaction, grant: LockedGrant): Promise<void> {
  const { id, tokenId, userId, clientName: client, clientHost: host } = grant
  await runStatement(em, endReplayedGrant, [id])
  changes.addEnded([tokenCredential(tokenId)])
  const call = new AuditedCall({ path: 'oauth.replayed', isMutation: true, isAdministrative: false, input: undefined })
  call.setSubject(`user:${userId}`).recordChange({ client, host })
  changes.addLogged(await recordCallInTransaction(ctx, em, call))
  ctx.services.log.warn({ requestId: ctx.requestId, grantId: id, userId }, 'an old refresh token was used again')
}

import {
  findCredentialApps,
  findTokenOwners,
  type TokenOwner,
  touchCredentials,
  touchTokens,
} from '../../entities/apps/credential-owner.sql.ts'
import { readToken, type TokenClaim } from '../../entities/identity/token-format.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import type { Sql, Statement } from '../../entities/sql/statement.ts'
import type { Caller, UsageType } from '../../routers/core/caller.ts'
import type { TypeChangeCause } from '../../routers/core/hooks.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Settings } from '../../routers/core/settings.ts'
import { isOpenToClient } from '../../routers/oauth/oauth-policy.ts'
import { allowsPath } from '../../routers/oauth/resource-address.ts'
import { isSameSecret } from '../../routers/ports/constant-time.ts'
import type { Log } from '../../routers/ports/log.ts'
import { BatchWriter } from '../stores/batch-writer.ts'

export interface Authenticated {
  caller: Caller
  /** Is set if the request was authenticated by a token. */
  cause?: TypeChangeCause
  usage: UsageType
}

/** Authenticates requests that carry a token. */
export interface Authenticator {
  /**
   * Authenticates by a bearer token for a path. Throws if external access is off, even without a token, if the token is
   * missing or invalid, and if it is good for other paths only.
   */
  authenticateBearer(authorization: string | undefined, path: string): Promise<Authenticated>
  flush(): Promise<void>
}

export function createAuthenticator(sql: Sql, settings: Settings, log: Log): Authenticator {
  const tokens = createUseRecorder(sql, touchTokens, log)
  const credentials = createUseRecorder(sql, touchCredentials, log)

  async function authenticatePerson({ id, hash }: TokenClaim, path: string): Promise<Authenticated> {
    const [owner] = await sql(findTokenOwners, [[id]])
    if (!owner || !isSecretOf(owner, hash)) throw new Problem('invalid_token')
    if (owner.grantId !== null && !isOpenToProgram(owner, settings, path)) throw new Problem('invalid_token')
    if (owner.appId !== null && !settings.allowExternalApps) throw new Problem('external_apps_off')
    tokens.add(id)
    return { caller: toUserCaller(owner), cause: 'bearer-token', usage: 'external' }
  }

  async function authenticateApp({ id, hash }: TokenClaim): Promise<Authenticated> {
    const [owner] = await sql(findCredentialApps, [[id]])
    if (!owner || !isSameSecret(hash, owner.hash)) throw new Problem('invalid_token')
    credentials.add(id)
    const { appId, name, createdAt, updatedAt } = owner
    return {
      caller: { type: 'external-app', appId, name, createdAt, updatedAt },
      cause: 'bearer-token',
      usage: 'external',
    }
  }

  return {
    async authenticateBearer(authorization, path) {
      // This is checked before the look-up, so that the response reveals nothing about the token.
      if (!settings.allowExternalCommunication) throw new Problem('external_communication_off')
      const claim = readClaim(authorization)
      if (claim.kind === 'person') return await authenticatePerson(claim, path)
      if (!settings.allowExternalApps) throw new Problem('external_apps_off')
      return await authenticateApp(claim)
    },
    async flush() {
      await Promise.all([tokens.flush(), credentials.flush()])
    },
  }
}

/** Converts the owner of a token to a caller: the person, even if an app holds the token. */
function toUserCaller(owner: DeepReadonly<TokenOwner>): Caller {
  const { userId: id, username, name, email, role, groups, tokenId, abilities, models, appId, grantId, servers } = owner
  const grant = grantId === null ? undefined : { id: grantId, servers }
  const binding = models !== null && { models }
  const token = { id: tokenId, abilities, ...binding, ...(appId !== null && { appId }), ...(grant && { grant }) }
  return { type: 'user', person: { id, username, name, email, role, groups }, token }
}

/** Returns true if the token has this secret now, or had it earlier and the earlier one has not ended. */
function isSecretOf({ hash: current, earlierSecrets }: DeepReadonly<TokenOwner>, hash: string): boolean {
  if (isSameSecret(hash, current)) return true
  return (earlierSecrets ?? []).some(
    (earlier) => isSameSecret(hash, earlier.hash) && Date.now() < Date.parse(earlier.endsAt),
  )
}

/** Returns true if this program is allowed, and the person gave this one access to the path. */
const isOpenToProgram = (owner: DeepReadonly<TokenOwner>, settings: Settings, path: string) =>
  owner.clientKind !== null &&
  isOpenToClient(owner.clientKind, owner.clientHost, settings) &&
  allowsPath(owner.resources ?? [], settings.baseUrl, path)

function readClaim(authorization: string | undefined): TokenClaim {
  if (authorization === undefined) throw new Problem('signed_out')
  const [scheme, text = ''] = authorization.split(' ', 2)
  const claim = scheme?.toLowerCase() === 'bearer' ? readToken(text) : undefined
  if (!claim) throw new Problem('invalid_token')
  return claim
}

/** Creates a recorder of the last use of tokens. It writes every few seconds, so that no request waits. */
function createUseRecorder(sql: Sql, touch: Statement<never>, log: Log): Pick<BatchWriter<number>, 'add' | 'flush'> {
  const waiting = new Set<number>()
  const write = (ids: number[]) => {
    for (const id of ids) waiting.delete(id)
    return sql(touch, [ids, ids.map(() => new Date())])
  }
  const batch = new BatchWriter({ name: 'token use', write, log, delayMs: 5000 })
  return {
    add(id) {
      if (!waiting.has(id)) batch.add(id)
      waiting.add(id)
    },
    flush: () => batch.flush(),
  }
}

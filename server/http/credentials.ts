import { timingSafeEqual } from 'node:crypto'
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
import type { Log } from '../../routers/ports/log.ts'
import { Batch } from '../stores/write-behind.ts'

export interface Authenticated {
  caller: Caller
  /** Set if a credential was resolved for this request. */
  cause?: TypeChangeCause
  usage: UsageType
}

/** Authenticates requests that carry a token. */
export interface Authenticator {
  /** Throws if external access is off, also for a request without a token, and if the token is missing or invalid. */
  authenticateBearer(authorization: string | undefined): Promise<Authenticated>
  flush(): Promise<void>
}

export function createAuthenticator(sql: Sql, settings: Settings, log: Log): Authenticator {
  const tokens = tokenUse(sql, touchTokens, log)
  const credentials = tokenUse(sql, touchCredentials, log)

  async function authenticatePerson({ id, hash }: TokenClaim): Promise<Authenticated> {
    const owner = (await sql(findTokenOwners, [[id]])).find(({ tokenId }) => tokenId === id)
    if (!owner || !isEqual(hash, owner.hash)) throw new Problem('invalid_token')
    if (owner.appId !== null && !settings.allowExternalApps) throw new Problem('external_apps_off')
    tokens.add(id)
    return { caller: toHolder(owner), cause: 'bearer-token', usage: 'external' }
  }

  async function authenticateApp({ id, hash }: TokenClaim): Promise<Authenticated> {
    const found = (await sql(findCredentialApps, [[id]])).find(({ credentialId }) => credentialId === id)
    if (!found || !isEqual(hash, found.hash)) throw new Problem('invalid_token')
    credentials.add(id)
    const { appId, name, createdAt, updatedAt } = found
    return {
      caller: { type: 'external-app', appId, name, createdAt, updatedAt },
      cause: 'bearer-token',
      usage: 'external',
    }
  }

  return {
    async authenticateBearer(authorization) {
      // Checked before the look-up, so that the answer reveals nothing about the token.
      if (!settings.allowExternalCommunication) throw new Problem('external_communication_off')
      const claim = claimIn(authorization)
      if (claim.kind === 'person') return await authenticatePerson(claim)
      if (!settings.allowExternalApps) throw new Problem('external_apps_off')
      return await authenticateApp(claim)
    },
    async flush() {
      await Promise.all([tokens.flush(), credentials.flush()])
    },
  }
}

/** The person whose token it is, also where an app holds it. */
function toHolder(owner: DeepReadonly<TokenOwner>): Caller {
  const { userId: id, username, name, email, role, groups, tokenId, abilities, appId } = owner
  const token = { id: tokenId, abilities, ...(appId !== null && { appId }) }
  return { type: 'user', person: { id, username, name, email, role, groups }, token }
}

/** Compares in constant time, which reveals nothing about where two hashes differ. */
const isEqual = (one: string, other: string) => timingSafeEqual(Buffer.from(one), Buffer.from(other))

function claimIn(authorization: string | undefined): TokenClaim {
  if (authorization === undefined) throw new Problem('signed_out')
  const [scheme, text = ''] = authorization.split(' ', 2)
  const claim = scheme?.toLowerCase() === 'bearer' ? readToken(text) : undefined
  if (!claim) throw new Problem('invalid_token')
  return claim
}

/** Collects when tokens were last used and writes it every few seconds, so that no request waits for it. */
function tokenUse(sql: Sql, touch: Statement<never>, log: Log): Pick<Batch<number>, 'add' | 'flush'> {
  const waiting = new Set<number>()
  const write = (ids: number[]) => {
    for (const id of ids) waiting.delete(id)
    return sql(touch, [ids, ids.map(() => new Date())])
  }
  const batch = new Batch({ name: 'token use', write, log, gather: 5000 })
  return {
    add(id) {
      if (!waiting.has(id)) batch.add(id)
      waiting.add(id)
    },
    flush: () => batch.flush(),
  }
}

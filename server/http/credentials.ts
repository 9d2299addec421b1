import { timingSafeEqual } from 'node:crypto'
import { findTokenOwners, touchTokens } from '../../entities/identity/access-token.sql.ts'
import { readToken, type TokenClaim } from '../../entities/identity/token-format.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Caller, UsageType } from '../../routers/core/caller.ts'
import type { TypeChangeCause } from '../../routers/core/hooks.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Settings } from '../../routers/core/settings.ts'
import type { Log } from '../../routers/ports/log.ts'
import { type Batch, createBatch } from '../stores/write-behind.ts'

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
  const used = tokenUse(sql, log)
  const ownerOf = async (id: number) => (await sql(findTokenOwners, [[id]])).find(({ tokenId }) => tokenId === id)

  async function authenticateBearer(authorization: string | undefined): Promise<Authenticated> {
    // Checked before the look-up, so that the answer reveals nothing about the token.
    if (!settings.allowExternalCommunication) throw new Problem('external_communication_off')
    if (authorization === undefined) throw new Problem('signed_out')
    const token = readBearer(authorization)
    const owner = token && (await ownerOf(token.id))
    if (!token || !owner || !isEqual(token.hash, owner.hash)) throw new Problem('invalid_token')
    used.add(token.id)
    const { userId: id, username, name, email, role, groups, abilities } = owner
    const person = { id, username, name, email, role, groups }
    return {
      caller: { type: 'user', person, token: { id: token.id, abilities } },
      cause: 'bearer-token',
      usage: 'external',
    }
  }

  return { authenticateBearer, flush: used.flush }
}

/** Compares in constant time, which reveals nothing about where two hashes differ. */
const isEqual = (one: string, other: string) => timingSafeEqual(Buffer.from(one), Buffer.from(other))

function readBearer(authorization: string): TokenClaim | undefined {
  const [scheme, text = ''] = authorization.split(' ', 2)
  return scheme?.toLowerCase() === 'bearer' ? readToken(text) : undefined
}

/** Collects when tokens were last used and writes it every few seconds, so that no request waits for it. */
function tokenUse(sql: Sql, log: Log): Batch<number> {
  const waiting = new Set<number>()
  const write = (ids: number[]) => {
    for (const id of ids) waiting.delete(id)
    return sql(touchTokens, [ids, ids.map(() => new Date())])
  }
  const batch = createBatch({ name: 'token use', write, log, gather: 5000 })
  return {
    add(id) {
      if (!waiting.has(id)) batch.add(id)
      waiting.add(id)
    },
    flush: batch.flush,
  }
}

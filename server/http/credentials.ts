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
  /** Set where a credential was just resolved. */
  cause?: TypeChangeCause
  usage: UsageType
}

/** Finds out who calls by a token. */
export interface Authenticator {
  /** Throws where external access is off, which is said even without a token, and where the token is missing or not valid. */
  authenticateBearer(authorization: string | undefined): Promise<Authenticated>
  flush(): Promise<void>
}

export function createAuthenticator(sql: Sql, settings: Settings, log: Log): Authenticator {
  const used = tokenUse(sql, log)
  const ownerOf = async (id: number) => (await sql(findTokenOwners, [[id]])).find(({ tokenId }) => tokenId === id)

  async function authenticateBearer(authorization: string | undefined): Promise<Authenticated> {
    // Before the token is looked up: a switch that is off tells nothing about tokens.
    if (!settings.allowExternalCommunication) throw new Problem('external_communication_off')
    if (authorization === undefined) throw new Problem('signed_out')
    const token = readBearer(authorization)
    const owner = token && (await ownerOf(token.id))
    if (!token || !owner || !isEqual(token.hash, owner.hash)) throw new Problem('invalid_token')
    used.add(token.id)
    const { userId: id, username, name, email, role, abilities } = owner
    return {
      caller: { type: 'user', person: { id, username, name, email, role }, token: { id: token.id, abilities } },
      cause: 'bearer-token',
      usage: 'external',
    }
  }

  return { authenticateBearer, flush: used.flush }
}

/** In a time that tells nothing about where two hashes differ. */
const isEqual = (one: string, other: string) => timingSafeEqual(Buffer.from(one), Buffer.from(other))

function readBearer(authorization: string): TokenClaim | undefined {
  const [scheme, text = ''] = authorization.split(' ', 2)
  return scheme?.toLowerCase() === 'bearer' ? readToken(text) : undefined
}

/** When each token was last used, written every few seconds and never on the way of a request. */
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

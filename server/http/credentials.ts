import { findTokenOwners, touchTokens } from '../../entities/identity/access-token.sql.ts'
import { findSessionUsers } from '../../entities/identity/session.sql.ts'
import { matchesHash, readToken, type TokenText } from '../../entities/identity/token-format.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Caller, UsageType } from '../../routers/core/caller.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Settings } from '../../routers/core/settings.ts'
import { callerOf } from '../../routers/identity/session-caller.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { SessionRecord } from '../../routers/ports/session.ts'
import { type Batch, createBatch } from '../stores/write-behind.ts'

export interface Identity {
  caller: Caller
  usage: UsageType
}

/** Finds out who calls, by what the request carries. */
export interface Callers {
  /** Throws where external access is off, or the token is not valid. */
  byBearer(authorization: string | undefined): Promise<Identity>
  /** The same for where nothing but a token opens: without one, too, the switch speaks first. */
  byTokenOnly(authorization: string | undefined): Promise<Identity>
  /** Undefined where the person is gone, or their sessions were ended. */
  bySession(session: SessionRecord): Promise<Caller | undefined>
  flush(): Promise<void>
}

const guest: Identity = { caller: { type: 'guest' }, usage: 'main' }

export function createCallers(sql: Sql, settings: Settings, log: Log): Callers {
  const used = tokenUse(sql, log)
  const ownerOf = async (id: number) => (await sql(findTokenOwners, [[id]])).find(({ tokenId }) => tokenId === id)
  const personOf = async (id: number) => (await sql(findSessionUsers, [[id]])).find((person) => person.id === id)

  async function byTokenOnly(authorization: string | undefined): Promise<Identity> {
    // Before the token is looked up: a switch that is off tells nothing about tokens.
    if (!settings.allowExternalCommunication) throw new Problem('external_communication_off')
    if (authorization === undefined) throw new Problem('signed_out')
    const token = readBearer(authorization)
    const owner = token && (await ownerOf(token.id))
    if (!token || !owner || !matchesHash(token.secret, owner.hash)) throw new Problem('invalid_token')
    used.add(token.id)
    const { userId: id, username, name, email, role, abilities } = owner
    return {
      caller: { type: 'user', person: { id, username, name, email, role }, token: { id: token.id, abilities } },
      usage: 'external',
    }
  }

  async function bySession({ standing }: SessionRecord): Promise<Caller | undefined> {
    if ('registering' in standing) return { type: 'registering', ...standing.registering }
    const found = await personOf(standing.userId)
    if (!found || found.epoch !== standing.epoch) return undefined
    return callerOf(found)
  }

  return {
    bySession,
    byBearer: async (authorization) => (authorization === undefined ? guest : byTokenOnly(authorization)),
    byTokenOnly,
    flush: used.flush,
  }
}

function readBearer(authorization: string): TokenText | undefined {
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

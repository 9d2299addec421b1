import DataLoader from 'dataloader'
import { findEndedCredentials } from '../../entities/apps/credential-owner.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'
import type { Log } from '../../routers/ports/log.ts'
import { startInterval } from './interval.ts'

/** Milliseconds between queries for sessions and tokens that have ended. */
const INTERVAL_MS = 600

/** Largest number of credentials in one statement. */
const MAX_BATCH = 5000

interface Watcher {
  credential: string
  onEnded(): void
}

/** Topic on which replicas broadcast ended credentials. */
const TOPIC = 'credentials-ended'

interface WatchOptions {
  sql: Sql
  bus: ChangeBus
  log: Log
  /** Milliseconds. */
  sessionLifetime: number
}

/**
 * Creates the watch on sessions and tokens. It listens for announced ends, and regularly queries the database for all watched
 * credentials in a few statements, because some expire and an announcement may be lost.
 */
export function createCredentialWatch({ sql, bus, log, sessionLifetime }: WatchOptions): CredentialWatch {
  const watchers = new Set<Watcher>()
  const queryEnded = (credentials: readonly string[]) => findEnded(sql, sessionLifetime, credentials)
  const loader = new DataLoader<string, boolean>(
    async (credentials) => {
      const endedCredentials = await queryEnded(credentials)
      return credentials.map((credential) => !endedCredentials.has(credential))
    },
    { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate },
  )
  const notify = (endedCredentials: ReadonlySet<string>) => {
    const concerned = [...watchers].filter(({ credential }) => endedCredentials.has(credential))
    for (const watcher of concerned) watchers.delete(watcher)
    for (const { onEnded } of concerned) onEnded()
  }
  const notifyAllEnded = async () => {
    const all = [...new Set(Array.from(watchers, ({ credential }) => credential))]
    for (let from = 0; from < all.length; from += MAX_BATCH) notify(await queryEnded(all.slice(from, from + MAX_BATCH)))
  }
  const failure = 'ended sessions and tokens could not be queried'
  const stopQueries = startInterval(notifyAllEnded, { period: INTERVAL_MS, log, failure })
  const stopListening = subscribeToReplicas(bus, notify)
  const add = (watcher: Watcher) => {
    watchers.add(watcher)
    return () => watchers.delete(watcher)
  }
  return {
    async watch(credential, onEnded) {
      // The watcher is added before the query, so that it does not miss an announcement meanwhile.
      const watcher: Watcher = { credential, onEnded() {} }
      const stop = add(watcher)
      const isValid = await loader.load(credential).catch((error: unknown) => {
        stop()
        throw error
      })
      if (isValid && watchers.has(watcher)) {
        watcher.onEnded = onEnded
        return stop
      }
      stop()
      return undefined
    },
    watchVerified: (credential, onEnded) => add({ credential, onEnded }),
    async announce(endedCredentials) {
      if (endedCredentials.length > 0) notify(new Set(endedCredentials))
      for (let from = 0; from < endedCredentials.length; from += MAX_BATCH)
        await bus.broadcast(TOPIC, endedCredentials.slice(from, from + MAX_BATCH))
    },
    close() {
      stopQueries()
      stopListening()
    },
  }
}

const subscribeToReplicas = (bus: ChangeBus, notify: (ended: ReadonlySet<string>) => void) =>
  bus.subscribe({
    onChanges() {},
    onInterruption() {},
    onMessage: (topic, content) => {
      if (topic === TOPIC) notify(new Set(content as string[]))
    },
  })

async function findEnded(sql: Sql, sessionLifetime: number, credentials: readonly string[]): Promise<Set<string>> {
  const listIds = (prefix: string) =>
    credentials.flatMap((credential) => (credential.startsWith(prefix) ? [credential.slice(prefix.length)] : []))
  const since = new Date(Date.now() - sessionLifetime)
  const ended = await sql(findEndedCredentials, [listIds('session:'), since, listIds('token:')])
  return new Set(ended.map(({ session, token }) => (session === null ? `token:${token}` : `session:${session}`)))
}

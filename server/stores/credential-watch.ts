import DataLoader from 'dataloader'
import { findEndedCredentials } from '../../entities/apps/credential-owner.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'

/** How often it is asked which sessions and tokens have ended, in milliseconds, whoever ended them. */
const INTERVAL_MS = 600

/** Credentials that one statement asks about. */
const MAX_BATCH = 5000

interface Watcher {
  credential: string
  onEnded(): void
}

/** By which replicas tell each other what has ended. */
const TOPIC = 'credentials-ended'

interface WatchOptions {
  sql: Sql
  bus: ChangeBus
  /** In milliseconds. */
  sessionLifetime: number
}

/**
 * Hears what is announced to have ended, and asks the database about all that are watched, in one statement for many: time ends
 * some of them, and an announcement may be lost.
 */
export function watchCredentials({ sql, bus, sessionLifetime }: WatchOptions): CredentialWatch {
  const watchers = new Set<Watcher>()
  const ended = (credentials: readonly string[]) => findEnded(sql, sessionLifetime, credentials)
  const loader = new DataLoader<string, boolean>(
    async (credentials) => {
      const over = await ended(credentials)
      return credentials.map((credential) => !over.has(credential))
    },
    { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate },
  )
  const notify = (over: ReadonlySet<string>) => {
    const concerned = [...watchers].filter(({ credential }) => over.has(credential))
    for (const watcher of concerned) watchers.delete(watcher)
    for (const { onEnded } of concerned) onEnded()
  }
  const stopAsking = everyInterval(async () => {
    const all = [...new Set(Array.from(watchers, ({ credential }) => credential))]
    for (let from = 0; from < all.length; from += MAX_BATCH) notify(await ended(all.slice(from, from + MAX_BATCH)))
  })
  const stopListening = hearOthers(bus, notify)
  const add = (watcher: Watcher) => {
    watchers.add(watcher)
    return () => watchers.delete(watcher)
  }
  return {
    async watch(credential, onEnded) {
      // What is announced while the database is asked is heard, too.
      const watcher: Watcher = { credential, onEnded() {} }
      const stop = add(watcher)
      const holds = await loader.load(credential).catch((error: unknown) => {
        stop()
        throw error
      })
      if (holds && watchers.has(watcher)) {
        watcher.onEnded = onEnded
        return stop
      }
      stop()
      return undefined
    },
    watchVerified: (credential, onEnded) => add({ credential, onEnded }),
    async announce(over) {
      if (over.length > 0) notify(new Set(over))
      for (let from = 0; from < over.length; from += MAX_BATCH)
        await bus.broadcast(TOPIC, over.slice(from, from + MAX_BATCH))
    },
    close() {
      stopAsking()
      stopListening()
    },
  }
}

const hearOthers = (bus: ChangeBus, notify: (ended: ReadonlySet<string>) => void) =>
  bus.subscribe({
    onChanges() {},
    onInterruption() {},
    onMessage: (topic, content) => {
      if (topic === TOPIC) notify(new Set(content as string[]))
    },
  })

/** Runs one at a time; one that fails is tried again at the next. */
function everyInterval(run: () => Promise<void>): () => void {
  let isRunning = false
  const timer = setInterval(async () => {
    if (isRunning) return
    isRunning = true
    await run().catch(() => {})
    isRunning = false
  }, INTERVAL_MS).unref()
  return () => clearInterval(timer)
}

async function findEnded(sql: Sql, sessionLifetime: number, credentials: readonly string[]): Promise<Set<string>> {
  const of = (kind: string) => credentials.flatMap((it) => (it.startsWith(kind) ? [it.slice(kind.length)] : []))
  const since = new Date(Date.now() - sessionLifetime)
  const ended = await sql(findEndedCredentials, [of('session:'), since, of('token:')])
  return new Set(ended.map(({ session, token }) => (session === null ? `token:${token}` : `session:${session}`)))
}

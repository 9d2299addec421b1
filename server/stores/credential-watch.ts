import DataLoader from 'dataloader'
import { findEndedCredentials } from '../../entities/identity/credential.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { Roster } from '../../routers/core/load/roster.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'

/** How often it is asked which sessions and tokens have ended, in milliseconds, whoever ended them. */
const INTERVAL_MS = 600

/** Credentials that one statement asks about. */
const MAX_BATCH = 5000

interface Watcher {
  credential: string
  onEnded(): void
}

/** Asks the database about all that are watched, in one statement for many. `sessionLifetime` is in milliseconds. */
export function watchCredentials(sql: Sql, sessionLifetime: number): CredentialWatch {
  const watchers = new Roster<Watcher>()
  const ended = (credentials: readonly string[]) => findEnded(sql, sessionLifetime, credentials)
  const loader = new DataLoader<string, boolean>(
    async (credentials) => {
      const over = await ended(credentials)
      return credentials.map((credential) => !over.has(credential))
    },
    { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate },
  )
  const tell = (over: ReadonlySet<string>) => {
    const told = [...watchers].filter(({ credential }) => over.has(credential))
    for (const watcher of told) watchers.delete(watcher)
    for (const { onEnded } of told) onEnded()
  }
  const stop = everyInterval(async () => {
    const all = [...new Set(Array.from(watchers, ({ credential }) => credential))]
    for (let from = 0; from < all.length; from += MAX_BATCH) tell(await ended(all.slice(from, from + MAX_BATCH)))
  })
  const follow = (credential: string, onEnded: () => void) => {
    const watcher = { credential, onEnded }
    watchers.add(watcher)
    return () => watchers.delete(watcher)
  }
  return {
    watch: async (credential, onEnded) => ((await loader.load(credential)) ? follow(credential, onEnded) : undefined),
    follow,
    close: stop,
  }
}

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

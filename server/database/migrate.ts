import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { Migrator } from '@mikro-orm/migrations'
import type { MikroORM, Transaction } from '@mikro-orm/postgresql'
import pg from 'pg'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { locks } from '../../entities/sql/locks.ts'
import { connectionOf, type Database } from './database.ts'

/** The AI user by the settings. */
export interface AiUser {
  name: string
  username: string
  /** Stores its picture and returns the storage key; absent if it has the built-in picture. */
  storeAvatar?: () => Promise<string>
}

interface WaitOptions {
  /** Is called with a sentence when a migration has to wait for others. */
  notify?: ((sentence: string) => void) | undefined
  signal?: AbortSignal | undefined
  /** Milliseconds after which a migration fails that others keep from its tables. */
  patience?: number | undefined
}

/** Applies missing migrations and creates the AI user; replicas that start at the same time take turns. Returns the names of the applied migrations. */
export async function migrate(
  database: Database,
  url: string,
  aiUser: AiUser,
  waiting: WaitOptions = {},
): Promise<string[]> {
  const lockClient = new pg.Client({ connectionString: url })
  // If the connection is lost, the running statement fails with the same error.
  lockClient.on('error', () => {})
  await lockClient.connect()
  try {
    await lockClient.query('select pg_advisory_lock($1)', [locks.migrateSchema])
    const applied = await applyMigrations(database.orm, waiting)
    await createAiUser(database, lockClient, aiUser)
    return applied
  } finally {
    await lockClient.end()
  }
}

/** Applies each migration in a transaction of its own, because replicas of the version before work meanwhile. */
async function applyMigrations(orm: MikroORM, waiting: WaitOptions): Promise<string[]> {
  // The migrator of the ORM remembers that its table exists, even if the ORM is reused for another database, so a new one is created.
  const migrator = new Migrator(orm.em)
  // Nobody else works in an empty database, where one transaction is faster.
  if ((await migrator.getExecuted()).length === 0) return (await migrator.up()).map(({ name }) => name)
  const deadlockTimeout = await readDeadlockTimeout(orm)
  const pending = await migrator.getPending()
  for (const { name, path = '' } of pending) {
    const tables = await findTables(orm, await readFile(path, 'utf8'))
    const apply = (lockTimeout: number) =>
      connectionOf(orm).transactional(async (transaction) => {
        await lockTables(orm, transaction, { tables, lockTimeout })
        await migrator.up({ migrations: [name], transaction })
      })
    await retryWhileLocked(name, apply, { ...waiting, deadlockTimeout })
  }
  return pending.map(({ name }) => name)
}

/** Returns the milliseconds after which PostgreSQL ends one of the transactions that wait for each other. */
async function readDeadlockTimeout(orm: MikroORM): Promise<number> {
  const [row] = await connectionOf(orm).execute<{ ms: number }[]>(
    `select extract(epoch from current_setting('deadlock_timeout')::interval)::float8 * 1000 as ms`,
  )
  return row?.ms ?? 1000
}

/** Returns the existing tables that a migration names. */
async function findTables(orm: MikroORM, source: string): Promise<string[]> {
  const names = [...new Set([...source.matchAll(/"(\w+)"/g)].map(([, name]) => name))]
  const rows = await connectionOf(orm).execute<{ name: string }[]>(
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname in (select jsonb_array_elements_text(?::jsonb))
      order by relname`,
    [JSON.stringify(names)],
  )
  return rows.map(({ name }) => name)
}

/**
 * Locks all tables of a migration before its first statement. A lock that is taken later, beside one that a request waits for,
 * would be a deadlock, which PostgreSQL may end by refusing the request.
 */
async function lockTables(
  orm: MikroORM,
  transaction: Transaction,
  { tables, lockTimeout }: { tables: readonly string[]; lockTimeout: number },
): Promise<void> {
  const run = (text: string) => connectionOf(orm).execute(text, [], 'run', transaction)
  await run(`set local lock_timeout = ${lockTimeout}`)
  if (tables.length === 0) return
  // The time limit of the statement is for all its locks together.
  await run(`set local statement_timeout = ${lockTimeout}`)
  await run(`lock table ${tables.map((name) => `"${name}"`).join(', ')} in access exclusive mode`)
  await run('set local statement_timeout = 0')
}

/** Codes of PostgreSQL: deadlock, lock timeout, statement timeout while tables are locked. */
const LOCKED = new Set(['40P01', '55P03', '57014'])
const PATIENCE_MS = 2 * 60_000
/** Share of the deadlock timeout for the first tries, so that they let go before PostgreSQL ends anybody's transaction. */
const BEFORE_DEADLOCK = 0.7
const CAREFUL_TRIES = 20
/** Factor for later tries: PostgreSQL ends an automatic vacuum only for one that waits longer than the deadlock timeout. */
const AFTER_DEADLOCK = 3
const PAUSE_MS = 500

/** Applies a migration, again and again while others use its tables. Requests that wait behind a try go on when it lets go. */
async function retryWhileLocked(
  name: string,
  apply: (lockTimeout: number) => Promise<void>,
  { notify, signal, deadlockTimeout, patience = PATIENCE_MS }: WaitOptions & { deadlockTimeout: number },
): Promise<void> {
  const giveUpAt = Date.now() + patience
  for (let tries = 1; ; tries++) {
    const factor = tries <= CAREFUL_TRIES ? BEFORE_DEADLOCK : AFTER_DEADLOCK
    const failure = await apply(Math.ceil(deadlockTimeout * factor)).catch(rethrowUnlessLocked)
    if (!failure) return
    signal?.throwIfAborted()
    if (Date.now() >= giveUpAt) throw new Error(describeLock(name), { cause: failure })
    if (tries === 1) notify?.(`Others use the tables of ${name}. The start tries again, for up to two minutes.`)
    await pause(PAUSE_MS * (0.5 + Math.random()))
  }
}

function rethrowUnlessLocked(error: Error & { code?: string }): Error {
  if (LOCKED.has(error.code ?? '')) return error
  throw error
}

const describeLock = (name: string) =>
  `${name}: others used its tables all the time. End long transactions of the database, and start again.`

/** Creates the AI user if there is none; later settings do not change it. */
async function createAiUser(
  { em }: Database,
  lockClient: pg.Client,
  { name, username, storeAvatar }: AiUser,
): Promise<void> {
  const fork = em.fork()
  if (await fork.count(User, { id: AI_USER_ID })) return
  const avatar = (await storeAvatar?.()) ?? null
  await fork.insert(User, { id: AI_USER_ID, username, email: `${username}@ai.invalid`, name, role: 'user', avatar })
  await lockClient.query(`select setval('users_id_seq', greatest((select max(id) from users), $1))`, [AI_USER_ID])
}

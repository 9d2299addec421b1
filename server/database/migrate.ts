import { Migrator } from '@mikro-orm/migrations'
import pg from 'pg'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { locks } from '../../entities/sql/locks.ts'
import type { Database } from './database.ts'

/** The AI user by the settings. */
export interface AiUser {
  name: string
  username: string
  /** Stores its picture and returns the storage key; absent if it has the built-in picture. */
  storeAvatar?: () => Promise<string>
}

/** Applies missing migrations and creates the AI user; replicas that start at the same time take turns. Returns the names of the applied migrations. */
export async function migrate(database: Database, url: string, aiUser: AiUser): Promise<string[]> {
  const lockClient = new pg.Client({ connectionString: url })
  // If the connection is lost, the running statement fails with the same error.
  lockClient.on('error', () => {})
  await lockClient.connect()
  try {
    await lockClient.query('select pg_advisory_lock($1)', [locks.migrateSchema])
    // The migrator of the ORM remembers that its table exists, even if the ORM is reused for another database, so a new one is created.
    const applied = await new Migrator(database.orm.em).up()
    await createAiUser(database, lockClient, aiUser)
    return applied.map(({ name }) => name)
  } finally {
    await lockClient.end()
  }
}

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

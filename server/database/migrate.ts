import { Migrator } from '@mikro-orm/migrations'
import pg from 'pg'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { locks } from '../../entities/sql/locks.ts'
import type { Database } from './database.ts'

/** The AI user as the settings name it. */
export interface AiUser {
  name: string
  username: string
  /** Stores its picture and tells by which key; absent where it has the built-in one. */
  storeAvatar?: () => Promise<string>
}

/** Brings the schema up to date and creates the AI user; replicas that start at once take turns. Returns what was missing. */
export async function migrate(database: Database, url: string, aiUser: AiUser): Promise<string[]> {
  const turn = new pg.Client({ connectionString: url })
  // If the connection is lost, the running statement fails with the same error.
  turn.on('error', () => {})
  await turn.connect()
  try {
    await turn.query('select pg_advisory_lock($1)', [locks.migrateSchema])
    // The ORM's own migrator remembers that its table exists, also when the ORM is used again for another database.
    const applied = await new Migrator(database.orm.em).up()
    await createAiUser(database, turn, aiUser)
    return applied.map(({ name }) => name)
  } finally {
    await turn.end()
  }
}

/** Fixed from then on: later settings do not change it. */
async function createAiUser({ em }: Database, turn: pg.Client, { name, username, storeAvatar }: AiUser): Promise<void> {
  const fork = em.fork()
  if (await fork.count(User, { id: AI_USER_ID })) return
  const avatar = (await storeAvatar?.()) ?? null
  await fork.insert(User, { id: AI_USER_ID, username, email: `${username}@ai.invalid`, name, role: 'user', avatar })
  await turn.query(`select setval('users_id_seq', greatest((select max(id) from users), $1))`, [AI_USER_ID])
}

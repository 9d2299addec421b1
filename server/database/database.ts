import { fileURLToPath } from 'node:url'
import { Migrator } from '@mikro-orm/migrations'
import { type EntityManager, MikroORM, type Options, type PostgreSqlConnection } from '@mikro-orm/postgresql'
import type { Pool } from 'pg'
import { entities } from '../../entities/index.ts'
import type { ReadInBatches, Sql, Statement } from '../../entities/sql/statement.ts'
import { coalesce } from './coalesce.ts'
import { releaseLostConnections } from './lost-connections.ts'
import { readInBatches } from './read-in-batches.ts'

/** The connection to PostgreSQL: entities for writing, named statements for reading. */
export interface Database {
  em: EntityManager
  sql: Sql
  readInBatches: ReadInBatches
  orm: MikroORM
  pool: Pool
  close(): Promise<void>
}

interface DatabaseOptions {
  url: string
  poolSize?: number
  /** Sees the rows of a statement before several callers share them. */
  beforeSharing?: ((rows: readonly unknown[]) => void) | undefined
}

/** Connects; throws where the server does not answer. */
export async function connect({ url, poolSize = 10, beforeSharing }: DatabaseOptions): Promise<Database> {
  const orm = openOrm(url, poolSize)
  await orm.connect()
  const pool = await connectionOf(orm).getNativeClient()
  let isClosed = false
  return {
    em: orm.em,
    sql: runOn(pool, beforeSharing),
    readInBatches: readInBatches(pool),
    orm,
    pool,
    async close() {
      if (isClosed) return
      isClosed = true
      await orm.close()
      closedOrms.add(orm)
    },
  }
}

/**
 * ORMs whose connections are closed. They know the entities, and have compiled code for them, which takes an ORM
 * longer than all else of a start: a process that starts several services, as tests do, uses them again.
 */
const closedOrms = new Set<MikroORM>()

function openOrm(url: string, poolSize: number): MikroORM {
  // Keeps one connection open: authenticating a new one needs a thread of the pool, and a health check should not wait for it.
  const target = {
    clientUrl: url,
    dbName: decodeURIComponent(new URL(url).pathname.slice(1)),
    pool: { min: 1, max: poolSize },
  }
  const [closed] = closedOrms
  if (!closed) return createOrm(target)
  closedOrms.delete(closed)
  for (const key of ['clientUrl', 'dbName', 'pool'] as const) closed.config.set(key, target[key])
  return closed
}

function createOrm(target: Pick<Options, 'clientUrl' | 'dbName' | 'pool'>): MikroORM {
  const orm = new MikroORM({
    ...target,
    entities,
    extensions: [Migrator],
    forceUtcTimezone: true,
    logger: () => {},
    migrations: {
      path: fileURLToPath(new URL('../../entities/migrations', import.meta.url)),
      glob: '!(*.d).ts',
      snapshot: false,
      emit: 'ts',
    },
    driverOptions: {
      connectionTimeoutMillis: 10_000,
      application_name: 'svc',
    },
  })
  releaseLostConnections(connectionOf(orm))
  return orm
}

const connectionOf = ({ em }: MikroORM) => em.getConnection() as PostgreSqlConnection

/** Statements over the pool: PostgreSQL parses a named one once per connection. */
function runOn(pool: Pool, beforeSharing: DatabaseOptions['beforeSharing']): Sql {
  const run: Sql = async <Row>({ name, text, read }: Statement<Row>, values: readonly unknown[] = []) => {
    const { rows } = await pool.query({ name, text, values: values as unknown[] })
    return read ? rows.map(read) : (rows as Row[])
  }
  const runCoalesced = coalesce(async <Row>(statement: Statement<Row>, values?: readonly unknown[]) => {
    const rows = await run(statement, values)
    beforeSharing?.(rows)
    return rows
  })
  return (statement, values) => (statement.coalesced ? runCoalesced(statement, values) : run(statement, values))
}

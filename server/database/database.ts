import { fileURLToPath } from 'node:url'
import { Migrator } from '@mikro-orm/migrations'
import { type EntityManager, MikroORM, type PostgreSqlConnection } from '@mikro-orm/postgresql'
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
  const orm = new MikroORM({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    // Keeps one connection open: authenticating a new one needs a thread of the pool, and a health check should not wait for it.
    pool: { min: 1, max: poolSize },
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
  const connection = orm.em.getConnection() as PostgreSqlConnection
  releaseLostConnections(connection)
  await orm.connect()
  const pool = await connection.getNativeClient()
  return {
    em: orm.em,
    sql: runOn(pool, beforeSharing),
    readInBatches: readInBatches(pool),
    orm,
    pool,
    close: () => orm.close(),
  }
}

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

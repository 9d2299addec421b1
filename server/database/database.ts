import { fileURLToPath } from 'node:url'
import { Migrator } from '@mikro-orm/migrations'
import { type EntityManager, MikroORM, type Options, type PostgreSqlConnection } from '@mikro-orm/postgresql'
import pg from 'pg'
import { entities } from '../../entities/index.ts'
import type { ReadInBatches, Sql, Statement } from '../../entities/sql/statement.ts'
import { coalesce } from './coalesce.ts'
import { limitConnections, type TimeLimits } from './connection-limits.ts'
import { releaseLostConnections } from './lost-connections.ts'
import { readInBatches } from './read-in-batches.ts'

/** The connection to PostgreSQL: entities for writing, named statements for reading. */
export interface Database {
  em: EntityManager
  sql: Sql
  readInBatches: ReadInBatches
  orm: MikroORM
  pool: pg.Pool
  /** Of tasks and of the host: whoever has long statements takes no connection from requests. */
  longPool: pg.Pool
  longSql: Sql
  close(): Promise<void>
}

interface DatabaseOptions {
  url: string
  poolSize?: number
  limits?: TimeLimits
  /** Sees the rows of a statement before several callers share them. */
  beforeSharing?: ((rows: readonly unknown[]) => void) | undefined
}

/** Connects; throws where the server does not answer. */
export async function connect({ url, poolSize = 10, limits = {}, beforeSharing }: DatabaseOptions): Promise<Database> {
  const orm = openOrm(url, poolSize, limits)
  await orm.connect()
  const pool = await connectionOf(orm).getNativeClient()
  const longPool = openLongPool(url, limits)
  let isClosed = false
  return {
    em: orm.em,
    sql: runOn(pool, beforeSharing),
    readInBatches: readInBatches(longPool),
    orm,
    pool,
    longPool,
    longSql: runOn(longPool, beforeSharing),
    async close() {
      if (isClosed) return
      isClosed = true
      await Promise.all([orm.close(), longPool.end()])
      closedOrms.add(orm)
    },
  }
}

/**
 * ORMs whose connections are closed. They know the entities, and have compiled code for them, which takes an ORM
 * longer than all else of a start: a process that starts several services, as tests do, uses them again.
 */
const closedOrms = new Set<MikroORM>()

function openOrm(url: string, poolSize: number, limits: TimeLimits): MikroORM {
  // Keeps one connection open: authenticating a new one needs a thread of the pool, and a health check should not wait for it.
  const target = {
    clientUrl: url,
    dbName: decodeURIComponent(new URL(url).pathname.slice(1)),
    pool: { min: 1, max: poolSize },
    driverOptions: { connectionTimeoutMillis: 10_000, application_name: 'svc', ...limitConnections(limits) },
  }
  const [closed] = closedOrms
  if (!closed) return createOrm(target)
  closedOrms.delete(closed)
  for (const key of ['clientUrl', 'dbName', 'pool', 'driverOptions'] as const) closed.config.set(key, target[key])
  return closed
}

function createOrm(target: Pick<Options, 'clientUrl' | 'dbName' | 'pool' | 'driverOptions'>): MikroORM {
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
  })
  releaseLostConnections(connectionOf(orm))
  return orm
}

const connectionOf = ({ em }: MikroORM) => em.getConnection() as PostgreSqlConnection

const LONG_POOL_SIZE = 2

/** Opens a connection when one is needed. Whoever wants one waits for the tasks that have them. */
function openLongPool(connectionString: string, { idleInTransaction }: TimeLimits): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max: LONG_POOL_SIZE,
    application_name: 'svc',
    connectionTimeoutMillis: 10 * 60_000,
    ...limitConnections({ idleInTransaction }),
  })
  // A connection that is lost while nobody uses it concerns nobody.
  pool.on('error', () => {})
  return pool
}

/** Statements over the pool: PostgreSQL parses a named one once per connection. */
function runOn(pool: pg.Pool, beforeSharing: DatabaseOptions['beforeSharing']): Sql {
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

import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Migrator } from '@mikro-orm/migrations'
import { type EntityManager, MikroORM, type Options, type PostgreSqlConnection } from '@mikro-orm/postgresql'
import pg, { type Pool, type PoolConfig, type QueryConfig } from 'pg'
import { entities } from '../../entities/index.ts'
import type { ReadInBatches, Sql, Statement } from '../../entities/sql/statement.ts'
import { traceStatement } from '../../routers/ports/traces.ts'
import { coalesce } from './coalesce.ts'

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
  /** PostgreSQL itself. */
  url: string
  /** A pooler in front of it, such as PgBouncer, which gives a connection for one transaction: requests go there. */
  poolerUrl?: string | undefined
  poolSize?: number
  limits?: TimeLimits
  /** Sees the rows of a statement before several callers share them. */
  beforeSharing?: ((rows: readonly unknown[]) => void) | undefined
}

/** Connects; throws where the server does not answer, or a pooler lets requests hinder others for longer than `limits`. */
export async function connect(options: DatabaseOptions): Promise<Database> {
  const { url, poolerUrl, limits = {}, beforeSharing } = options
  const orm = openOrm(options)
  await orm.connect()
  const pool = await connectionOf(orm).getNativeClient()
  if (poolerUrl) await assertLimits(pool, limits).catch((error) => orm.close().then(() => Promise.reject(error)))
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

function openOrm({ url, poolerUrl, poolSize = 10, limits = {} }: DatabaseOptions): MikroORM {
  // Keeps one connection open: authenticating a new one needs a thread of the pool, and a health check should not wait for it.
  const target = {
    clientUrl: poolerUrl ?? url,
    dbName: decodeURIComponent(new URL(poolerUrl ?? url).pathname.slice(1)),
    pool: { min: 1, max: poolSize },
    driverOptions: {
      connectionTimeoutMillis: 10_000,
      application_name: 'svc',
      ...limitConnections(limits),
      ...(poolerUrl && throughPooler),
    },
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
    const { rows } = await traceStatement(name, () => pool.query({ name, text, values: values as unknown[] }))
    return read ? rows.map(read) : (rows as Row[])
  }
  const runCoalesced = coalesce(async <Row>(statement: Statement<Row>, values?: readonly unknown[]) => {
    const rows = await run(statement, values)
    beforeSharing?.(rows)
    return rows
  })
  return (statement, values) => (statement.coalesced ? runCoalesced(statement, values) : run(statement, values))
}

/** How long PostgreSQL lets a connection hinder others, in milliseconds. */
interface TimeLimits {
  /** After that, the transaction of a process that is frozen or cut off ends. */
  idleInTransaction?: number | undefined
  /** How long a request waits. A command, a migration and a task take as long as they take. */
  ofRequests?: { statement: number; lock: number }
}

/** More than statements of a start and of a task in the service take. */
const MIN_SILENCE_MS = 30_000
const KEEP_ALIVE_MS = 10_000

/** The options of connections with limits, some of which PostgreSQL keeps, and some this process. */
function limitConnections({ idleInTransaction, ofRequests }: TimeLimits): PoolConfig {
  return {
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    idle_in_transaction_session_timeout: idleInTransaction,
    ...(ofRequests && {
      statement_timeout: ofRequests.statement,
      lock_timeout: ofRequests.lock,
      stream: () => openSocket(Math.max(MIN_SILENCE_MS, 2 * ofRequests.statement)),
    }),
  }
}

/** A connection that a pooler changes with each transaction, so that no statement has a name there by the next time. */
class PooledClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the driver has twelve ways to call it
  override query(query: any, ...rest: any[]): any {
    const isNamed = typeof query === 'object' && 'name' in query && !('submit' in query)
    const unnamed = isNamed ? { ...(query as QueryConfig), name: '' } : query
    return super.query(unnamed, ...(rest as []))
  }
}

/** A pooler refuses limits that come with a connection: it has them by its own configuration. */
const throughPooler: PoolConfig = {
  Client: PooledClient,
  idle_in_transaction_session_timeout: undefined,
  statement_timeout: undefined,
  lock_timeout: undefined,
}

/** Throws with the line for PgBouncer where its connections have other limits than those of this service. */
async function assertLimits(pool: pg.Pool, { idleInTransaction, ofRequests }: TimeLimits): Promise<void> {
  const wanted = {
    statement_timeout: ofRequests?.statement,
    lock_timeout: ofRequests?.lock,
    idle_in_transaction_session_timeout: idleInTransaction,
  }
  const names = Object.keys(wanted)
  const { rows } = await pool.query<{ name: string; setting: string }>(
    'select name, setting from pg_settings where name = any($1)',
    [names],
  )
  const found = Object.fromEntries(rows.map(({ name, setting }) => [name, Number(setting)]))
  if (Object.entries(wanted).every(([name, limit]) => limit === undefined || found[name] === limit)) return
  const line = Object.entries(wanted).map(([name, limit]) => `set ${name} = ${limit}`)
  throw new Error(
    `its connections have other time limits than this service. In PgBouncer: connect_query='${line.join('; ')}'`,
  )
}

/** A socket that ends where the database is silent for longer than any statement may take, as the network is gone. */
function openSocket(maxSilence: number): Socket {
  const socket = new Socket()
  socket.setTimeout(maxSilence, () => socket.destroy(new Error('Connection terminated: the database is silent')))
  return socket
}

type Dialect = Exclude<ReturnType<PostgreSqlConnection['createKyselyDialect']>, Promise<unknown>>
type Driver = ReturnType<Dialect['createDriver']>
type DatabaseConnection = Parameters<Driver['releaseConnection']>[0]

/**
 * Gives the connection of a transaction back to the pool when it is lost. Kysely does so only after `commit` or
 * `rollback` has succeeded, so each transaction that loses its connection would take a place in the pool for ever.
 */
function releaseLostConnections(connection: PostgreSqlConnection): void {
  const createDialect = connection.createKyselyDialect.bind(connection)
  connection.createKyselyDialect = (options) => {
    const dialect = createDialect(options)
    const createDriver = dialect.createDriver.bind(dialect)
    return Object.assign(dialect, { createDriver: () => releasing(createDriver()) })
  }
}

function releasing(driver: Driver): Driver {
  const orRelease =
    <Rest extends unknown[]>(run: (connection: DatabaseConnection, ...rest: Rest) => Promise<void>) =>
    async (connection: DatabaseConnection, ...rest: Rest): Promise<void> => {
      try {
        await run.call(driver, connection, ...rest)
      } catch (error) {
        await driver.releaseConnection(connection)
        throw error
      }
    }
  return Object.assign(driver, {
    beginTransaction: orRelease(driver.beginTransaction),
    rollbackTransaction: orRelease(driver.rollbackTransaction),
  })
}

const BATCH = 1000

/** Reads through a cursor, so that neither the database nor this process holds all rows at once. */
const readInBatches = (pool: Pool): ReadInBatches =>
  async function* <Row>({ text }: { text: string }, values: readonly unknown[], size = BATCH) {
    const client = await pool.connect()
    let failure: Error | undefined
    try {
      // Whoever reads may be slow, and hinders nobody.
      await client.query(`begin read only; set local idle_in_transaction_session_timeout = '10min'`)
      await client.query(`declare rows no scroll cursor for ${text}`, values as unknown[])
      for (;;) {
        const { rows } = await client.query(`fetch ${size} from rows`)
        if (rows.length === 0) break
        yield rows as Row[]
      }
    } catch (error) {
      failure = error as Error
      throw error
    } finally {
      await client.query('rollback').catch((error: Error) => {
        failure = error
      })
      client.release(failure)
    }
  }

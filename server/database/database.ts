import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Migrator } from '@mikro-orm/migrations'
import { type EntityManager, MikroORM, type Options, type PostgreSqlConnection } from '@mikro-orm/postgresql'
import pg, { type Pool, type PoolConfig, type QueryConfig } from 'pg'
import { entities } from '../../entities/index.ts'
import type { ReadInBatches, Sql, Statement } from '../../entities/sql/statement.ts'
import { traceStatement } from '../../routers/ports/traces.ts'
import { coalesce } from './coalesce.ts'

/** The connections to PostgreSQL: entities for writes, named statements for reads. */
export interface Database {
  em: EntityManager
  sql: Sql
  readInBatches: ReadInBatches
  orm: MikroORM
  pool: pg.Pool
  /** Pool of tasks and commands, so that long statements take no connections from requests. */
  longPool: pg.Pool
  longSql: Sql
  close(): Promise<void>
}

interface DatabaseOptions {
  /** Address of PostgreSQL itself. */
  url: string
  /** Address of a pooler in transaction mode, such as PgBouncer; requests use it. */
  poolerUrl?: string | undefined
  poolSize?: number
  limits?: TimeLimits
  /** Is called with the rows of a coalesced statement before several callers share them. */
  beforeSharing?: ((rows: readonly unknown[]) => void) | undefined
}

/** Connects to the database; throws if the server does not respond, or if the time limits of a pooler differ from `limits`. */
export async function connect(options: DatabaseOptions): Promise<Database> {
  const { url, poolerUrl, limits = {}, beforeSharing } = options
  const orm = openOrm(options)
  await orm.connect()
  const pool = await connectionOf(orm).getNativeClient()
  try {
    if (poolerUrl) await assertLimits(pool, limits)
  } catch (error) {
    await orm.close()
    throw error
  }
  const longPool = openLongPool(url, limits)
  let isClosed = false
  return {
    em: orm.em,
    sql: createSql(pool, beforeSharing),
    readInBatches: createBatchReader(longPool),
    orm,
    pool,
    longPool,
    longSql: createSql(longPool, beforeSharing),
    async close() {
      if (isClosed) return
      isClosed = true
      await Promise.all([orm.close(), longPool.end()])
      closedOrms.add(orm)
    },
  }
}

/**
 * ORMs whose connections are closed. They are reused in processes that start several services, such as tests, because an ORM
 * compiles code for the entities, which takes longer than the rest of a start.
 */
const closedOrms = new Set<MikroORM>()

function openOrm({ url, poolerUrl, poolSize = 10, limits = {} }: DatabaseOptions): MikroORM {
  // One connection stays open: authenticating a new one needs a thread of libuv's pool, for which a health check should not wait.
  const target = {
    clientUrl: poolerUrl ?? url,
    dbName: decodeURIComponent(new URL(poolerUrl ?? url).pathname.slice(1)),
    pool: { min: 1, max: poolSize },
    driverOptions: {
      connectionTimeoutMillis: 10_000,
      application_name: 'svc',
      ...toConnectionLimits(limits),
      ...(poolerUrl && poolerConfig),
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

/** Returns the connections of an ORM to PostgreSQL. */
export const connectionOf = ({ em }: MikroORM) => em.getConnection() as PostgreSqlConnection

const LONG_POOL_SIZE = 2

/** Opens the pool for long statements. It connects on demand; a task waits while others use all its connections. */
function openLongPool(connectionString: string, { idleInTransaction }: TimeLimits): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max: LONG_POOL_SIZE,
    application_name: 'svc',
    connectionTimeoutMillis: 10 * 60_000,
    ...toConnectionLimits({ idleInTransaction }),
  })
  // The loss of an idle connection is ignored.
  pool.on('error', () => {})
  return pool
}

/** Creates the function that runs statements over a pool. They are named, so that PostgreSQL parses each once per connection. */
function createSql(pool: pg.Pool, beforeSharing: DatabaseOptions['beforeSharing']): Sql {
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

/** Time limits of connections, in milliseconds. */
interface TimeLimits {
  /** Time after which PostgreSQL ends an idle transaction, such as that of a frozen process. */
  idleInTransaction?: number | undefined
  /** Limits for the statements of requests; commands, migrations and tasks have none. */
  requests?: { statement: number; lock: number }
}

/** Shortest silence, in milliseconds, after which a connection counts as lost; statements at the start take less. */
const MIN_SILENCE_MS = 30_000
const KEEP_ALIVE_MS = 10_000

/** Converts time limits to connection options. PostgreSQL enforces some of them, and this process the others. */
function toConnectionLimits({ idleInTransaction, requests }: TimeLimits): PoolConfig {
  return {
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    idle_in_transaction_session_timeout: idleInTransaction,
    ...(requests && {
      statement_timeout: requests.statement,
      lock_timeout: requests.lock,
      stream: () => openSocket(Math.max(MIN_SILENCE_MS, 2 * requests.statement)),
    }),
  }
}

/** A client that sends statements without names, because a pooler uses another server connection for each transaction. */
class PooledClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the driver has twelve ways to call it
  override query(query: any, ...rest: any[]): any {
    const isNamed = typeof query === 'object' && 'name' in query && !('submit' in query)
    const unnamed = isNamed ? { ...(query as QueryConfig), name: '' } : query
    return super.query(unnamed, ...(rest as []))
  }
}

/** Connection options for a pooler. It rejects time limits as startup parameters; its own configuration sets them. */
const poolerConfig: PoolConfig = {
  Client: PooledClient,
  idle_in_transaction_session_timeout: undefined,
  statement_timeout: undefined,
  lock_timeout: undefined,
}

/** Throws an error with the configuration line for PgBouncer if its connections have other time limits than this service. */
async function assertLimits(pool: pg.Pool, { idleInTransaction, requests }: TimeLimits): Promise<void> {
  const expected = {
    statement_timeout: requests?.statement,
    lock_timeout: requests?.lock,
    idle_in_transaction_session_timeout: idleInTransaction,
  }
  const names = Object.keys(expected)
  const { rows } = await pool.query<{ name: string; setting: string }>(
    'select name, setting from pg_settings where name = any($1)',
    [names],
  )
  const actual = Object.fromEntries(rows.map(({ name, setting }) => [name, Number(setting)]))
  if (Object.entries(expected).every(([name, limit]) => limit === undefined || actual[name] === limit)) return
  const commands = Object.entries(expected).map(([name, limit]) => `set ${name} = ${limit}`)
  throw new Error(
    `its connections have other time limits than this service. In PgBouncer: connect_query='${commands.join('; ')}'`,
  )
}

/** Opens a socket that fails if the database is silent for longer than any statement may take, for example after a network failure. */
function openSocket(maxSilence: number): Socket {
  const socket = new Socket()
  socket.setTimeout(maxSilence, () => socket.destroy(new Error('Connection terminated: the database is silent')))
  return socket
}

type Dialect = Exclude<ReturnType<PostgreSqlConnection['createKyselyDialect']>, Promise<unknown>>
type Driver = ReturnType<Dialect['createDriver']>
type DatabaseConnection = Parameters<Driver['releaseConnection']>[0]

/**
 * Returns the connection of a transaction to the pool when it is lost. Kysely does so only after a successful `commit` or
 * `rollback`, so each transaction that lost its connection would occupy a slot of the pool for ever.
 */
function releaseLostConnections(connection: PostgreSqlConnection): void {
  const createDialect = connection.createKyselyDialect.bind(connection)
  connection.createKyselyDialect = (options) => {
    const dialect = createDialect(options)
    const createDriver = dialect.createDriver.bind(dialect)
    return Object.assign(dialect, { createDriver: () => withRelease(createDriver()) })
  }
}

function withRelease(driver: Driver): Driver {
  const releaseOnError =
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
    beginTransaction: releaseOnError(driver.beginTransaction),
    rollbackTransaction: releaseOnError(driver.rollbackTransaction),
  })
}

const BATCH = 1000

/** Creates a function that reads rows in batches through a cursor, so that neither the database nor this process holds all rows. */
const createBatchReader = (pool: Pool): ReadInBatches =>
  async function* <Row>({ text }: { text: string }, values: readonly unknown[], size = BATCH) {
    const client = await pool.connect()
    let failure: Error | undefined
    try {
      // The reader may be slow; its read-only transaction blocks nobody.
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

import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { createContext, type IncomingFile, withCallOptions } from '../routers/core/context.ts'
import type { Services } from '../routers/core/services.ts'
import { withTimeout } from '../routers/core/timeout.ts'
import { type Api, createCaller } from '../routers/index.ts'
import { readAiUser } from './ai-user.ts'
import { makeDataFolder } from './config/data-folder.ts'
import type { Env } from './config/settings.ts'
import { type Container, createContainer } from './container.ts'
import { connect, type Database } from './database/database.ts'
import { type ClusterUse, openEmbedded } from './database/embedded-database.ts'
import { migrate } from './database/migrate.ts'
import type { Telemetry } from './ops/telemetry.ts'
import { createPeriodicTasks, type PeriodicTask } from './periodic-tasks.ts'

export interface CoreOptions {
  env: Env
  log: FastifyBaseLogger
  /** Receives traces, and copies of the log lines. */
  telemetry?: Telemetry | undefined
  temporaryDir?: string | undefined
  /** Is called with the rows of a coalesced statement before several callers share them. */
  beforeSharing?: ((rows: readonly unknown[]) => void) | undefined
  /** Is called with a sentence that explains why the start waits. */
  notify?: ((sentence: string) => void) | undefined
  /** Ends only the wait for the data folder; later steps of the start run to their end. */
  signal?: AbortSignal | undefined
}

/** The service without its servers: a migrated database, all services, and a caller for commands on the host. */
export interface CoreService extends Container {
  /** Calls procedures with the rights of the host. */
  host: Api
  /** Does the same with a file, for procedures that a file comes with. */
  hostWithFile(file: IncomingFile): Api
  /** Names of the migrations that were applied at the start. */
  migrated: string[]
  periodicTasks: PeriodicTask[]
}

export async function openCore(options: CoreOptions, use: ClusterUse): Promise<CoreService> {
  const { env, log, telemetry, temporaryDir, beforeSharing, notify, signal } = options
  if (use === 'command') assertDataDir(env.DATA_DIR)
  await makeDataFolder(env.DATA_DIR)
  const embedded = env.DATABASE_URL ? undefined : await openEmbedded(env.DATA_DIR, use, { notify, signal })
  const url = env.DATABASE_DIRECT_URL ?? env.DATABASE_URL ?? embedded?.url ?? ''
  let database: Database | undefined
  try {
    const limits = { idleInTransaction: env.DATABASE_IDLE_TIMEOUT }
    const connection = { url, poolSize: env.DATABASE_POOL, beforeSharing, limits }
    database = await connect(connection).catch((error) =>
      rethrowDatabaseError(error, env.DATABASE_DIRECT_URL ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL', env),
    )
    const migrated = await migrate(database, url, readAiUser(env, log), { notify, signal })
    if (use === 'service') {
      // Only now do time limits apply: migrations have none.
      await database.close()
      const requests = { statement: env.DATABASE_STATEMENT_TIMEOUT, lock: env.DATABASE_LOCK_TIMEOUT }
      const poolerUrl = env.DATABASE_DIRECT_URL && env.DATABASE_URL
      database = await connect({ ...connection, poolerUrl, limits: { ...limits, requests } }).catch((error) =>
        rethrowDatabaseError(error, 'DATABASE_URL', env),
      )
    }
    const container = await createContainer({ env, database, log, temporaryDir, traces: telemetry?.traces })
    const operator = use === 'service' ? undefined : readOperatorName()
    const hostServices = { ...container.services, sql: database.longSql }
    const host = createHostCaller(hostServices, operator)
    const hostWithFile = (file: IncomingFile) => createHostCaller(hostServices, operator, file)
    const close = async () => {
      await closeWithTimeout(container.close(), log)
      await closeWithTimeout(database?.close(), log)
      await embedded?.release()
    }
    const { services, jobQueue } = container
    const periodicTasks = createPeriodicTasks({ env, database, host, metrics: services.process.metrics, jobQueue })
    return { ...container, migrated, host, hostWithFile, periodicTasks, close }
  } catch (error) {
    await database?.close()
    await embedded?.release()
    throw error
  }
}

/** Throws an error that names the setting and the server, but never the password. */
function rethrowDatabaseError(
  cause: Error & { errors?: Error[] },
  setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL',
  { [setting]: address }: Env,
): never {
  if (!address) throw cause
  const { host, pathname } = new URL(address)
  const message = cause.message || cause.errors?.map(({ message }) => message).join('; ')
  const isPooler = message?.includes('unsupported startup parameter')
  const reason = isPooler ? 'a pooler answers there, which needs DATABASE_DIRECT_URL beside it' : message
  throw new Error(`${setting}: the database ${pathname.slice(1)} at ${host} cannot be used: ${reason}`, { cause })
}

/** Throws if the data folder is missing, so that a command in the wrong folder does not create a database there. */
function assertDataDir(path: string): void {
  if (existsSync(path)) return
  throw new Error(
    `There is no data folder ${path} here. Change to the folder where the service was started, set DATA_DIR, or start the service first.`,
  )
}

/** Waits at most 10 seconds for a part to close, so that the other parts are closed, too. */
export async function closeWithTimeout(closing: Promise<void> | undefined, log: FastifyBaseLogger): Promise<void> {
  await withTimeout(closing, 10_000).catch((error: unknown) => log.error({ error }, 'a part did not close'))
}

/** Creates a caller that gives each call a context, and so an entity manager, of its own. */
const createHostCaller = (services: Services, operator: string | undefined, file?: IncomingFile): Api =>
  createCaller(() =>
    withCallOptions(createContext(services, { origin: 'host', operator, requestId: 'host' }), { file }),
  )

/** Returns the name of the user who runs a command, or the user id if the user has no name, as in some containers. */
function readOperatorName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}

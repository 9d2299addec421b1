import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { AppFiles, type AppSource } from '../facades/web/app-files.ts'
import { createContext, type IncomingFile, withCallOptions } from '../routers/core/context.ts'
import type { Services } from '../routers/core/services.ts'
import { withTimeout } from '../routers/core/timeout.ts'
import { type Api, createCaller } from '../routers/index.ts'
import type { JobHandlers, JobName } from '../routers/ports/job-queue.ts'
import { readAiUser } from './ai-user.ts'
import { buildApp } from './app.ts'
import { frontEndFolder } from './app-source.ts'
import { readExtApps } from './config/config-file.ts'
import { makeDataFolder } from './config/data-folder.ts'
import type { Env } from './config/settings.ts'
import { readSite } from './config/site.ts'
import { type Container, createContainer } from './container.ts'
import { connect, type Database } from './database/database.ts'
import { type ClusterUse, openEmbedded } from './database/embedded-database.ts'
import { migrate } from './database/migrate.ts'
import { createDrain, type Drain } from './http/drain.ts'
import { type ClaimedPort, claimPort, rethrowPortError } from './http/port.ts'
import { warnAtStart } from './ops/start-warnings.ts'
import type { Telemetry } from './ops/telemetry.ts'
import { createPeriodicTasks, type PeriodicTask, startPeriodicTasks } from './periodic-tasks.ts'
import { Realtime } from './realtime/index.ts'

export interface ServiceOptions {
  env: Env
  log: FastifyBaseLogger
  /** Receives traces, and copies of the log lines. */
  telemetry?: Telemetry | undefined
  temporaryDir?: string | undefined
  /** Is called with the rows of a coalesced statement before several callers share them. */
  beforeSharing?: ((rows: readonly unknown[]) => void) | undefined
  /** Milliseconds after the start until each periodic task runs for the first time. */
  firstRunMs?: number | undefined
  /** Source of the front end; by default it is built at the first request for it. */
  appSource?: AppSource | undefined
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

export async function openCore(options: ServiceOptions, use: ClusterUse): Promise<CoreService> {
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
async function closeWithTimeout(closing: Promise<void> | undefined, log: FastifyBaseLogger): Promise<void> {
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

export interface Service extends CoreService {
  url: string
  /** Address of the metrics of this process, if METRICS_PORT is set. */
  metricsUrl: string | undefined
  /** Refuses new requests, waits for running ones, then closes everything. */
  stop(): Promise<void>
}

/** Connections that the operating system queues until they are accepted; it drops some of a burst beyond that. */
const BACKLOG = 4096

/** Starts the service. Claims the port first, so that no database is created if it is taken, and all parts know its number. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const claimed = await claimPort(options.env)
  try {
    return await startOnPort({ ...options, env: { ...options.env, PORT: claimed.port } }, claimed)
  } finally {
    await claimed.release()
  }
}

async function startOnPort(options: ServiceOptions, claimed: ClaimedPort): Promise<Service> {
  const { env, log, telemetry, firstRunMs } = options
  const traces = telemetry?.traces
  const core = await openCore(options, 'service')
  try {
    log.info(await core.host.models.sync(), 'the models were synchronised')
    await syncExtApps(core.host, options)
    await syncLimits(core.host, log)
    await prepareIndex(core.host, log)
    await core.host.migrations.register()
    await core.jobQueue.prepare()
    await warnAtStart(core.services, env)
    await core.host.audit.upkeep()
    await warnOfUnresolvedNames(core.host, log)
    core.outageReports.listen(core.host.models)
    const drain = createDrain()
    const appSource = options.appSource ?? new AppFiles(frontEndFolder(env))
    const app = await buildApp({ ...core, env, log, traces, drain, appSource, site: await readSite(env) })
    drain.watch(app.server)
    const realtime = new Realtime({ ...core, env, server: app.server })
    core.services.process.metrics.watch(() => realtime.readGauges())
    const metricsPort = await openMetricsIfEnabled(core.services, env)
    await claimed.release()
    const address = { port: env.PORT, host: env.HOST, backlog: BACKLOG }
    const url = await app.listen(address).catch((error) => rethrowPortError(error, env))
    await core.jobQueue.work(createJobHandlers(core.services), countWorkers(env))
    const stopPeriodicTasks = startPeriodicTasks(core.periodicTasks, { log, traces, firstRunMs })
    const stop = async () => {
      await shutDownGracefully({ env, services: core.services, app, drain, realtime })
      await closeWithTimeout(stopPeriodicTasks(), log)
      await metricsPort?.close()
      await core.close()
      await telemetry?.close()
    }
    return { ...core, url, metricsUrl: metricsPort?.url, stop }
  } catch (error) {
    await core.close()
    throw error
  }
}

/** Serves the metrics on METRICS_PORT, if it is set. The server is loaded only then. */
async function openMetricsIfEnabled(
  { process: { metrics } }: Services,
  { METRICS_PORT: port, METRICS_HOST: host }: Env,
) {
  if (port === undefined) return undefined
  const { openMetricsPort } = await import('./http/metrics-port.ts')
  return openMetricsPort(metrics, port, host)
}

/** Synchronises external apps with the file EXT_APPS. Without the setting, apps stay as they are, so that a replica that lacks it does not unlink all of them. */
async function syncExtApps(host: Api, { env: { EXT_APPS, variables }, log }: ServiceOptions): Promise<void> {
  if (EXT_APPS)
    return log.info(
      await host.extApps.sync(await readExtApps(EXT_APPS, variables)),
      'the external apps were synchronised',
    )
  const apps = (await host.extApps.overview()).filter(({ fromFile }) => fromFile).map(({ name }) => name)
  if (apps.length > 0) log.warn({ apps }, 'EXT_APPS is not set: the apps of the file stay as they are')
}

async function syncLimits(host: Api, log: FastifyBaseLogger): Promise<void> {
  const limits = await host.limits.sync()
  log.info(limits, 'the limits were synchronised')
  if (limits.ofNobody.length > 0)
    log.warn(
      { limits: limits.ofNobody },
      'limits are for people, apps or others that are not there yet, and hold from the moment that they are',
    )
}

/** Begins the first index of vectors, and tells when the embedding model was exchanged, or files lack its vectors. */
async function prepareIndex(host: Api, log: FastifyBaseLogger): Promise<void> {
  if (await host.knowledge.prepareIndex())
    log.warn(
      {},
      'Knowledge, or some of its files, has no vectors of KNOWLEDGE_EMBEDDING_MODEL. `svc knowledge rebuild` shows the price and makes them; until then it is searched as before.',
    )
}

/** Logs unresolved names in the configuration. They are no error: tools and groups may appear later. */
async function warnOfUnresolvedNames({ models, limits }: Api, log: FastifyBaseLogger): Promise<void> {
  const names = [...(await models.unresolved()), ...(await limits.unresolved())]
  if (names.length > 0)
    log.warn(
      { names: names.slice(0, 100) },
      'names in AI_CONFIG and in limits lead to nothing here; `svc models check` lists them',
    )
}

const FINAL_WRITES_MS = 250

interface ShutdownOptions {
  env: Env
  services: Services
  app: FastifyInstance
  drain: Drain
  realtime: Realtime
}

/** Waits for requests, sockets and streams to end within their time limits, then closes the remaining ones. */
async function shutDownGracefully({ env, services, app, drain, realtime }: ShutdownOptions): Promise<void> {
  const times = { delay: chooseDrainDelay(env), timeout: env.SHUTDOWN_TIMEOUT }
  const [finished] = await Promise.all([
    drain.start(times),
    realtime.drain(times),
    // Subscriptions end within the first half of the timeout; the other half is for their last requests.
    services.changes.subscriptions.drain(times.delay + times.timeout / 2),
  ])
  realtime.close()
  const closed = app.close()
  app.server.closeAllConnections()
  await closed
  // Requests that were cut off still write their usage.
  if (!finished) await pause(FINAL_WRITES_MS)
}

/** Returns how long the stopping service still serves requests, so that load balancers notice that it is not ready. */
const chooseDrainDelay = ({ DRAIN_DELAY, NODE_ENV }: Env) => DRAIN_DELAY ?? (NODE_ENV === 'production' ? 5000 : 0)

/** Returns how many jobs of each name this process runs at once. */
const countWorkers = ({ FILE_TEXT_WORKERS }: Env): Readonly<Record<JobName, number>> => ({
  'extract-text': FILE_TEXT_WORKERS,
  'read-knowledge': FILE_TEXT_WORKERS,
  // These wait for the embedding model most of the time.
  'embed-knowledge': 2,
  // An export holds one of the few connections for long statements.
  'export-person': 1,
  'revoke-accounts': 1,
})

/** Creates the handlers of queued jobs, which call procedures as the host. */
function createJobHandlers(services: Services): JobHandlers {
  const host = (signal?: AbortSignal): Api =>
    createCaller(() =>
      createContext(services, { origin: 'host', requestId: 'job', ...(signal && { signal: () => signal }) }),
    )
  return {
    'extract-text': {
      run: (input, signal) => host(signal).attachments.readText(input),
      giveUp: (input) => host().attachments.giveUpText(input),
    },
    'read-knowledge': {
      run: (input, signal) => host(signal).knowledge.read(input),
      giveUp: (input) => host().knowledge.giveUp(input),
    },
    'embed-knowledge': {
      run: (input, signal) => host(signal).knowledge.embed(input),
      giveUp: (input) => host().knowledge.giveUpEmbedding(input),
    },
    'export-person': {
      run: (input, signal) => host(signal).personExports.make(input),
      giveUp: (input) => host().personExports.giveUp(input),
    },
    'revoke-accounts': {
      run: (input, signal) => host(signal).toolAccounts.revoke(input),
      giveUp: async () => services.log.warn({}, 'tokens of ended tool accounts live on to their own end'),
    },
  }
}

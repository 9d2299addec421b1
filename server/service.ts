import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { AppFiles, type AppSource } from '../facades/web/app-files.ts'
import { createContext } from '../routers/core/context.ts'
import type { Services } from '../routers/core/services.ts'
import { withTimeout } from '../routers/core/timeout.ts'
import { type Api, createCaller } from '../routers/index.ts'
import type { JobHandlers } from '../routers/ports/job-queue.ts'
import { createAiUser } from './ai-user.ts'
import { buildApp } from './app.ts'
import { appFolder } from './app-source.ts'
import { readExtApps } from './config/ext-apps.ts'
import type { Env } from './config/settings.ts'
import { readSite } from './config/site.ts'
import { type ClusterUse, openEmbedded } from './database/cluster-lock.ts'
import { connect, type Database } from './database/database.ts'
import { migrate } from './database/migrate.ts'
import { createDrain, type Drain } from './http/drain.ts'
import { type ClaimedPort, claimPort, explainPort } from './http/port.ts'
import { type PeriodicTask, startPeriodicTasks } from './ops/periodic-tasks.ts'
import { warnAtStart } from './ops/start-warnings.ts'
import type { Telemetry } from './ops/telemetry.ts'
import { createPeriodicTasks } from './periodic-tasks.ts'
import { Realtime } from './realtime/index.ts'
import { compose, type ServiceBundle } from './services.ts'

export interface ServiceOptions {
  env: Env
  log: FastifyBaseLogger
  /** Takes traces, and has the lines of the log. */
  telemetry?: Telemetry | undefined
  temporaryDir?: string | undefined
  /** Sees rows of the database before several requests share them. */
  beforeSharing?: ((rows: readonly unknown[]) => void) | undefined
  /** Milliseconds from the start within which each periodic task runs first. */
  firstRunMs?: number | undefined
  /** Where the front end comes from; it is built when somebody first asks for it, unless told otherwise. */
  appSource?: AppSource | undefined
  /** Takes a sentence about why the start waits. */
  notify?: ((sentence: string) => void) | undefined
  /** Ends the wait; what goes on after it is not left half way. */
  signal?: AbortSignal | undefined
}

/** Everything up to the edge: database at its newest schema, parts composed, and a way in for the host. */
export interface CoreService extends ServiceBundle {
  /** Calls procedures as somebody on the host. */
  host: Api
  /** The migrations that were applied on the way. */
  migrated: string[]
  periodicTasks: PeriodicTask[]
}

export async function openCore(options: ServiceOptions, use: ClusterUse): Promise<CoreService> {
  const { env, log, telemetry, temporaryDir, beforeSharing, notify, signal } = options
  if (use === 'command') assertDataDir(env.DATA_DIR)
  await mkdir(env.DATA_DIR, { recursive: true })
  const embedded = env.DATABASE_URL ? undefined : await openEmbedded(env.DATA_DIR, use, { notify, signal })
  const url = env.DATABASE_DIRECT_URL ?? env.DATABASE_URL ?? embedded?.url ?? ''
  let database: Database | undefined
  try {
    const limits = { idleInTransaction: env.DATABASE_IDLE_TIMEOUT }
    const connection = { url, poolSize: env.DATABASE_POOL, beforeSharing, limits }
    database = await connect(connection).catch((error) =>
      explainDatabase(error, env.DATABASE_DIRECT_URL ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL', env),
    )
    const migrated = await migrate(database, url, createAiUser(env, log))
    if (use === 'service') {
      // A migration takes as long as it takes.
      await database.close()
      const ofRequests = { statement: env.DATABASE_STATEMENT_TIMEOUT, lock: env.DATABASE_LOCK_TIMEOUT }
      const poolerUrl = env.DATABASE_DIRECT_URL && env.DATABASE_URL
      database = await connect({ ...connection, poolerUrl, limits: { ...limits, ofRequests } }).catch((error) =>
        explainDatabase(error, 'DATABASE_URL', env),
      )
    }
    const composition = await compose({ env, database, log, temporaryDir, traces: telemetry?.traces })
    const operator = use === 'service' ? undefined : nameOperator()
    const host = hostCaller({ ...composition.services, sql: database.longSql }, operator)
    const close = async () => {
      await patiently(composition.close(), log)
      await patiently(database?.close(), log)
      await embedded?.release()
    }
    const { services, jobQueue } = composition
    const periodicTasks = createPeriodicTasks({ env, database, host, metrics: services.metrics, jobQueue })
    return { ...composition, migrated, host, periodicTasks, close }
  } catch (error) {
    await database?.close()
    await embedded?.release()
    throw error
  }
}

/** Names the setting and the server, never the password. */
function explainDatabase(
  cause: Error & { errors?: Error[] },
  setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL',
  { [setting]: address }: Env,
): never {
  if (!address) throw cause
  const { host, pathname } = new URL(address)
  const said = cause.message || cause.errors?.map(({ message }) => message).join('; ')
  const isPooler = said?.includes('unsupported startup parameter')
  const reason = isPooler ? 'a pooler answers there, which needs DATABASE_DIRECT_URL beside it' : said
  throw new Error(`${setting}: the database ${pathname.slice(1)} at ${host} cannot be used: ${reason}`, { cause })
}

/** A command in the wrong folder must not make a database there that nobody looks for. */
function assertDataDir(path: string): void {
  if (existsSync(path)) return
  throw new Error(
    `There is no data folder ${path} here. Change to the folder where the service was started, set DATA_DIR, or start the service first.`,
  )
}

/** A part that cannot be closed must not keep the others open. */
async function patiently(closing: Promise<void> | undefined, log: FastifyBaseLogger): Promise<void> {
  await withTimeout(closing, 10_000).catch((error: unknown) => log.error({ error }, 'a part did not close'))
}

/** Each call has a context of its own: what one leaves in its entity manager is no concern of the next. */
const hostCaller = (services: Services, operator: string | undefined): Api =>
  createCaller(() => createContext(services, { origin: 'host', operator, requestId: 'host' }))

/** Who gives a command. A container may have a user without a name. */
function nameOperator(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}

export interface Service extends CoreService {
  url: string
  /** Where METRICS_PORT serves the numbers of this process. */
  metricsUrl: string | undefined
  /** Stops taking requests, waits for those under way, then closes everything. */
  stop(): Promise<void>
}

/** How many connections the system keeps until they are taken: beyond, it breaks off some of those that come all at once. */
const BACKLOG = 4096

/** Claims the port first: if it is taken, no database is created; if it is free, all parts know its number. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const claimed = await claimPort(options.env)
  try {
    return await serve({ ...options, env: { ...options.env, PORT: claimed.port } }, claimed)
  } finally {
    await claimed.release()
  }
}

async function serve(options: ServiceOptions, claimed: ClaimedPort): Promise<Service> {
  const { env, log, telemetry, firstRunMs } = options
  const traces = telemetry?.traces
  const core = await openCore(options, 'service')
  try {
    log.info(await core.host.models.sync(), 'models synchronised')
    await syncExtApps(core.host, options)
    await syncLimits(core.host, log)
    await core.host.migrations.register()
    await core.jobQueue.prepare()
    await warnAtStart(core.services, env)
    await core.host.audit.upkeep()
    await warnOfUnresolvedNames(core.host, log)
    core.outageReports.listen(core.host.models)
    const drain = createDrain()
    const appSource = options.appSource ?? new AppFiles(appFolder(env))
    const app = await buildApp({ ...core, env, log, traces, drain, appSource, site: await readSite(env) })
    drain.watch(app.server)
    const realtime = new Realtime({ ...core, env, server: app.server })
    core.services.metrics.watch(() => realtime.gauges())
    const metricsPort = await openMetrics(core.services, env)
    await claimed.release()
    const address = { port: env.PORT, host: env.HOST, backlog: BACKLOG }
    const url = await app.listen(address).catch((error) => explainPort(error, env))
    // An export keeps one of the few connections for what takes long.
    const concurrency = { 'extract-text': env.FILE_TEXT_WORKERS, 'export-person': 1 }
    await core.jobQueue.work(createJobHandlers(core.services), concurrency)
    const stopPeriodicTasks = startPeriodicTasks(core.periodicTasks, { log, traces, firstRunMs })
    const stop = async () => {
      await drainAll({ env, services: core.services, app, drain, realtime })
      await stopPeriodicTasks()
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

/** Loads what serves them where they have a port of their own. */
async function openMetrics({ metrics }: Services, { METRICS_PORT: port, METRICS_HOST: host }: Env) {
  if (port === undefined) return undefined
  const { openMetricsPort } = await import('./http/metrics-port.ts')
  return openMetricsPort(metrics, port, host)
}

/** A replica that misses the setting must not end the links of all apps: without a file they stay as they are. */
async function syncExtApps(host: Api, { env: { EXT_APPS, variables }, log }: ServiceOptions): Promise<void> {
  if (EXT_APPS)
    return log.info(await host.extApps.sync(await readExtApps(EXT_APPS, variables)), 'external apps synchronised')
  const apps = (await host.extApps.overview()).filter(({ fromFile }) => fromFile).map(({ name }) => name)
  if (apps.length > 0) log.warn({ apps }, 'EXT_APPS is not set: the apps of the file stay as they are')
}

async function syncLimits(host: Api, log: FastifyBaseLogger): Promise<void> {
  const limits = await host.limits.sync()
  log.info(limits, 'limits synchronised')
  if (limits.ofNobody.length > 0)
    log.warn(
      { limits: limits.ofNobody },
      'limits are for people or apps that are not there yet, and hold from the moment that they are',
    )
}

/** Not refused: a tool comes once its server is asked, a group with whoever is in it. */
async function warnOfUnresolvedNames({ models, limits }: Api, log: FastifyBaseLogger): Promise<void> {
  const names = [...(await models.unresolved()), ...(await limits.unresolved())]
  if (names.length > 0)
    log.warn(
      { names: names.slice(0, 100) },
      'names in AI_CONFIG and in limits lead to nothing here; `svc models check` lists them',
    )
}

const CLOSING_INTERVAL_MS = 250

interface Draining {
  env: Env
  services: Services
  app: FastifyInstance
  drain: Drain
  realtime: Realtime
}

/** Lets requests, sockets and streams end in their time, and closes what is left of them. */
async function drainAll({ env, services, app, drain, realtime }: Draining): Promise<void> {
  const times = { delay: drainDelay(env), timeout: env.SHUTDOWN_TIMEOUT }
  const [finished] = await Promise.all([
    drain.start(times),
    realtime.drain(times),
    // Half of the time is for those that end last.
    services.subscriptions.drain(times.delay + times.timeout / 2),
  ])
  realtime.close()
  const closed = app.close()
  app.server.closeAllConnections()
  await closed
  // Requests that were cut off still write what they took.
  if (!finished) await pause(CLOSING_INTERVAL_MS)
}

/** Load balancers need a moment to see that readiness is gone; in development there are none. */
const drainDelay = ({ DRAIN_DELAY, NODE_ENV }: Env) => DRAIN_DELAY ?? (NODE_ENV === 'production' ? 5000 : 0)

/** What is done with the jobs that calls leave behind. */
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
    'export-person': {
      run: (input, signal) => host(signal).personExports.make(input),
      giveUp: (input) => host().personExports.giveUp(input),
    },
  }
}

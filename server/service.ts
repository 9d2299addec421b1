import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { AppFiles, type AppSource } from '../facades/web/app-files.ts'
import { createContext } from '../routers/core/context.ts'
import type { Services } from '../routers/core/services.ts'
import { type Api, createCaller } from '../routers/index.ts'
import type { JobHandlers, JobName } from '../routers/ports/job-queue.ts'
import { buildApp } from './app.ts'
import { frontEndFolder } from './app-source.ts'
import { readExtApps } from './config/config-file.ts'
import type { Env } from './config/settings.ts'
import { readSite } from './config/site.ts'
import { type CoreOptions, type CoreService, closeWithTimeout, openCore } from './core.ts'
import { createDrain, type Drain } from './http/drain.ts'
import { type ClaimedPort, claimPort, rethrowPortError } from './http/port.ts'
import { warnAtStart } from './ops/start-warnings.ts'
import { startPeriodicTasks } from './periodic-tasks.ts'
import { Realtime } from './realtime/index.ts'

export interface ServiceOptions extends CoreOptions {
  /** Milliseconds after the start until each periodic task runs for the first time. */
  firstRunMs?: number | undefined
  /** Source of the front end; by default it is built at the first request for it. */
  appSource?: AppSource | undefined
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

import type { FastifyBaseLogger } from 'fastify'
import type { ReachedLimit } from '../entities/ai/usage-commit.sql.ts'
import type { Sql } from '../entities/sql/statement.ts'
import { AppFiles } from '../facades/web/app-files.ts'
import { extend } from '../routers/core/extension.ts'
import type { HookRegistry } from '../routers/core/hooks.ts'
import { InFlightLimiter, KeyedSemaphore } from '../routers/core/load/concurrency.ts'
import { SingleFlight } from '../routers/core/load/single-flight.ts'
import type { Services } from '../routers/core/services.ts'
import type { Settings } from '../routers/core/settings.ts'
import { resources } from '../routers/index.ts'
import type { ChangeStreams } from '../routers/ports/change-streams.ts'
import type { ConcurrencyLimiter } from '../routers/ports/concurrency-limiter.ts'
import { EXPORTS } from '../routers/ports/files/storage.ts'
import type { Log } from '../routers/ports/log.ts'
import type { Traces } from '../routers/ports/traces.ts'
import { createCatalogue } from '../routers/resource/catalogue.ts'
import { createPromptFiles } from '../routers/rooms/attachments/prompt-files.ts'
import { createGateway } from './ai/gateway.ts'
import { OutageReports } from './ai/outage-reports.ts'
import { ProcessRoomAnswers } from './ai/room-answers.ts'
import { frontEndFolder } from './app-source.ts'
import type { BackupParts } from './backup/create.ts'
import { readModelConfig, readModelOrigins } from './config/ai-config.ts'
import { announcementsFolder, createAnnouncementReader, createAnnouncementWriter } from './config/announcement-texts.ts'
import { readLimits } from './config/config-file.ts'
import { listCurrentSettings } from './config/env.ts'
import { loadExtensions } from './config/extensions.ts'
import { loadFrontendMigrations } from './config/frontend-migrations.ts'
import { loadLabels } from './config/labels.ts'
import { parseNetwork } from './config/settings/setting-types.ts'
import type { Env } from './config/settings.ts'
import type { Database } from './database/database.ts'
import { openTextExtractor } from './files/text-extractor.ts'
import { createServiceHooks } from './hooks.ts'
import { type Authenticator, createAuthenticator } from './http/authenticator.ts'
import { openLogin } from './login/index.ts'
import { ConnectedToolServers } from './mcp/tool-servers.ts'
import { createWebReader } from './net/web-reader.ts'
import { createHealthChecks, createHealthTimer, type HealthCheckOptions } from './ops/health-checks.ts'
import { createMetrics } from './ops/metrics.ts'
import { createSubscriptions } from './realtime/subscriptions.ts'
import { buildSettings } from './service-settings.ts'
import { createAuditLog } from './stores/audit-log.ts'
import { openBlobs } from './stores/blobs/open-blobs.ts'
import { createCallableModels } from './stores/callable-models.ts'
import { createChangeBus } from './stores/change-bus.ts'
import { ChangeLogStreams } from './stores/change-streams.ts'
import { createConnectRequests } from './stores/connect-requests.ts'
import { createCredentialWatch } from './stores/credential-watch.ts'
import { createFileStore } from './stores/file-store.ts'
import { DatabaseJobQueue } from './stores/job-queue.ts'
import { createKeyValue } from './stores/key-value.ts'
import { createNotifier } from './stores/notifier.ts'
import { createRoomDirectory } from './stores/room-directory.ts'
import { createSealedStorage } from './stores/sealed-storage.ts'
import { createUsageLedger } from './stores/usage/usage-ledger.ts'
import { createVault, deriveCookieSecret, readOrCreateAppKey } from './stores/vault.ts'

/** The services that procedures use, and the parts that the process itself starts and closes. */
export interface Container {
  services: Services
  authenticator: Authenticator
  concurrencyLimiter: ConcurrencyLimiter
  /** Unique name of this process among the replicas. */
  replica: string
  /** Secrets for the cookies of sessions: the first one signs, all of them verify. */
  cookieSecrets: string[]
  /** Runs no jobs until `work` is called. */
  jobQueue: DatabaseJobQueue
  outageReports: OutageReports
  close(): Promise<void>
}

export interface ContainerOptions {
  env: Env
  database: Database
  log: FastifyBaseLogger
  /** Folder of the health timer's marker; by default the system's temporary folder. */
  temporaryDir?: string | undefined
  traces?: Traces | undefined
}

/** Creates all services of a process, on a database that is open and migrated. */
export async function createContainer(options: ContainerOptions): Promise<Container> {
  const parts = await createParts(options)
  const { keyValue, changes, outbound, modelCalls, audit, authenticator, jobQueue, texts, blobs } = parts
  return {
    services: await createServices(options, parts),
    authenticator,
    concurrencyLimiter: keyValue.concurrencyLimiter,
    replica: keyValue.replica,
    jobQueue,
    outageReports: outbound.outageReports,
    cookieSecrets: [parts.appKey, ...options.env.APP_PREVIOUS_KEYS].map(deriveCookieSecret),
    async close() {
      await modelCalls.roomAnswers.close()
      changes.close()
      await jobQueue.close()
      await Promise.all([modelCalls.usageLedger.close(), authenticator.flush(), audit.flush()])
      await Promise.all([
        texts.close(),
        outbound.close(),
        blobs.close(),
        keyValue.close(),
        changes.services.changeBus.close(),
      ])
    },
  }
}

type Parts = Awaited<ReturnType<typeof createParts>>

/** Creates the parts of which the services are made, and which are closed at the end. */
async function createParts({ env, database, log, traces }: ContainerOptions) {
  const { sql, pool } = database
  const appKey = env.APP_KEY ?? (await readOrCreateAppKey(env.DATA_DIR))
  const settings = buildSettings(env, appKey)
  const vault = createVault(appKey, env.APP_PREVIOUS_KEYS)
  const metrics = createServiceMetrics(database)
  const configReaders = createConfigReaders(env, log)
  const hooks = createServiceHooks(configReaders.announcementText)
  // Loaded before anything connects to Redis: if one of them fails, no connection keeps the process running.
  const extensions = extend(hooks, await loadExtensions(env.EXTENSIONS), log)
  const labels = await loadLabels(env.LABELS_DIR)
  const blobs = await openBlobs(env)
  const keyValue = await createKeyValue(toRedisAddress(env))
  const { concurrencyLimiter } = keyValue
  const changes = await createChangeServices({ env, sql, log, concurrencyLimiter })
  const { changeStreams } = changes.services
  return {
    appKey,
    settings,
    vault,
    metrics,
    configReaders,
    hooks,
    extensions,
    labels,
    keyValue,
    changes,
    outbound: createOutboundClients({ env, log, metrics, vault, settings, configReaders }),
    authenticator: createAuthenticator(sql, settings, log),
    jobQueue: new DatabaseJobQueue({ pool, log, traces }),
    texts: openTextExtractor(env, log),
    blobs,
    audit: createAuditLog(sql, log),
    modelCalls: createModelCallServices({ sql, hooks, log, changeStreams }),
  }
}

async function createServices(options: ContainerOptions, parts: Parts): Promise<Services> {
  const { env, database, log, temporaryDir } = options
  const { settings, vault, metrics, hooks, keyValue, outbound, blobs } = parts
  const { em, sql, readInBatches, longPool } = database
  const { kv, answers, previews, limiter } = keyValue
  const services: Services = {
    em,
    sql,
    readInBatches,
    hooks,
    settings,
    vault,
    log,
    metrics,
    kv,
    answers,
    previews,
    limiter,
    models: outbound.models,
    toolServers: outbound.toolServers,
    webReader: outbound.webReader,
    audit: parts.audit,
    jobQueue: parts.jobQueue,
    textExtractor: parts.texts.extractor,
    personArchive: createPersonArchive(env, () => services),
    semaphores: createSemaphores(env),
    previewReads: new SingleFlight<string>(),
    connectRequests: createConnectRequests(parts.appKey),
    extensions: parts.extensions,
    resources: createCatalogue(resources, em.getMetadata()),
    labels: parts.labels,
    ...parts.changes.services,
    ...openLogin(env, limiter, log),
    ...parts.configReaders,
    ...parts.modelCalls,
    ...createStores({ env, vault, blobs, pool: longPool, version: settings.version }, sql),
    ...createHealth(env, { sql, kv, blobs }, temporaryDir),
  }
  return services
}

function createServiceMetrics({ pool }: Database): Services['metrics'] {
  const metrics = createMetrics()
  metrics.watch(() => ({ svc_db_pool_connections: pool.totalCount, svc_db_pool_waiting: pool.waitingCount }))
  return metrics
}

/** Connections for requests that wait for the same lock: one for its holder, and one for the next request. */
const MAX_CHANGES_PER_LOCK = 2
const MAX_WAITING = 500

function createSemaphores({
  DATABASE_POOL,
  DATABASE_PER_PERSON,
  DATABASE_LOCK_TIMEOUT: maxWaitMs,
}: Env): Services['semaphores'] {
  const waiting = { maxWaiting: MAX_WAITING, maxWaitMs }
  const perPerson = Math.min(DATABASE_PER_PERSON, DATABASE_POOL - 1)
  return {
    person: new KeyedSemaphore({ perKey: perPerson, refusal: 'too_many_requests', ...waiting }),
    change: new KeyedSemaphore({ perKey: MAX_CHANGES_PER_LOCK, refusal: 'busy', ...waiting }),
  }
}

interface ModelCallOptions extends Pick<ContainerOptions, 'log'> {
  sql: Database['sql']
  hooks: HookRegistry
  changeStreams: ChangeStreams
}

/** Creates the services that look up models, record usage and generate answers in rooms. */
const createModelCallServices = ({ sql, hooks, log, changeStreams }: ModelCallOptions) => ({
  callableModels: createCallableModels(sql),
  usageLedger: createUsageLedger({ sql, log, onReached: createLimitReporter(hooks, log) }),
  roomAnswers: new ProcessRoomAnswers({ sql, changeStreams, log }),
})

interface OutboundOptions
  extends Pick<ContainerOptions, 'env' | 'log'>,
    Pick<Services, 'metrics' | 'vault' | 'settings'> {
  configReaders: Pick<Services, 'modelConfig'>
}

/** Creates the clients of model providers, of tool servers and of the web sites that people link to. */
function createOutboundClients({ env, log, metrics, vault, settings, configReaders }: OutboundOptions) {
  const outageReports = new OutageReports(log, metrics)
  const models = createGateway({ vault, log, outages: outageReports })
  const toolServers = new ConnectedToolServers({
    vault,
    readConfig: async () => (await configReaders.modelConfig()).mcpServers,
    path: env.variables['PATH'],
    timeout: env.AI_TOOL_TIMEOUT,
    maxResult: env.AI_TOOL_RESULT_MAX,
  })
  const webReader = createLinkReader(env, settings)
  const close = () => Promise.all([models.close(), toolServers.close(), webReader.close()])
  return { models, toolServers, webReader, outageReports, close }
}

type Stores = Pick<
  Services,
  'storage' | 'files' | 'exportFiles' | 'promptFiles' | 'uploads' | 'aiBytes' | 'aiCalls' | 'backups'
>

function createStores(parts: BackupParts, sql: Services['sql']): Stores {
  const { env, vault, blobs } = parts
  const files = createFileStore(vault, blobs)
  return {
    storage: createSealedStorage(vault, blobs),
    files,
    exportFiles: createFileStore(vault, blobs, EXPORTS),
    promptFiles: createPromptFiles({ sql, vault, files }),
    uploads: new InFlightLimiter({ perKey: env.UPLOADS_PER_PERSON, inAll: env.UPLOADS_AT_ONCE }),
    aiBytes: new InFlightLimiter({ perKey: env.AI_BYTES_PER_PERSON, inAll: env.AI_BYTES_AT_ONCE }),
    aiCalls: new InFlightLimiter({ perKey: env.AI_CALLS_PER_PERSON, inAll: Infinity }),
    backups: createBackupService(parts),
  }
}

/** Creates the backup service, which loads its code at the first call. */
const createBackupService = (parts: BackupParts): Services['backups'] => ({
  create: async (folder) => (await import('./backup/create.ts')).createBackup(parts, folder),
  async verify(folder) {
    const { summarize, verifyBackup } = await import('./backup/archive.ts')
    return summarize(await verifyBackup(folder, parts))
  },
})

/** Creates the writer of personal data archives, which loads its code at the first call. */
const createPersonArchive = (env: Env, findServices: () => Services): Services['personArchive'] =>
  async function* (userId, signal) {
    const { writeArchive } = await import('./personal-data/archive.ts')
    const readPage = () => new AppFiles(frontEndFolder(env)).readArchivePage()
    yield* writeArchive({ services: findServices(), readPage }, userId, signal)
  }

/** Creates the reader for link previews. It refuses our own host, which might answer this process more than strangers. */
const createLinkReader = ({ BRAND, LINK_PREVIEW_PORTS, LINK_PREVIEW_NETWORKS }: Env, { baseUrl, version }: Settings) =>
  createWebReader({
    userAgent: `${BRAND}-link-preview/${version} (bot)`,
    ports: LINK_PREVIEW_PORTS,
    openNetworks: LINK_PREVIEW_NETWORKS.map(parseNetwork),
    refusedHosts: [new URL(baseUrl).hostname],
  })

type Health = Pick<Services, 'healthChecks' | 'healthTimer'>

const createHealth = (env: Env, parts: HealthCheckOptions, temporaryDir?: string): Health => ({
  healthChecks: createHealthChecks(parts, env.DATA_DIR),
  healthTimer: createHealthTimer(env.HEALTH_DEEP_EVERY, temporaryDir),
})

/** Creates the readers of configuration files; each call reads the file again. */
const createConfigReaders = (
  env: Env,
  log: FastifyBaseLogger,
): Pick<
  Services,
  | 'announcementText'
  | 'writeAnnouncementTexts'
  | 'frontendMigrations'
  | 'limitsConfig'
  | 'listSettings'
  | 'modelConfig'
  | 'modelOrigins'
> => ({
  announcementText: createAnnouncementReader({
    folder: announcementsFolder(env),
    defaultLocale: env.APP_LOCALE,
    log,
  }),
  writeAnnouncementTexts: createAnnouncementWriter(announcementsFolder(env), log),
  frontendMigrations: () => loadFrontendMigrations(env.FRONTEND_MIGRATIONS),
  limitsConfig: () => readLimits(env.LIMITS, env.variables),
  listSettings: () => listCurrentSettings(env.variables),
  modelConfig: () => readModelConfig(env.AI_CONFIG, env.variables, { demo: env.NODE_ENV !== 'production' }),
  modelOrigins: () => readModelOrigins(env.AI_CONFIG, env.variables, { demo: env.NODE_ENV !== 'production' }),
})

/** Creates a function that logs a reached usage limit and emits it to extensions. */
const createLimitReporter = (hooks: HookRegistry, log: FastifyBaseLogger) => (reached: ReachedLimit) => {
  log.info(reached, `a usage limit is used up to ${reached.percent} percent`)
  hooks.emit('usage-limit-reached', reached)
}

interface ChangeServiceOptions {
  env: Env
  sql: Sql
  log: Log
  concurrencyLimiter: ConcurrencyLimiter
}

const toRedisAddress = ({ REDIS_URL, REDIS_SENTINELS, REDIS_SENTINEL_PASSWORD }: Env) => ({
  url: REDIS_URL,
  sentinels: REDIS_SENTINELS,
  sentinelPassword: REDIS_SENTINEL_PASSWORD,
})

/** Creates the change bus and the services that stand on it. */
async function createChangeServices({ env, sql, log, concurrencyLimiter }: ChangeServiceOptions) {
  const changeBus = await createChangeBus(toRedisAddress(env), log)
  const changeStreams = new ChangeLogStreams({ sql, bus: changeBus, log })
  const credentials = createCredentialWatch({ sql, bus: changeBus, log, sessionLifetime: env.SESSION_LIFETIME })
  const quotas = { max: env.SUBSCRIPTIONS_MAX, maxPerPerson: env.SUBSCRIPTIONS_PER_PERSON }
  const subscriptions = createSubscriptions({ credentials, limiter: concurrencyLimiter, ...quotas })
  const roomDirectory = createRoomDirectory(sql, changeBus)
  const notifier = createNotifier(changeBus)
  return {
    services: { changeBus, changeStreams, credentials, notifier, roomDirectory, subscriptions },
    close() {
      changeStreams.close()
      credentials.close()
    },
  }
}

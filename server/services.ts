import type { FastifyBaseLogger } from 'fastify'
import type { ReachedLimit } from '../entities/ai/usage-commit.sql.ts'
import type { Sql } from '../entities/sql/statement.ts'
import { AppFiles } from '../facades/web/app-files.ts'
import { registerExtensions } from '../routers/core/extension.ts'
import type { HookRegistry } from '../routers/core/hooks.ts'
import { InFlightLimiter, KeyedSemaphore } from '../routers/core/load/concurrency.ts'
import { SingleFlight } from '../routers/core/load/single-flight.ts'
import type { Services } from '../routers/core/services.ts'
import type { Settings } from '../routers/core/settings.ts'
import { resources } from '../routers/index.ts'
import type { ChangeStreams } from '../routers/ports/change-streams.ts'
import type { ConcurrencyLimiter } from '../routers/ports/concurrency-limiter.ts'
import type { CredentialWatch } from '../routers/ports/credential-watch.ts'
import { EXPORTS } from '../routers/ports/files/storage.ts'
import type { Log } from '../routers/ports/log.ts'
import type { Traces } from '../routers/ports/traces.ts'
import type { Vault } from '../routers/ports/vault.ts'
import { createCatalogue } from '../routers/resource/catalogue.ts'
import { promptFiles } from '../routers/rooms/attachments/prompt-files.ts'
import { createGateway } from './ai/gateway.ts'
import { OutageReports } from './ai/outage-reports.ts'
import { ProcessRoomAnswers } from './ai/room-answers.ts'
import { appFolder } from './app-source.ts'
import type { BackupParts } from './backup/create.ts'
import { announcementsFolder } from './backup/state.ts'
import { readModelConfig, readModelOrigins } from './config/ai-config.ts'
import { announcementTexts, announcementWriter } from './config/announcement-texts.ts'
import { currentSettings } from './config/env.ts'
import { loadExtensions } from './config/extensions.ts'
import { loadFrontendMigrations } from './config/frontend-migrations.ts'
import { loadLabels } from './config/labels.ts'
import { readLimits } from './config/limits.ts'
import { parseNetwork } from './config/settings/addresses.ts'
import type { Env } from './config/settings.ts'
import { generatedKey } from './database/cluster-lock.ts'
import type { Database } from './database/database.ts'
import { openTexts } from './files/text-extractor.ts'
import { createServiceHooks } from './hooks.ts'
import { type Authenticator, createAuthenticator } from './http/credentials.ts'
import { openLogin } from './login/index.ts'
import { ConnectedToolServers } from './mcp/tool-servers.ts'
import { createWebReader } from './net/web-reader.ts'
import { type CheckedParts, createHealthChecks, createHealthTimer } from './ops/health-checks.ts'
import { createMetrics } from './ops/metrics.ts'
import { createSubscriptions } from './realtime/subscriptions.ts'
import { readSettings } from './service-settings.ts'
import { createAuditLog } from './stores/audit-log.ts'
import { openBlobs } from './stores/blobs/open-blobs.ts'
import { createCallableModels } from './stores/callable-models.ts'
import { createChangeBus } from './stores/change-bus.ts'
import { LoggedStreams } from './stores/change-streams.ts'
import { createConnectRequests } from './stores/connect-requests.ts'
import { watchCredentials } from './stores/credential-watch.ts'
import { createFileStore } from './stores/file-store.ts'
import { DatabaseJobQueue } from './stores/job-queue.ts'
import { createKeyValue } from './stores/key-value.ts'
import { createNotifier } from './stores/notifier.ts'
import { createRoomDirectory } from './stores/room-directory.ts'
import { sealedStorage } from './stores/sealed-storage.ts'
import { createUsageLedger } from './stores/usage-ledger.ts'
import { cookieSecret, createVault } from './stores/vault.ts'

/** What calls need, and what must be written and closed when they are over. */
export interface ServiceBundle {
  services: Services
  authenticator: Authenticator
  credentials: CredentialWatch
  places: ConcurrencyLimiter
  /** The name of this process among those that share a store. */
  replica: string
  /** What the cookies of sessions are signed with: the first signs, all are believed. */
  cookieSecrets: string[]
  /** Takes no job before it is told to. */
  jobQueue: DatabaseJobQueue
  outageReports: OutageReports
  close(): Promise<void>
}

export interface ServiceParts {
  env: Env
  database: Database
  log: FastifyBaseLogger
  /** Where the health timer keeps its marker; the system's temporary folder unless told otherwise. */
  temporaryDir?: string | undefined
  traces?: Traces | undefined
}

export async function compose({ env, database, log, temporaryDir, traces }: ServiceParts): Promise<ServiceBundle> {
  const { sql, readInBatches, em, pool } = database
  const appKey = env.APP_KEY ?? (await generatedKey(env.DATA_DIR))
  const settings = readSettings(env, appKey)
  const vault = createVault(appKey, env.APP_PREVIOUS_KEYS)
  const metrics = openMetrics(database)
  const files = createFiles(env, log)
  const hooks = createServiceHooks(files.announcementText)
  const { close: closeKeyValue, places, replica, ...keyValue } = await createKeyValue(findRedis(env))
  const { close: closeChanges, ...changes } = await followChanges({ env, sql, log, places })
  const { close: closeOutbound, outageReports, ...outbound } = createOutbound({ env, log, metrics }, vault, settings)
  const authenticator = createAuthenticator(sql, settings, log)
  const jobQueue = new DatabaseJobQueue({ pool, log, traces })
  const [texts, blobs] = [openTexts(env, log), await openBlobs(env)]
  const audit = createAuditLog(sql, log)
  const answering = createAnswering({ sql, hooks, log, changeStreams: changes.changeStreams })
  const services: Services = {
    ...{ em, sql, readInBatches, hooks, settings, vault, log },
    ...keyValue,
    ...changes,
    ...openLogin(env, keyValue.limiter, log),
    ...outbound,
    ...files,
    ...answering,
    ...{ audit, metrics, jobQueue, textExtractor: texts.extractor, personArchive: archiveWriter(env, () => services) },
    semaphores: createTurns(env),
    previewReads: new SingleFlight<string>(),
    connectRequests: createConnectRequests(appKey),
    ...createStores({ env, vault, blobs, pool: database.longPool, version: settings.version }, sql),
    ...createHealth(env, { sql, kv: keyValue.kv, blobs }, temporaryDir),
    extensions: registerExtensions(hooks, await loadExtensions(env.EXTENSIONS), log),
    resources: createCatalogue(resources, em.getMetadata()),
    labels: await loadLabels(env.LABELS_DIR),
  }
  const close = async () => {
    await answering.roomAnswers.close()
    closeChanges()
    await jobQueue.close()
    await Promise.all([answering.usageLedger.close(), authenticator.flush(), audit.flush()])
    await Promise.all([texts.close(), closeOutbound(), blobs.close(), closeKeyValue(), changes.changeBus.close()])
  }
  const parts = { services, authenticator, credentials: changes.credentials, places, replica, jobQueue, outageReports }
  return { ...parts, cookieSecrets: [appKey, ...env.APP_PREVIOUS_KEYS].map(cookieSecret), close }
}

function openMetrics({ pool }: Database): Services['metrics'] {
  const metrics = createMetrics()
  metrics.watch(() => ({ svc_db_pool_connections: pool.totalCount, svc_db_pool_waiting: pool.waitingCount }))
  return metrics
}

/** Of those who wait for the same lock, one that has it and one that is next have a connection. */
const CHANGES_AT_ONCE = 2
const MAX_WAITING = 500

function createTurns({
  DATABASE_POOL,
  DATABASE_PER_PERSON,
  DATABASE_LOCK_TIMEOUT: maxWaitMs,
}: Env): Services['semaphores'] {
  const waiting = { maxWaiting: MAX_WAITING, maxWaitMs }
  const perPerson = Math.min(DATABASE_PER_PERSON, DATABASE_POOL - 1)
  return {
    person: new KeyedSemaphore({ perKey: perPerson, refusal: 'too_many_requests', ...waiting }),
    change: new KeyedSemaphore({ perKey: CHANGES_AT_ONCE, refusal: 'busy', ...waiting }),
  }
}

interface AnsweringParts extends Pick<ServiceParts, 'log'> {
  sql: Database['sql']
  hooks: HookRegistry
  changeStreams: ChangeStreams
}

/** What chooses models and keeps the account of answers, and makes those in rooms. */
const createAnswering = ({ sql, hooks, log, changeStreams }: AnsweringParts) => ({
  callableModels: createCallableModels(sql),
  usageLedger: createUsageLedger({ sql, log, onReached: tellReached(hooks, log) }),
  roomAnswers: new ProcessRoomAnswers({ sql, changeStreams, log }),
})

/** What speaks to models, to the tools that they may call, and to sites that people link to. */
type OutboundParts = Pick<ServiceParts, 'env' | 'log'> & Pick<Services, 'metrics'>

function createOutbound({ env, log, metrics }: OutboundParts, vault: Vault, settings: Settings) {
  const outageReports = new OutageReports(log, metrics)
  const models = createGateway({ vault, log, outages: outageReports })
  const configured = async () => (await createFiles(env, log).modelConfig()).mcpServers
  const toolServers = new ConnectedToolServers({
    ...{ vault, configured },
    path: env.variables['PATH'],
    ...{ timeout: env.AI_TOOL_TIMEOUT, maxResult: env.AI_TOOL_RESULT_MAX },
  })
  const webReader = openWebReader(env, settings)
  const close = () => Promise.all([models.close(), toolServers.close(), webReader.close()])
  return { models, toolServers, webReader, outageReports, close }
}

type Stores = Pick<Services, 'storage' | 'files' | 'exportFiles' | 'promptFiles' | 'uploads' | 'aiBytes' | 'backups'>

function createStores(parts: BackupParts, sql: Services['sql']): Stores {
  const { env, vault, blobs } = parts
  const files = createFileStore(vault, blobs)
  return {
    storage: sealedStorage(vault, blobs),
    files,
    exportFiles: createFileStore(vault, blobs, EXPORTS),
    promptFiles: promptFiles({ sql, vault, files }),
    uploads: new InFlightLimiter({ perKey: env.UPLOADS_PER_PERSON, inAll: env.UPLOADS_AT_ONCE }),
    aiBytes: new InFlightLimiter({ perKey: env.AI_BYTES_PER_PERSON, inAll: env.AI_BYTES_AT_ONCE }),
    backups: createBackups(parts),
  }
}

/** Loads what makes copies when somebody asks for one. */
const createBackups = (parts: BackupParts): Services['backups'] => ({
  create: async (folder) => (await import('./backup/create.ts')).createBackup(parts, folder),
  async verify(folder) {
    const { summarize, verifyBackup } = await import('./backup/archive.ts')
    return summarize(await verifyBackup(folder, parts))
  },
})

/** Loads what makes archives when one is to be made. */
const archiveWriter = (env: Env, findServices: () => Services): Services['personArchive'] =>
  async function* (userId, signal) {
    const { writeArchive } = await import('./personal-data/archive.ts')
    const readPage = () => new AppFiles(appFolder(env)).readArchivePage()
    yield* writeArchive({ services: findServices(), readPage }, userId, signal)
  }

/** Our own host is never asked: it would answer to us what it keeps from others. */
const openWebReader = ({ BRAND, LINK_PREVIEW_PORTS, LINK_PREVIEW_NETWORKS }: Env, { baseUrl, version }: Settings) =>
  createWebReader({
    userAgent: `${BRAND}-link-preview/${version} (bot)`,
    ports: LINK_PREVIEW_PORTS,
    openNetworks: LINK_PREVIEW_NETWORKS.map(parseNetwork),
    refusedHosts: [new URL(baseUrl).hostname],
  })

type Health = Pick<Services, 'healthChecks' | 'healthTimer'>

const createHealth = (env: Env, parts: CheckedParts, temporaryDir?: string): Health => ({
  healthChecks: createHealthChecks(parts, env.DATA_DIR),
  healthTimer: createHealthTimer(env.HEALTH_DEEP_EVERY, temporaryDir),
})

/** What is read anew each time it is asked for. */
const createFiles = (
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
  announcementText: announcementTexts({
    folder: announcementsFolder(env),
    defaultLocale: env.APP_LOCALE,
    log,
  }),
  writeAnnouncementTexts: announcementWriter(announcementsFolder(env), log),
  frontendMigrations: () => loadFrontendMigrations(env.FRONTEND_MIGRATIONS),
  limitsConfig: () => readLimits(env.LIMITS, env.variables),
  listSettings: () => currentSettings(env.variables),
  modelConfig: () => readModelConfig(env.AI_CONFIG, env.variables, { demo: env.NODE_ENV !== 'production' }),
  modelOrigins: () => readModelOrigins(env.AI_CONFIG, env.variables, { demo: env.NODE_ENV !== 'production' }),
})

/** Says in the log and to extensions that so much of a limit is used. */
const tellReached = (hooks: HookRegistry, log: FastifyBaseLogger) => (reached: ReachedLimit) => {
  log.info(reached, `a usage limit is used up to ${reached.percent} percent`)
  hooks.emit('usage-limit-reached', reached)
}

interface ChangeParts {
  env: Env
  sql: Sql
  log: Log
  places: ConcurrencyLimiter
}

const findRedis = ({ REDIS_URL, REDIS_SENTINELS, REDIS_SENTINEL_PASSWORD }: Env) => ({
  url: REDIS_URL,
  sentinels: REDIS_SENTINELS,
  sentinelPassword: REDIS_SENTINEL_PASSWORD,
})

/** What carries changes to those who follow them, and what says who still may. */
async function followChanges({ env, sql, log, places }: ChangeParts) {
  const changeBus = await createChangeBus(findRedis(env), log)
  const changeStreams = new LoggedStreams({ sql, bus: changeBus, log })
  const credentials = watchCredentials({ sql, bus: changeBus, sessionLifetime: env.SESSION_LIFETIME })
  const quotas = { max: env.SUBSCRIPTIONS_MAX, maxPerPerson: env.SUBSCRIPTIONS_PER_PERSON }
  const subscriptions = createSubscriptions({ credentials, places, ...quotas })
  const roomDirectory = createRoomDirectory(sql, changeBus)
  const notifier = createNotifier(changeBus)
  const close = () => {
    changeStreams.close()
    credentials.close()
  }
  return { changeBus, changeStreams, credentials, notifier, roomDirectory, subscriptions, close }
}

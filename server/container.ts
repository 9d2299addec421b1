import type { FastifyBaseLogger } from 'fastify'
import { AppFiles } from '../facades/web/app-files.ts'
import { embedTexts } from '../routers/ai/embed.ts'
import { createContext } from '../routers/core/context.ts'
import type { EmbedRequest } from '../routers/core/embedder.ts'
import { extend } from '../routers/core/extension.ts'
import { SingleFlight } from '../routers/core/load/single-flight.ts'
import type { ProcessServices, Services, TextServices } from '../routers/core/services.ts'
import type { Settings } from '../routers/core/settings.ts'
import { selectJsonApi } from '../routers/index.ts'
import type { ConcurrencyLimiter } from '../routers/ports/concurrency-limiter.ts'
import type { Traces } from '../routers/ports/traces.ts'
import { createCatalogue } from '../routers/resource/catalogue.ts'
import type { OutageReports } from './ai/outage-reports.ts'
import { ProcessRoomAnswers } from './ai/room-answers.ts'
import { frontEndFolder } from './app-source.ts'
import { announcementsFolder, createAnnouncementReader, createAnnouncementWriter } from './config/announcement-texts.ts'
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
import { ThreadedIndexes } from './knowledge/knowledge-indexes.ts'
import { openLogin } from './login/index.ts'
import { createClientDocuments } from './net/client-documents.ts'
import { createWebReader } from './net/web-reader.ts'
import { createHealthChecks, createHealthTimer } from './ops/health-checks.ts'
import { createMetrics } from './ops/metrics.ts'
import { buildSettings } from './service-settings.ts'
import { createAiServices } from './services/ai-services.ts'
import { createChangeServices } from './services/change-services.ts'
import { createFileServices } from './services/file-services.ts'
import { createLimitServices } from './services/limit-services.ts'
import { createAuditLog } from './stores/audit-log.ts'
import { openBlobs } from './stores/blobs/open-blobs.ts'
import { createConnectRequests } from './stores/connect-requests.ts'
import { createFileStore } from './stores/file-store.ts'
import { DatabaseJobQueue } from './stores/job-queue.ts'
import { createKeyValue } from './stores/key-value.ts'
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
  const {
    keyValue,
    changes,
    ai,
    audit,
    authenticator,
    jobQueue,
    roomAnswers,
    texts,
    knowledge,
    blobs,
    webReader,
    clientDocuments,
  } = parts
  return {
    services: createServices(options, parts),
    authenticator,
    concurrencyLimiter: keyValue.concurrencyLimiter,
    replica: keyValue.replica,
    jobQueue,
    outageReports: ai.outageReports,
    cookieSecrets: [parts.appKey, ...options.env.APP_PREVIOUS_KEYS].map(deriveCookieSecret),
    async close() {
      await roomAnswers.close()
      changes.stop()
      await jobQueue.close()
      await Promise.all([ai.flush(), authenticator.flush(), audit.flush()])
      const outbound = Promise.all([ai.close(), webReader.close(), clientDocuments.close()])
      await Promise.all([
        texts.close(),
        knowledge.close(),
        outbound,
        blobs.close(),
        keyValue.close(),
        changes.services.bus.close(),
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
  const announcements = createAnnouncementTexts(env, log)
  const hooks = createServiceHooks(announcements.announcementText)
  // Loaded before anything connects to Redis: if one of them fails, no connection keeps the process running.
  const extensions = extend(hooks, await loadExtensions(env.EXTENSIONS), log)
  const labels = await loadLabels(env.LABELS_DIR)
  const blobs = await openBlobs(env)
  const attachments = createFileStore(vault, blobs)
  const redis = toRedisAddress(env)
  const keyValue = await createKeyValue(redis)
  const { concurrencyLimiter } = keyValue
  const changes = await createChangeServices({ env, sql, log, redis, concurrencyLimiter })
  return {
    appKey,
    settings,
    vault,
    metrics,
    announcements,
    hooks,
    extensions,
    labels,
    blobs,
    attachments,
    keyValue,
    changes,
    ai: createAiServices({ env, sql, log, vault, hooks, metrics, attachments, baseUrl: settings.baseUrl }),
    authenticator: createAuthenticator(sql, settings, log),
    jobQueue: new DatabaseJobQueue({ pool, log, traces }),
    texts: openTextExtractor(env, log),
    knowledge: new ThreadedIndexes(env.KNOWLEDGE_MEMORY),
    audit: createAuditLog(sql, log),
    webReader: createLinkReader(env, settings),
    clientDocuments: createDocumentReader(settings),
    roomAnswers: new ProcessRoomAnswers({ sql, changeStreams: changes.services.streams, log }),
  }
}

function createServices(options: ContainerOptions, parts: Parts): Services {
  const { env, database, log } = options
  const { settings, vault, changes, blobs, attachments, announcements, labels, texts } = parts
  const { em, sql, readInBatches, longPool: pool } = database
  const { kv, answers, previews, limiter } = parts.keyValue
  const services: Services = {
    em,
    sql,
    settings,
    log,
    vault,
    records: {
      readInBatches,
      resources: createCatalogue(selectJsonApi(env.JSONAPI_ASSISTANTS).resources, em.getMetadata()),
    },
    changes: changes.services,
    limits: createLimitServices(env, parts.keyValue),
    stores: { kv, answers, previews, previewReads: new SingleFlight<string>() },
    ai: { ...parts.ai.services, embed: (request) => embedAs(services, request) },
    files: createFileServices({
      attachments,
      textExtractor: texts.extractor,
      backup: { env, vault, blobs, pool, version: settings.version },
      findArchiveParts: () => ({ services, readPage: () => new AppFiles(frontEndFolder(env)).readArchivePage() }),
    }),
    knowledge: parts.knowledge,
    login: { ...openLogin(env, limiter, log), connectRequests: createConnectRequests(parts.appKey) },
    rooms: { directory: changes.roomDirectory, answers: parts.roomAnswers },
    texts: { ...announcements, labels, frontendMigrations: () => loadFrontendMigrations(env.FRONTEND_MIGRATIONS) },
    process: createProcessServices(options, parts),
  }
  return services
}

/** Embeds texts in the name of a caller, whose own response gets no notes about limits. */
const embedAs = (services: Services, request: EmbedRequest) => {
  const { caller, requestId, signal } = request
  return embedTexts({ ...createContext(services, { caller, requestId, signal: () => signal }), caller }, request)
}

const createProcessServices = (
  { env, database: { sql }, temporaryDir }: ContainerOptions,
  parts: Parts,
): ProcessServices => ({
  hooks: parts.hooks,
  extensions: parts.extensions,
  listSettings: () => listCurrentSettings(env.variables),
  audit: parts.audit,
  metrics: parts.metrics,
  jobQueue: parts.jobQueue,
  healthChecks: createHealthChecks({ sql, kv: parts.keyValue.kv, blobs: parts.blobs }, env.DATA_DIR),
  healthTimer: createHealthTimer(env.HEALTH_DEEP_EVERY, temporaryDir),
  webReader: parts.webReader,
  clientDocuments: parts.clientDocuments,
})

function createServiceMetrics({ pool }: Database): ProcessServices['metrics'] {
  const metrics = createMetrics()
  metrics.watch(() => ({ svc_db_pool_connections: pool.totalCount, svc_db_pool_waiting: pool.waitingCount }))
  return metrics
}

/** Creates the reader for link previews. It refuses our own host, which might answer this process more than strangers. */
const createLinkReader = ({ BRAND, LINK_PREVIEW_PORTS, LINK_PREVIEW_NETWORKS }: Env, { baseUrl, version }: Settings) =>
  createWebReader({
    userAgent: `${BRAND}-link-preview/${version} (bot)`,
    ports: LINK_PREVIEW_PORTS,
    openNetworks: LINK_PREVIEW_NETWORKS.map(parseNetwork),
    refusedHosts: [new URL(baseUrl).hostname],
  })

const createDocumentReader = ({ brand, version, baseUrl, oauth }: Settings) =>
  createClientDocuments({
    userAgent: `${brand}-oauth/${version}`,
    hosts: oauth.clientHosts,
    ownHost: new URL(baseUrl).hostname,
  })

/** Creates the reader of announcement texts, which reads the files again at each call, and their writer. */
const createAnnouncementTexts = (
  env: Env,
  log: FastifyBaseLogger,
): Pick<TextServices, 'announcementText' | 'writeAnnouncementTexts'> => ({
  announcementText: createAnnouncementReader({
    folder: announcementsFolder(env),
    defaultLocale: env.APP_LOCALE,
    log,
  }),
  writeAnnouncementTexts: createAnnouncementWriter(announcementsFolder(env), log),
})

const toRedisAddress = ({ REDIS_URL, REDIS_SENTINELS, REDIS_SENTINEL_PASSWORD }: Env) => ({
  url: REDIS_URL,
  sentinels: REDIS_SENTINELS,
  sentinelPassword: REDIS_SENTINEL_PASSWORD,
})

import type { EntityManager } from '@mikro-orm/postgresql'
import type { ReadInBatches, Sql } from '../../entities/sql/statement.ts'
import type { CallWatch } from '../ports/ai/call-watch.ts'
import type { CallableAssistants } from '../ports/ai/callable-assistants.ts'
import type { CallableModels } from '../ports/ai/callable-models.ts'
import type { LimitsConfig } from '../ports/ai/limits-config.ts'
import type { ModelConfig, ModelOrigins } from '../ports/ai/model-config.ts'
import type { ModelGateway } from '../ports/ai/models.ts'
import type { PromptFiles } from '../ports/ai/prompt-files.ts'
import type { ToolAccounts } from '../ports/ai/tool-accounts.ts'
import type { ToolLimits } from '../ports/ai/tool-limits.ts'
import type { ToolServers } from '../ports/ai/tool-servers.ts'
import type { ToolUses } from '../ports/ai/tool-uses.ts'
import type { UsageLedger } from '../ports/ai/usage-ledger.ts'
import type { ReadAnnouncementText, WriteAnnouncementTexts } from '../ports/announcement-texts.ts'
import type { AuditLog } from '../ports/audit-log.ts'
import type { Backups } from '../ports/backups.ts'
import type { ChangeBus } from '../ports/change-bus.ts'
import type { ChangeStreams } from '../ports/change-streams.ts'
import type { ClientDocuments } from '../ports/client-documents.ts'
import type { ConcurrencyLimiter } from '../ports/concurrency-limiter.ts'
import type { ConnectRequests } from '../ports/connect-requests.ts'
import type { CredentialWatch } from '../ports/credential-watch.ts'
import type { FileStore } from '../ports/files/file-store.ts'
import type { Storage } from '../ports/files/storage.ts'
import type { TextExtractor } from '../ports/files/text-extractor.ts'
import type { FrontendMigrationFile } from '../ports/frontend-migrations.ts'
import type { HealthChecks, HealthTimer } from '../ports/health.ts'
import type { JobQueue } from '../ports/job-queue.ts'
import type { AnswerStore, KeyValueStore } from '../ports/key-value-store.ts'
import type { KnowledgeIndexes } from '../ports/knowledge-indexes.ts'
import type { LocalAccounts } from '../ports/local-accounts.ts'
import type { Labels, Locale } from '../ports/locales.ts'
import type { Log } from '../ports/log.ts'
import type { LoginSources, LoginThrottle } from '../ports/login.ts'
import type { Metrics } from '../ports/metrics.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { RateLimiter } from '../ports/rate-limiter.ts'
import type { RoomAnswers } from '../ports/room-answers.ts'
import type { RoomDirectory } from '../ports/room-directory.ts'
import type { Subscriptions } from '../ports/subscriptions.ts'
import type { Vault } from '../ports/vault.ts'
import type { WebReader } from '../ports/web-reader.ts'
import type { ResourceCatalogue } from '../resource/catalogue.ts'
import type { Embedder } from './embedder.ts'
import type { Extensions } from './extension.ts'
import type { HookRegistry } from './hooks.ts'
import type { Bulkhead, InFlightLimiter, KeyedSemaphore } from './load/concurrency.ts'
import type { Pauses } from './load/pauses.ts'
import type { SingleFlight } from './load/single-flight.ts'
import type { Settings, SettingValue } from './settings.ts'

/** Services that the process provides to every call: five that nearly every procedure needs, and the others in parts. */
export interface Services {
  em: EntityManager
  sql: Sql
  settings: Settings
  log: Log
  vault: Vault
  records: RecordServices
  changes: ChangeServices
  limits: LimitServices
  stores: StoreServices
  ai: AiServices
  files: FileServices
  knowledge: KnowledgeIndexes
  login: LoginServices
  rooms: RoomServices
  texts: TextServices
  process: ProcessServices
}

/** The declared types, and the reader of results that do not fit into memory. */
export interface RecordServices {
  readInBatches: ReadInBatches
  resources: ResourceCatalogue
}

/** The services that carry changes to those who follow them, on every replica. */
export interface ChangeServices {
  bus: ChangeBus
  streams: ChangeStreams
  notifier: Notifier
  credentials: CredentialWatch
  subscriptions: Subscriptions
}

/** Limits of requests: by time on all replicas, and of those in progress in this process. */
export interface LimitServices {
  limiter: RateLimiter
  /** Counts the calls of tools by programs that speak MCP, on all replicas. */
  gatewayCalls: ConcurrencyLimiter
  /** Limits concurrent requests per person on the database, changes of shared streams, and searches per person. */
  semaphores: Record<'person' | 'change' | 'search', KeyedSemaphore>
  /** Runs comparisons for followers one after the other: however many follow, these take one connection to the database. */
  comparisons: Bulkhead
  /** Counts the uploads of this process. */
  uploads: InFlightLimiter
  /** Counts the bytes of AI requests in progress in this process, per person. */
  aiBytes: InFlightLimiter
  /** Counts the calls of models in progress in this process, per person. */
  aiCalls: InFlightLimiter
  /** Names the embedding models that have kept a search waiting. */
  embedderPauses: Pauses
}

/** Short-lived values that the replicas share. */
export interface StoreServices {
  kv: KeyValueStore
  answers: AnswerStore
  /** Cached previews of linked pages. */
  previews: AnswerStore
  /** Previews that are being read. */
  previewReads: SingleFlight<string>
}

/** Models, their tools, and the usage of both. */
export interface AiServices {
  models: ModelGateway
  /** Embeds texts for knowledge. */
  embed: Embedder
  callableModels: CallableModels
  callableAssistants: CallableAssistants
  toolServers: ToolServers
  toolUses: ToolUses
  toolLimits: ToolLimits
  callWatch: CallWatch
  /** Loads the library of the protocol at the first use. */
  toolAccounts: () => Promise<ToolAccounts>
  usageLedger: UsageLedger
  promptFiles: PromptFiles
  modelConfig: () => Promise<ModelConfig>
  /** Undefined if no file configures models. */
  modelOrigins: () => Promise<ModelOrigins | undefined>
  limitsConfig: () => Promise<LimitsConfig>
}

/** Stored files, and what is made of them. */
export interface FileServices {
  attachments: FileStore
  knowledge: FileStore
  /** Stores the sealed copies that links lead to. */
  sharedCopies: FileStore
  /** Stores the archives of personal data. */
  exports: FileStore
  /** Stores pictures and drafts. */
  storage: Storage
  textExtractor: TextExtractor
  personArchive: WritePersonArchive
  backups: Backups
}

/** Writes the archive of a person's data as a ZIP stream; stops when the signal aborts. */
type WritePersonArchive = (userId: number, signal: AbortSignal) => AsyncIterable<Uint8Array>

/** Sources that know people, and the requests of apps to be linked with them. */
export interface LoginServices {
  /** Opened lazily, before the first request. */
  sources: () => Promise<LoginSources>
  localAccounts: LocalAccounts
  throttle: LoginThrottle
  connectRequests: ConnectRequests
}

export interface RoomServices {
  directory: RoomDirectory
  /** Answers of models that are being written, by room. */
  answers: RoomAnswers
}

/** Texts and front-end migrations from the files of the operator. */
export interface TextServices {
  labels: Readonly<Record<Locale, Labels>>
  announcementText: ReadAnnouncementText
  writeAnnouncementTexts: WriteAnnouncementTexts
  frontendMigrations: () => Promise<ReadonlyMap<string, FrontendMigrationFile>>
}

/** The operation of the process, and what extensions add to it. */
export interface ProcessServices {
  hooks: HookRegistry
  extensions: Extensions
  listSettings: () => SettingValue[]
  audit: AuditLog
  metrics: Metrics
  jobQueue: JobQueue
  healthChecks: HealthChecks
  healthTimer: HealthTimer
  webReader: WebReader
  clientDocuments: ClientDocuments
}

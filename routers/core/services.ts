import type { EntityManager } from '@mikro-orm/postgresql'
import type { ReadInBatches, Sql } from '../../entities/sql/statement.ts'
import type { CallableModels } from '../ports/ai/callable-models.ts'
import type { LimitsConfig } from '../ports/ai/limits-config.ts'
import type { ModelConfig, ModelOrigins } from '../ports/ai/model-config.ts'
import type { ModelGateway } from '../ports/ai/models.ts'
import type { PromptFiles } from '../ports/ai/prompt-files.ts'
import type { ToolServers } from '../ports/ai/tool-servers.ts'
import type { UsageLedger } from '../ports/ai/usage-ledger.ts'
import type { ReadAnnouncementText, WriteAnnouncementTexts } from '../ports/announcement-texts.ts'
import type { AuditLog } from '../ports/audit-log.ts'
import type { Backups } from '../ports/backups.ts'
import type { ChangeBus } from '../ports/change-bus.ts'
import type { ChangeStreams } from '../ports/change-streams.ts'
import type { ConnectRequests } from '../ports/connect-requests.ts'
import type { CredentialWatch } from '../ports/credential-watch.ts'
import type { FileStore } from '../ports/files/file-store.ts'
import type { Storage } from '../ports/files/storage.ts'
import type { TextExtractor } from '../ports/files/text-extractor.ts'
import type { FrontendMigrationFile } from '../ports/frontend-migrations.ts'
import type { HealthChecks, HealthTimer } from '../ports/health.ts'
import type { JobQueue } from '../ports/job-queue.ts'
import type { AnswerStore, KeyValueStore } from '../ports/key-value-store.ts'
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
import type { Extensions } from './extension.ts'
import type { HookRegistry } from './hooks.ts'
import type { InFlightLimiter, KeyedSemaphore } from './load/concurrency.ts'
import type { SingleFlight } from './load/single-flight.ts'
import type { Settings, SettingValue } from './settings.ts'

/** Services that the process provides to every call. */
export interface Services {
  em: EntityManager
  sql: Sql
  readInBatches: ReadInBatches
  hooks: HookRegistry
  settings: Settings
  listSettings: () => SettingValue[]
  kv: KeyValueStore
  answers: AnswerStore
  /** Cached previews of linked pages. */
  previews: AnswerStore
  /** Previews that are being read. */
  previewReads: SingleFlight<string>
  audit: AuditLog
  backups: Backups
  metrics: Metrics
  changeBus: ChangeBus
  changeStreams: ChangeStreams
  notifier: Notifier
  credentials: CredentialWatch
  roomDirectory: RoomDirectory
  roomAnswers: RoomAnswers
  subscriptions: Subscriptions
  limiter: RateLimiter
  /** Opened lazily, before the first request. */
  loginSources: () => Promise<LoginSources>
  localAccounts: LocalAccounts
  loginThrottle: LoginThrottle
  models: ModelGateway
  callableModels: CallableModels
  toolServers: ToolServers
  modelConfig: () => Promise<ModelConfig>
  /** Undefined if no file configures models. */
  modelOrigins: () => Promise<ModelOrigins | undefined>
  limitsConfig: () => Promise<LimitsConfig>
  announcementText: ReadAnnouncementText
  writeAnnouncementTexts: WriteAnnouncementTexts
  frontendMigrations: () => Promise<ReadonlyMap<string, FrontendMigrationFile>>
  usageLedger: UsageLedger
  jobQueue: JobQueue
  textExtractor: TextExtractor
  vault: Vault
  connectRequests: ConnectRequests
  storage: Storage
  files: FileStore
  /** Stores the archives of personal data. */
  exportFiles: FileStore
  personArchive: WritePersonArchive
  promptFiles: PromptFiles
  /** Limits concurrent requests per person on the database, and concurrent changes of shared streams. */
  semaphores: Record<'person' | 'change', KeyedSemaphore>
  /** Counts the uploads of this process. */
  uploads: InFlightLimiter
  /** Counts the bytes of AI requests in progress in this process, per person. */
  aiBytes: InFlightLimiter
  /** Counts the calls of models in progress in this process, per person. */
  aiCalls: InFlightLimiter
  webReader: WebReader
  healthChecks: HealthChecks
  healthTimer: HealthTimer
  extensions: Extensions
  resources: ResourceCatalogue
  labels: Readonly<Record<Locale, Labels>>
  log: Log
}

/** Writes the archive of a person's data as a ZIP stream; stops when the signal aborts. */
type WritePersonArchive = (userId: number, signal: AbortSignal) => AsyncIterable<Uint8Array>

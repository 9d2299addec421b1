import type { EntityManager } from '@mikro-orm/postgresql'
import type { UsageType } from '../../entities/sql/columns.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { KeychainQuota } from '../identity/keychain-quota.ts'
import type { LoginThrottle } from '../identity/login-throttle.ts'
import type { AnswerStore, KeyValueStore } from '../ports/key-value-store.ts'
import type { LocalAccounts } from '../ports/local-accounts.ts'
import type { Locale } from '../ports/locales.ts'
import type { LoginSources } from '../ports/login.ts'
import type { ModelConfig } from '../ports/model-config.ts'
import type { ModelGateway } from '../ports/models.ts'
import type { Browser } from '../ports/session.ts'
import type { SessionRoll } from '../ports/session-roll.ts'
import type { Storage } from '../ports/storage.ts'
import type { UsageLog } from '../ports/usage-log.ts'
import type { Vault } from '../ports/vault.ts'
import type { ResourceCatalogue } from '../resource/catalogue.ts'
import type { RowLoader } from '../resource/row-loader.ts'
import type { PublicSettings } from '../system/config-blocks.ts'
import type { HealthChecks, HealthTimer } from '../system/health.ts'
import type { Labels } from '../system/labels/index.ts'
import type { FrontendMigrationFile } from '../system/register-frontend-migrations.ts'
import type { Caller } from './caller.ts'
import { CallerContext } from './caller.ts'
import type { Events } from './events.ts'
import type { Extensions } from './extension.ts'
import type { Allowance, RateLimiter } from './rate-limit.ts'

/** The part of the settings that rules depend on. */
export interface Settings {
  /** Of this service. */
  version: string
  baseUrl: string
  allowExternalCommunication: boolean
  allowUserTokenCreation: boolean
  aiRequestsPerMinute: number
  defaultLocale: string
  keychain: KeychainQuota
  aiUser: { name: string; username: string }
  public: PublicSettings
}

/** Takes a line for the operator: never a word that a person wrote, never a secret. */
export interface Log {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** What the process gives to every call. */
export interface Services {
  em: EntityManager
  sql: Sql
  events: Events
  settings: Settings
  kv: KeyValueStore
  answers: AnswerStore
  limiter: RateLimiter
  /** Opened when first needed, which is before the first request. */
  loginSources: () => Promise<LoginSources>
  localAccounts: LocalAccounts
  loginThrottle: LoginThrottle
  sessionRoll: SessionRoll
  models: ModelGateway
  modelConfig: () => Promise<ModelConfig>
  frontendMigrations: () => Promise<ReadonlyMap<string, FrontendMigrationFile>>
  usageLog: UsageLog
  vault: Vault
  storage: Storage
  healthChecks: HealthChecks
  healthTimer: HealthTimer
  extensions: Extensions
  resources: ResourceCatalogue
  rows: RowLoader
  labels: Readonly<Record<Locale, Labels>>
  log: Log
}

/** What is known of one call before it is handled. */
export interface Call {
  caller?: Caller | undefined
  usage?: UsageType | undefined
  /** Host access is where a call comes from, not a kind of user: no request can ask for it. */
  origin?: 'wire' | 'host' | undefined
  requestId: string
  /** Where a browser calls with its session, or could begin one. */
  browser?: Browser | undefined
  /** The default one where nothing says which. */
  locale?: string | undefined
  /** Ends when the caller goes away. */
  signal?: AbortSignal | undefined
  /** Ends the connection of the caller, who does not read what is sent. */
  hangUp?: (() => void) | undefined
}

export interface Context extends Omit<Services, 'em'> {
  /** The entity manager of this call, made when first needed and set to the rows its caller may see. */
  em(): EntityManager
  caller: CallerContext
  /** The caller whom the base procedure let in, which narrows its type. */
  readonly who: Caller
  usage: UsageType
  origin: 'wire' | 'host'
  requestId: string
  locale: string
  signal: AbortSignal
  hangUp(): void
  browser: Browser | undefined
  /** What a facade tells beside the result. */
  notes: Notes
}

export interface Notes {
  /** What is left of a rate limit, once one was counted. */
  allowance?: Allowance
  /** How many wrong places of its input the answer tells of already. */
  told?: number
  /** Set where the browser must forget all it kept of a person. */
  forget?: true
}

const never = new AbortController().signal

export function createContext(services: Services, call: Call): Context {
  const { em, ...rest } = services
  const { caller, usage = 'main', origin = 'wire', requestId, browser, signal = never, hangUp = () => {} } = call
  const { locale = services.settings.defaultLocale } = call
  const notes: Notes = {}
  const callerContext = new CallerContext(services.events, notes)
  if (caller) callerContext.become(caller)
  let own: EntityManager | undefined
  return {
    ...rest,
    em: () => (own ??= scoped(em, callerContext.current, origin)),
    caller: callerContext,
    who: callerContext.current,
    usage,
    origin,
    requestId,
    locale,
    signal,
    hangUp,
    browser,
    notes,
  }
}

/** Without a viewer, which a guest is not, every scoped query throws. */
function scoped(em: EntityManager, caller: Caller, origin: Call['origin']): EntityManager {
  const fork = em.fork()
  const viewer = origin === 'host' ? 'host' : caller.type === 'user' ? caller.person.id : undefined
  if (viewer !== undefined) fork.setFilterParams('own', { viewer })
  return fork
}

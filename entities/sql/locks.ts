import { statement } from './statement.ts'

/** Ids of the advisory locks; they must be unique. */
export const locks = {
  migrateSchema: 7_240_119,
  syncModels: 7_240_120,
  useEmbeddedDatabase: 7_240_121,
  registerFrontendMigrations: 7_240_122,
  keepPartitions: 7_240_123,
  changeLimits: 7_240_124,
  syncTools: 7_240_125,
  syncApps: 7_240_126,
  modelStatus: 7_240_127,
  changeAdministrators: 7_240_128,
  closeUsage: 7_240_129,
} as const

/** Acquires an advisory lock until the transaction ends, and waits for it. Values: the id of the lock. */
export const acquireLock = statement<never>('acquire-lock', 'select pg_advisory_xact_lock($1)')

/** Acquires an advisory lock in shared mode. Values: the id of the lock. */
export const acquireSharedLock = statement<never>('acquire-shared-lock', 'select pg_advisory_xact_lock_shared($1)')

/** Extends the timeouts of a transaction for background tasks, startup and commands. */
export const extendTimeouts = statement<never>(
  'extend-timeouts',
  `select set_config('lock_timeout', '20s', true), set_config('statement_timeout', '0', true)`,
)

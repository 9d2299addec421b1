import { statement } from './statement.ts'

/** The numbers of the advisory locks: two tasks that share one would wait for each other. */
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

/** Values: one of the numbers. Waits for whoever has the lock, and keeps it until the transaction ends. */
export const acquireLock = statement<never>('wait-for-turn', 'select pg_advisory_xact_lock($1)')

/** As `waitForTurn`, beside others who wait like this. */
export const acquireSharedLock = statement<never>('share-turn', 'select pg_advisory_xact_lock_shared($1)')

/** Lets a transaction of a task, a start or a command wait and work longer than one of a request. */
export const extendTimeouts = statement<never>(
  'be-patient',
  `select set_config('lock_timeout', '20s', true), set_config('statement_timeout', '0', true)`,
)

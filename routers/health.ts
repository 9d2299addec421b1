import { anyone, router } from './trpc.ts'

export interface HealthResult {
  name: string
  status: 'ok' | 'error'
  message: string
  /** In milliseconds; absent on failures, null for a custom check that gives none. */
  response_time?: number | null
}

export const deepChecks = ['database', 'cache', 'kvstore', 'storage'] as const
export type HealthCheckName = (typeof deepChecks)[number] | 'quick_database'

/** Each throws where its part does not work. */
export type HealthChecks = Record<HealthCheckName, () => Promise<void>>

/** Outlives the failure of database and store, and is shared by all processes of the machine. */
export interface HealthTimer {
  /** Counts this request and says whether it is the turn of a deep check. */
  deepIsDue(): Promise<boolean>
  /** Keeps the outcome of a deep check: after a failure each request is deep until one succeeds. */
  settle(failed: boolean): Promise<void>
}

const messages: Record<HealthCheckName, readonly [ok: string, error: string]> = {
  quick_database: ['The database accepts connections.', 'The database does not accept connections.'],
  database: ['The database answers.', 'The database does not answer.'],
  cache: ['The cache keeps values.', 'The cache does not keep values.'],
  kvstore: ['The key-value store answers.', 'The key-value store does not answer.'],
  storage: ['The storage directory is writable.', 'The storage directory is not writable.'],
}

export const healthRouter = router({
  check: anyone.query(async ({ ctx }) => {
    const { events, healthTimer } = ctx
    if (!(await healthTimer.deepIsDue())) return report([await run(ctx.healthChecks, 'quick_database')])
    const builtIn = await Promise.all(deepChecks.map((name) => run(ctx.healthChecks, name)))
    const results = new Map(builtIn.map((result) => [result.name as string, result]))
    await events.settle('health-check', { results })
    const health = report([...results.values()].map(complete))
    await healthTimer.settle(health.status === 'unhealthy')
    return health
  }),
})

async function run(checks: HealthChecks, name: HealthCheckName): Promise<HealthResult> {
  const [ok, error] = messages[name]
  const started = performance.now()
  try {
    await checks[name]()
    return { name, status: 'ok', message: ok, response_time: Math.round((performance.now() - started) * 100) / 100 }
  } catch {
    return { name, status: 'error', message: error }
  }
}

/** A custom result without a time says so with null; a failed one carries none. */
function complete({ name, status, message, response_time = null }: HealthResult): HealthResult {
  return status === 'error' ? { name, status, message } : { name, status, message, response_time }
}

function report(checks: HealthResult[]) {
  const status = checks.some((check) => check.status === 'error') ? 'unhealthy' : 'healthy'
  return { status, timestamp: new Date().toISOString(), checks } as const
}

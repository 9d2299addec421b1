import { z } from 'zod'
import type { Context } from '../core/context.ts'
import type { Hooks } from '../core/hooks.ts'
import { withTimeout } from '../core/timeout.ts'
import { about, anyone, router } from '../core/trpc.ts'
import { deepChecks, type HealthCheckName, HealthFailure, type HealthResult, healthResult } from '../ports/health.ts'

const healthReport = z.object({
  status: z.enum(['healthy', 'unhealthy']),
  timestamp: z.iso.datetime({ offset: true }),
  checks: z.array(healthResult),
})

/**
 * Milliseconds after which a component counts as failing. Both timeouts together stay below the ten seconds of a probe.
 */
const CHECK_TIMEOUT_MS = 4000

/** Milliseconds for the readiness check: load balancers wait a second or two. */
const READY_TIMEOUT_MS = 1500

const messages: Record<HealthCheckName, readonly [ok: string, error: string]> = {
  quick_database: ['The database accepts connections.', 'The database does not accept connections.'],
  database: ['The database answers.', 'The database does not answer.'],
  cache: ['The cache keeps values.', 'The cache does not keep values.'],
  kvstore: ['The key-value store answers.', 'The key-value store does not answer.'],
  storage: ['The storage directory is writable.', 'The storage directory is not writable.'],
}

export const healthRouter = router({
  check: anyone.meta(about('Check the parts of the service.', healthReport)).query(async ({ ctx }) => {
    const { healthTimer } = ctx.services.process
    if (!(await healthTimer.isDeepCheckDue())) return buildReport([await runCheck(ctx, 'quick_database')])
    const health = await checkParts(ctx)
    await healthTimer.recordDeepCheck(health.status === 'unhealthy')
    return health
  }),

  /**
   * Reports only on this replica: a failing Redis must not remove all replicas from the balancer, as they still serve.
   * Components with problems add their messages.
   */
  ready: anyone.meta(about('Check that the process is ready for requests.')).query(async ({ ctx }) => {
    const troubles = collectTroubles(ctx)
    return withTimeout(ctx.services.process.healthChecks.database(), READY_TIMEOUT_MS).then(
      () => ({ status: 'ready' as const, ...troubles }),
      (error: unknown) => ({
        status: 'unavailable' as const,
        message: chooseMessage(error, 'The database does not answer, or all connections are in use.'),
        ...troubles,
      }),
    )
  }),
})

/** Runs the deep check regardless of the timer. */
export const checkParts = async (ctx: Context) =>
  buildReport(await addCustomChecks(ctx, await Promise.all(deepChecks.map((name) => runCheck(ctx, name)))))

/** Collects the messages of components of this replica that are not well. */
function collectTroubles({ services }: Context): Record<string, string> {
  const parts: Hooks['replica-asked']['parts'] = {}
  services.process.hooks.emit('replica-asked', { parts })
  const troubles = Object.entries(parts).filter(([, { isWell }]) => !isWell)
  return Object.fromEntries(troubles.map(([name, { message }]) => [name, message]))
}

async function runCheck({ services }: Context, name: HealthCheckName): Promise<HealthResult> {
  const [ok, failed] = messages[name]
  const started = performance.now()
  try {
    await withTimeout(services.process.healthChecks[name](), CHECK_TIMEOUT_MS)
    return { name, status: 'ok', message: ok, response_time: Math.round((performance.now() - started) * 100) / 100 }
  } catch (error) {
    services.log.warn({ check: name, error }, 'a health check failed')
    return { name, status: 'error', message: chooseMessage(error, failed) }
  }
}

/** Returns the message of a failure that people may read; other failures have details of the host. */
const chooseMessage = (error: unknown, other: string) => (error instanceof HealthFailure ? error.message : other)

/** Adds or replaces results by listeners; a listener that fails or is slow counts as a failed check. */
async function addCustomChecks({ services }: Context, builtIn: HealthResult[]): Promise<HealthResult[]> {
  const results = new Map(builtIn.map((result) => [result.name, result]))
  try {
    await withTimeout(services.process.hooks.emitSerial('health-check', { results }), CHECK_TIMEOUT_MS)
  } catch (error) {
    services.log.warn({ check: 'custom', error }, 'a health check failed')
    results.set('custom', { name: 'custom', status: 'error', message: 'A custom check failed.' })
  }
  return [...results].map(normalizeResult)
}

/** Normalizes a result: without a time it gets null, and a failed one has none. */
function normalizeResult([name, { status, message, response_time = null }]: [string, HealthResult]): HealthResult {
  return status === 'ok' ? { name, status, message, response_time } : { name, status: 'error', message }
}

function buildReport(checks: HealthResult[]): z.output<typeof healthReport> {
  const status = checks.some((check) => check.status === 'error') ? 'unhealthy' : 'healthy'
  const timestamp = new Date().toISOString().replace('Z', '+00:00')
  return { status, timestamp, checks }
}

import { z } from 'zod'

export const healthResult = z.object({
  name: z.string(),
  status: z.enum(['ok', 'error']),
  message: z.string(),
  response_time: z
    .number()
    .nullish()
    .describe('In milliseconds; absent on failures, null for a custom check that gives none.'),
})
export type HealthResult = z.output<typeof healthResult>

export const deepChecks = ['database', 'cache', 'kvstore', 'storage'] as const
export type HealthCheckName = (typeof deepChecks)[number] | 'quick_database'

/** Each throws where its part does not work. */
export type HealthChecks = Record<HealthCheckName, () => Promise<void>>

/** Outlives the failure of database and store, and is shared by all processes of the machine. */
export interface HealthTimer {
  /** Counts this request and says whether it is the turn of a deep check. */
  isDeepCheckDue(): Promise<boolean>
  /** Keeps the outcome of a deep check: after a failure each request is deep until one succeeds. */
  recordDeepCheck(failed: boolean): Promise<void>
}

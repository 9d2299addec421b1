import { z } from 'zod'

export const healthResult = z.object({
  name: z.string(),
  status: z.enum(['ok', 'error']),
  message: z.string(),
  response_time: z
    .number()
    .nullish()
    .describe(
      'The duration of the check in milliseconds. Absent if the check failed, and null for a custom check that reports none.',
    ),
})
export type HealthResult = z.output<typeof healthResult>

export const deepChecks = ['database', 'cache', 'kvstore', 'storage'] as const
export type HealthCheckName = (typeof deepChecks)[number] | 'quick_database'

/** The failure of a check whose message people may read. */
export class HealthFailure extends Error {
  override name = 'HealthFailure'
}

/** Checks of the service's parts, which throw if the part does not work. */
export type HealthChecks = Record<HealthCheckName, () => Promise<void>>

/** Schedules deep checks; it is shared by all processes of the machine and survives outages of database and store. */
export interface HealthTimer {
  /** Counts a request, and returns true if it must make a deep check. */
  isDeepCheckDue(): Promise<boolean>
  /** Stores the result of a deep check: after a failure every request makes one until one succeeds. */
  recordDeepCheck(failed: boolean): Promise<void>
}

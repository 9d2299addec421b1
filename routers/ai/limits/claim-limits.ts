import { claimLimitsOf, unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import { locks, waitForTurn } from '../../../entities/sql/locks.ts'
import type { Hooks } from '../../core/hooks.ts'

/** Limits that the file has for a name hold from the moment that somebody has it. */
export async function claimLimits({ subject, id, name, em }: Hooks['caller-added']): Promise<void> {
  await em.execute(waitForTurn, [locks.changeLimits])
  await em.execute(claimLimitsOf, [`${id}`, subject, unclaimed(name)])
}

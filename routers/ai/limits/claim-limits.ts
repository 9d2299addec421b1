import { claimLimitsOf, returnLimitsOf, unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import { locks, shareTurn } from '../../../entities/sql/locks.ts'
import type { NamedCaller } from '../../core/hooks.ts'
import { runNamed } from '../../core/run-named.ts'

/** Limits that the file has for a name hold from the moment that somebody has it. */
export async function claimLimits({ subject, id, name, em }: NamedCaller): Promise<void> {
  // The limits don't change meanwhile; of one name only one transaction disposes at a time.
  await runNamed(em, shareTurn, [locks.changeLimits])
  await em.execute(claimLimitsOf, [`${id}`, subject, unclaimed(name)])
}

/** Limits that the file has for a name wait for whoever has it next. */
export async function returnLimits({ subject, id, name, em }: NamedCaller): Promise<void> {
  await runNamed(em, shareTurn, [locks.changeLimits])
  await em.execute(returnLimitsOf, [unclaimed(name), subject, `${id}`])
}

import { claimLimits, returnLimits, unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import { locks, shareTurn } from '../../../entities/sql/locks.ts'
import type { NamedCaller } from '../../core/hooks.ts'
import { runStatement } from '../../core/run-statement.ts'

/** Limits that the file has for a name hold from the moment that somebody has it. */
export async function claimNamedLimits({ subject, id, name, em }: NamedCaller): Promise<void> {
  // The limits don't change meanwhile; of one name only one transaction disposes at a time.
  await runStatement(em, shareTurn, [locks.changeLimits])
  await runStatement(em, claimLimits, [`${id}`, subject, unclaimed(name)])
}

/** Limits that the file has for a name wait for whoever has it next. */
export async function returnNamedLimits({ subject, id, name, em }: NamedCaller): Promise<void> {
  await runStatement(em, shareTurn, [locks.changeLimits])
  await runStatement(em, returnLimits, [unclaimed(name), subject, `${id}`])
}

import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { claimLimits, raiseLimitVersion, returnLimits, unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import type { UsageLimit } from '../../../entities/ai/usage-limit.ts'
import { locks, shareTurn, waitForTurn } from '../../../entities/sql/locks.ts'
import { transact } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { NamedCaller } from '../../core/hooks.ts'
import { Problem } from '../../core/problems.ts'
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

/** One change of the limits after the other, each of which all processes see. */
export const changeLimits = <Result>(ctx: Context, work: (em: EntityManager) => Promise<Result>): Promise<Result> =>
  transact(ctx, undefined, async (em) => {
    await runStatement(em, waitForTurn, [locks.changeLimits])
    await runStatement(em, raiseLimitVersion, [])
    return work(em)
  })

export const limitName = z.string().trim().min(1).max(80)

export const noLimit = (name: string) => new Problem('not_found', { detail: `There is no limit named '${name}'.` })

/** Tells the audit log of a change of a limit: of the person, where it is for one. */
export function noteLimit({ act }: Context, limit: NamedLimit, change: object): void {
  const { name, subject, subjectId } = limit
  const isPersonal = subject === 'user' && subjectId
  act?.concern(isPersonal ? `user:${subjectId}` : `limits:${name}`).note({ limit: name, ...change })
}

type NamedLimit = Pick<UsageLimit, 'name' | 'subject' | 'subjectId'>

import type { EntityManager } from '@mikro-orm/postgresql'
import { raiseLimitVersion } from '../../../entities/ai/usage-limit.sql.ts'
import { locks, waitForTurn } from '../../../entities/sql/locks.ts'
import { transact } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { runStatement } from '../../core/run-statement.ts'

/** One change of the limits after the other, each of which all processes see. */
export const changeLimits = <Result>(ctx: Context, work: (em: EntityManager) => Promise<Result>): Promise<Result> =>
  transact(ctx, undefined, async (em) => {
    await runStatement(em, waitForTurn, [locks.changeLimits])
    await runStatement(em, raiseLimitVersion, [])
    return work(em)
  })

import { z } from 'zod'
import { openCounters, topUpCounter } from '../../../entities/ai/usage-counter.sql.ts'
import { unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import { type LimitSubject, UsageLimit } from '../../../entities/ai/usage-limit.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { limitSubjectExists } from '../../../entities/views/limit-subject.sql.ts'
import { Problem } from '../../core/problems.ts'
import { inTransaction } from '../../core/run-statement.ts'
import { freshAdmin } from '../../core/trpc.ts'
import { changeLimits, limitName, noLimit, noteLimit } from './claim-limits.ts'
import { idOfNamed, nouns } from './limit-columns.ts'

/** Gives more of a limit for the period that runs, also before its first call; as much again with each call. */
export const topUp = freshAdmin
  .input(
    z.strictObject({ name: limitName, amount: z.number().positive().max(1e12), id: z.string().max(200).default('') }),
  )
  .mutation(({ ctx, input: { name, amount, id } }) =>
    changeLimits(ctx, async (em) => {
      const limit = await em.findOne(UsageLimit, { name })
      if (!limit) throw noLimit(name)
      const sql = inTransaction(em)
      const subjectId = chooseSubject(limit, await idOfNamed(sql, limit.subject, id))
      const values = [limit.id, subjectId, toppingUp(limit, amount)] as const
      noteLimit(ctx, { ...limit, subjectId }, { added: amount })
      const topped = (await sql(topUpCounter, values))[0] ?? (await openAndTopUp(sql, limit, values))
      if (!topped) throw noLimit(name)
      const { isTooMuch, ...result } = topped
      if (isTooMuch) throw invalid('amount', 'is too large')
      return result
    }),
  )

type Values = readonly [limit: number, subjectId: string, added: number]

/** First makes the counters that the first call of the period would make. */
async function openAndTopUp(sql: Sql, { subject, subjectId }: UsageLimit, values: Values) {
  const [id, of] = values
  if (subjectId === null && subject !== 'installation') {
    const [found] = await sql(limitSubjectExists, [subject, of])
    if (!found?.exists) throw noSuch(subject, of)
  }
  await sql(openCounters, [[id], [of]])
  return (await sql(topUpCounter, values))[0]
}

/** Whose counter it is; throws where that is not said, is another one's, or nobody is there yet. */
function chooseSubject({ name, subject, subjectId }: UsageLimit, id: string): string {
  const only = subject === 'installation' ? '' : subjectId
  if (only !== null && id !== '' && id !== only)
    throw invalid('id', `must be absent: the limit is for one ${subject} alone`)
  const of = only ?? id
  if (of === '' && subject !== 'installation') throw invalid('id', `is required: which ${subject} gets it`)
  const waits = nouns[subject] !== undefined && of.startsWith(unclaimed(''))
  if (!waits) return of
  const detail = `The limit '${name}' is for the ${subject} ${of.slice(unclaimed('').length)}, which is not there yet.`
  throw new Problem('not_found', { detail: `${detail} Top it up once it is.` })
}

function noSuch(subject: LimitSubject, of: string): Problem {
  const noun = subject === 'token' || /^\d+$/.test(of) ? 'id' : nouns[subject]
  const called = ['room', 'app', 'user', 'token'].includes(subject) ? `with the ${noun}` : 'named'
  return new Problem('not_found', { detail: `There is no ${subject} ${called} '${of}'.` })
}

/** In the unit that counters have. */
function toppingUp({ unit }: UsageLimit, amount: number): number {
  const added = Math.round(amount * (unit === 'money' ? 1_000_000 : 1))
  if (unit !== 'money' && added !== amount) throw invalid('amount', 'must be a whole number')
  if (added === 0) throw invalid('amount', 'is too small')
  return added
}

const invalid = (field: 'id' | 'amount', message: string) =>
  new Problem('invalid', { issues: [{ path: [field], message }] })

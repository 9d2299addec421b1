import type { Measure } from '../../entities/ai/usage-hold.ts'
import type { ActiveLimit } from '../../entities/ai/usage-limit.sql.ts'
import type { HoldRequest } from '../ports/ai/usage-ledger.ts'

type Matched = Pick<ActiveLimit, 'subject' | 'subjectId' | 'unit' | 'currency' | 'unpricedCost'>

/** A part of a limit that a call asks for; the amount is null where its price is unknown. */
export interface Claim<Limit extends Matched> {
  limit: Limit
  subjectId: string
  amount: number | null
  measure: Measure
}

/** Limits by whom they are for, so that a call finds its own among many. */
export class LimitIndex<Limit extends Matched> {
  readonly #limits: Map<string, Limit[]>

  constructor(limits: readonly Limit[]) {
    this.#limits = Map.groupBy(limits, ({ subject, subjectId }) => keyOf(subject, subjectId))
  }

  /** What a call asks of every limit that applies to it. */
  claimsOf({ subjects, ...most }: Omit<HoldRequest, 'call' | 'catalogue'>): Claim<Limit>[] {
    if (this.#limits.size === 0) return []
    return subjects.flatMap(([subject, subjectId]) =>
      [...(this.#limits.get(keyOf(subject, null)) ?? []), ...(this.#limits.get(keyOf(subject, subjectId)) ?? [])].map(
        (limit) => ({ limit, subjectId, ...partOf(limit, most) }),
      ),
    )
  }
}

/** Kinds of subjects have no space. */
const keyOf = (subject: string, subjectId: string | null) => (subjectId === null ? subject : `${subject} ${subjectId}`)

function partOf(
  { unit, currency, unpricedCost }: Matched,
  most: Pick<HoldRequest, 'tokens' | 'costMicros' | 'currency'>,
): Pick<Claim<Matched>, 'amount' | 'measure'> {
  if (unit === 'requests') return { amount: 1, measure: 'amount' }
  if (unit === 'tokens') return { amount: most.tokens, measure: 'tokens' }
  if (most.costMicros === 0 || most.currency === currency) return { amount: most.costMicros, measure: 'cost' }
  return { amount: unpricedCost, measure: unpricedCost === null ? 'unpriced' : 'amount' }
}

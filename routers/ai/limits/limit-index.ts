import type { ActiveLimit } from '../../../entities/ai/usage-limit.sql.ts'
import type { Measure } from '../../../entities/ai/usage-reservation.ts'
import type { ReserveRequest, SubjectId } from '../../ports/ai/usage-ledger.ts'

type LimitFields = Pick<ActiveLimit, 'subject' | 'subjectId' | 'unit' | 'currency' | 'unpricedCost'>

/** True if a limit counts calls of tools, and not of models. */
export const countsTools = ({ unit }: Pick<ActiveLimit, 'unit'>): boolean => unit === 'calls'

/** A limit with the subject that it counts. */
export interface SubjectLimit<Limit> {
  limit: Limit
  subjectId: string
}

/** An amount that a call takes of a limit; null if its price or maximum is unknown. */
export interface Claim<Limit extends LimitFields> extends SubjectLimit<Limit> {
  amount: number | null
  measure: Measure
}

/** Limits of one kind of subject: `each` applies to every subject separately, `named` to one. */
interface SubjectLimits<Limit> {
  each: Limit[]
  named: Map<string, Limit[]>
}

/** Index of limits by subject, so that a call finds its own among many. */
export class LimitIndex<Limit extends LimitFields> {
  readonly #limits = new Map<string, SubjectLimits<Limit>>()

  constructor(limits: readonly Limit[]) {
    for (const [subject, all] of Map.groupBy(limits, (limit) => limit.subject)) {
      const { each = [], named = [] } = Object.groupBy(all, ({ subjectId }) => (subjectId === null ? 'each' : 'named'))
      this.#limits.set(subject, { each, named: Map.groupBy(named, ({ subjectId }) => subjectId ?? '') })
    }
  }

  /** Returns what a call takes of each limit that applies to it. */
  listClaims(request: Omit<ReserveRequest, 'call' | 'catalogue'>): Claim<Limit>[] {
    return this.listLimits(request.subjects).map(({ limit, subjectId }) => ({
      limit,
      subjectId,
      ...computeClaim(limit, request),
    }))
  }

  /** Returns the limits that apply to these subjects, each with the subject that it counts. */
  listLimits(subjects: readonly SubjectId[]): SubjectLimit<Limit>[] {
    const found: SubjectLimit<Limit>[] = []
    for (const [subject, subjectId] of subjects) {
      const { each, named } = this.#limits.get(subject) ?? noLimits
      for (const limits of [each, named.get(subjectId) ?? []])
        for (const limit of limits) found.push({ limit, subjectId })
    }
    return found
  }
}

const noLimits = { each: [], named: new Map<string, never>() }

function computeClaim(
  { unit, currency, unpricedCost }: LimitFields,
  maximum: Pick<ReserveRequest, 'tokens' | 'costMicros' | 'currency'>,
): Pick<Claim<LimitFields>, 'amount' | 'measure'> {
  if (unit === 'requests' || unit === 'calls') return { amount: 1, measure: 'amount' }
  if (unit === 'tokens') return { amount: maximum.tokens, measure: 'tokens' }
  if (maximum.costMicros === 0 || maximum.currency === currency) return { amount: maximum.costMicros, measure: 'cost' }
  return { amount: unpricedCost, measure: unpricedCost === null ? 'unpriced' : 'amount' }
}

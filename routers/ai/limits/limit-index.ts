import type { ActiveLimit } from '../../../entities/ai/usage-limit.sql.ts'
import type { Measure } from '../../../entities/ai/usage-reservation.ts'
import type { ReserveRequest } from '../../ports/ai/usage-ledger.ts'

type Matched = Pick<ActiveLimit, 'subject' | 'subjectId' | 'unit' | 'currency' | 'unpricedCost'>

/** A part of a limit that a call asks for; the amount is null where its price or its most is unknown. */
export interface Claim<Limit extends Matched> {
  limit: Limit
  subjectId: string
  amount: number | null
  measure: Measure
}

/** The limits of a kind of subject: those that each one has of its own, and those of one of them. */
interface OfSubject<Limit> {
  each: Limit[]
  named: Map<string, Limit[]>
}

/** Limits by whom they are for, so that a call finds its own among many. */
export class LimitIndex<Limit extends Matched> {
  readonly #limits = new Map<string, OfSubject<Limit>>()

  constructor(limits: readonly Limit[]) {
    for (const [subject, all] of Map.groupBy(limits, (limit) => limit.subject)) {
      const { each = [], named = [] } = Object.groupBy(all, ({ subjectId }) => (subjectId === null ? 'each' : 'named'))
      this.#limits.set(subject, { each, named: Map.groupBy(named, ({ subjectId }) => subjectId ?? '') })
    }
  }

  /** Whether any limit applies to a call. */
  appliesTo({ subjects }: Pick<ReserveRequest, 'subjects'>): boolean {
    return subjects.some(([subject, subjectId]) => {
      const found = this.#limits.get(subject)
      return found !== undefined && (found.each.length > 0 || found.named.has(subjectId))
    })
  }

  /** What a call asks of every limit that applies to it. */
  claimsOf(request: Omit<ReserveRequest, 'call' | 'catalogue' | 'callerVersion'>): Claim<Limit>[] {
    const claims: Claim<Limit>[] = []
    for (const [subject, subjectId] of request.subjects) {
      const { each, named } = this.#limits.get(subject) ?? none
      for (const limits of [each, named.get(subjectId) ?? []])
        for (const limit of limits) claims.push({ limit, subjectId, ...countClaim(limit, request) })
    }
    return claims
  }
}

const none = { each: [], named: new Map<string, never>() }

function countClaim(
  { unit, currency, unpricedCost }: Matched,
  most: Pick<ReserveRequest, 'tokens' | 'costMicros' | 'currency'>,
): Pick<Claim<Matched>, 'amount' | 'measure'> {
  if (unit === 'requests') return { amount: 1, measure: 'amount' }
  if (unit === 'tokens') return { amount: most.tokens, measure: 'tokens' }
  if (most.costMicros === 0 || most.currency === currency) return { amount: most.costMicros, measure: 'cost' }
  return { amount: unpricedCost, measure: unpricedCost === null ? 'unpriced' : 'amount' }
}

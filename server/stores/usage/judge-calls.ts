import type { RequestedLimit } from '../../../entities/ai/usage-reservation.sql.ts'
import { hasRoom, QuotaExceeded } from '../../../routers/ports/ai/usage-ledger.ts'

/** A call with what it takes of each counter; null if that is unknown. */
interface Claimant {
  claims: readonly { counter: number; amount: number | null }[]
}

/** Accepts calls one after the other as long as all enforced limits have room; refuses the others. */
export function judgeOneByOne<Call extends Claimant>(
  calls: readonly Call[],
  states: ReadonlyMap<number, RequestedLimit>,
) {
  const fitting: Call[] = []
  const refused = new Map<Call, QuotaExceeded>()
  for (const call of calls) {
    const requested = call.claims.flatMap(({ counter, amount }) => {
      const state = states.get(counter)
      return state ? { ...state, amount } : []
    })
    if (requested.some(isFull)) {
      refused.set(call, new QuotaExceeded(requested))
      continue
    }
    fitting.push(call)
    for (const { counter, amount } of requested) {
      const state = states.get(counter)
      if (state) state.held += amount ?? 0
    }
  }
  return { fitting, refused }
}

/** Accepts all calls if the enforced limits have room for what they take together, or refuses the first one with these sums. */
export function judgeTogether<Call extends Claimant>(
  calls: readonly Call[],
  states: ReadonlyMap<number, RequestedLimit>,
) {
  const requested = [...states].flatMap(([counter, state]) => {
    const amounts = calls.flatMap(({ claims }) => claims.filter((claim) => claim.counter === counter))
    if (amounts.length === 0) return []
    const isUnknown = amounts.some(({ amount }) => amount === null)
    return { ...state, amount: isUnknown ? null : amounts.reduce((sum, { amount }) => sum + (amount ?? 0), 0) }
  })
  const [first] = calls
  const isRefused = first !== undefined && requested.some(isFull)
  return {
    fitting: isRefused ? [] : [...calls],
    refused: new Map(isRefused ? [[first, new QuotaExceeded(requested)]] : []),
  }
}

/** True if the limit refuses the call. */
export const isFull = (limit: RequestedLimit): boolean => limit.mode === 'enforce' && !hasRoom(limit)

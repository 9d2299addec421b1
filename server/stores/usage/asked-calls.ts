import type { CounterRow } from '../../../entities/ai/usage-counter.sql.ts'
import type { HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'
import type { Claim } from './limit-book.ts'

export interface ClaimedCounter extends Claim {
  /** Of the stripe that was chosen. */
  id: number
  counters: CounterRow
}

/** A call, and the counters that it asks a part of. */
export interface AskedCall {
  request: HoldRequest
  claims: ClaimedCounter[]
}

/** What all calls ask of a counter, which is unknown where it is for one of them. */
export interface AskedSum {
  id: number
  amount: number | null
  claim: ClaimedCounter
}

/** Each counter once, in the order of their ids. */
export function sumsOf(calls: readonly AskedCall[]): AskedSum[] {
  const sums = new Map<number, AskedSum>()
  for (const { claims } of calls)
    for (const claim of claims) {
      const { id, amount } = claim
      const sum = sums.get(id)
      if (sum) sum.amount = plus(sum.amount, amount)
      else sums.set(id, { id, amount, claim })
    }
  return [...sums.values()].sort((one, other) => one.id - other.id)
}

const plus = (one: number | null, other: number | null) => (one === null || other === null ? null : one + other)

/** As the statements take it. */
export const callOf = ({ request: { call, callerVersion }, claims }: AskedCall, n: number) => ({
  n,
  callerVersion,
  ...call,
  counters: claims.map(({ id }) => id),
  amounts: claims.map(({ amount }) => amount ?? 0),
  unknown: claims.map(({ amount }) => amount === null),
  measures: claims.map(({ measure }) => measure),
})

/** The values of the statements that hold, after the lease and the version. */
export const valuesOf = (calls: readonly AskedCall[], sums: readonly AskedSum[]): unknown[] => [
  sums.map(({ id }) => id),
  sums.map(({ amount }) => amount),
  sums.map(({ claim }) => claim.limit.cap),
  JSON.stringify(calls.map(callOf)),
  sums.length,
]

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

interface AskedSum {
  id: number
  amount: number | null
  claim: ClaimedCounter
}

/** Each counter once, by its id, with what all calls ask of it, which is unknown where it is for one of them. */
export function sumsOf(judged: readonly AskedCall[]): Map<number, AskedSum> {
  const sums = new Map<number, AskedSum>()
  for (const { claims } of judged)
    for (const claim of claims) {
      const { id, amount } = claim
      const before = sums.get(id)?.amount
      sums.set(id, { id, claim, amount: amount === null || before === null ? null : amount + (before ?? 0) })
    }
  return sums
}

/** As the statements take it. */
export const callOf = ({ request: { call }, claims }: AskedCall, n: number) => ({
  n,
  ...call,
  counters: claims.map(({ id }) => id),
  amounts: claims.map(({ amount }) => amount ?? 0),
  measures: claims.map(({ measure }) => measure),
})

/** The values of the statements that hold, after the lease and the version. */
export function valuesOf(calls: readonly AskedCall[], isDue: (claim: ClaimedCounter) => boolean): unknown[] {
  const sums = [...sumsOf(calls).values()]
  return [
    sums.map(({ id }) => id),
    sums.map(({ amount }) => amount),
    sums.map(({ claim }) => claim.limit.cap),
    JSON.stringify(calls.map(callOf)),
    sums.length,
    sums.map(({ claim }) => claim.limit.mode === 'observe'),
    sums.map(({ claim }) => isDue(claim)),
  ]
}

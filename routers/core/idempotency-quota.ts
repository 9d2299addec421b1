import type { Context } from './context.ts'
import { Problem } from './problems.ts'

const DAY_SECONDS = 24 * 60 * 60

/** Of a body that is kept, in characters: most resources have less than a tenth of it. */
const MAX_PAYLOAD = 16 * 1024
/** Of each person in a day: keys, and characters of bodies that are kept. */
const MAX_KEYS = 5000
const MAX_KEPT = 2 * 1024 * 1024

/** A key that could not be remembered for a day would promise too much: the request is refused before it is carried out. */
export async function takeKey({ services, hints }: Context, owner: string): Promise<void> {
  const allowance = await services.limiter.take(keysOf(owner), MAX_KEYS, DAY_SECONDS)
  if (allowance.remaining >= 0) return
  hints.rateLimit = allowance
  throw new Problem('too_many_requests', { detail: `At most ${MAX_KEYS} idempotency keys are kept for you in a day.` })
}

export const giveKeyBack = ({ services }: Context, owner: string): Promise<void> =>
  services.limiter.giveBack(keysOf(owner), MAX_KEYS, DAY_SECONDS)

/** Whether the body of an answer may be kept, which then counts. */
export async function takeRoom({ services }: Context, owner: string, payload: string): Promise<boolean> {
  if (payload.length > MAX_PAYLOAD) return false
  const allowance = await services.limiter.take(`idempotency:kept:${owner}`, MAX_KEPT, DAY_SECONDS, payload.length)
  return allowance.remaining >= 0
}

const keysOf = (owner: string) => `idempotency:keys:${owner}`

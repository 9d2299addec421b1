import type { RequestedLimit } from '../../entities/ai/usage-reservation.sql.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { hasRoom, type LimitLeft, type QuotaExceeded, type Reservation } from '../ports/ai/usage-ledger.ts'

/** When only calls under way stand in the way, in seconds. */
const RETRY_SOON_SECONDS = 2

/** How long a limit refuses a call, longest last: while others are under way, until the period ends, or always. */
const lengths = ['held', 'spent', 'never'] as const

type Length = (typeof lengths)[number]

/** Of several limits that refuse, the one is told that does so longest: nothing succeeds before. */
export function quotaProblem(
  ctx: Pick<Context, 'hints' | 'services'>,
  { limits }: QuotaExceeded,
  unknown: Unknown = 'model',
): Problem {
  const enforced = limits.filter(({ mode }) => mode === 'enforce')
  ctx.hints.limits = enforced.map((limit) => toLimitLeft(limit, 0))
  const [last] = enforced.filter((limit) => !hasRoom(limit)).toSorted(byEnd)
  if (!last) return new Problem('unavailable')
  ctx.services.metrics.countRefusal(last.name)
  const { cap, used, held, resetsAt } = last
  const length = chooseSentence(last)
  const resetSeconds = Math.max(1, Math.ceil((resetsAt - Date.now()) / 1000))
  ctx.hints.isFinal = length !== 'held'
  ctx.hints.retryAfterSeconds = { held: RETRY_SOON_SECONDS, spent: resetSeconds, never: null }[length]
  ctx.hints.rateLimit = { limit: cap, remaining: Math.max(0, cap - used - held), resetSeconds }
  return new Problem(length === 'held' ? 'limit_held' : 'limit_reached', { detail: sentences[length](last, unknown) })
}

function chooseSentence({ amount, used, cap, nextCap }: RequestedLimit): Length {
  if (amount === null) return 'never'
  if (used + amount <= cap) return 'held'
  return amount > nextCap ? 'never' : 'spent'
}

/** What may be not known of a call: the price of the model, what its search may cost, or how much it reads in pages. */
export type Unknown = 'model' | 'search' | 'pages'

const sentences: Record<Length, (limit: RequestedLimit, unknown: Unknown) => string> = {
  held: (limit) =>
    `The limit '${limit.name}' has no room for ${limit.amount} more until calls under way end: ${toState(limit)}.`,
  spent: (limit) =>
    `The limit '${limit.name}' has no room for ${limit.amount} more: ${toState(limit)}. It frees at ${new Date(limit.resetsAt).toISOString()}.`,
  never: (limit, unknown) => (limit.amount === null ? unknownTo(limit, unknown) : tooLargeFor(limit)),
}

const unknownCosts: Record<Unknown, (currency: string) => string> = {
  model: (currency) => `what this model costs in ${currency} is not known`,
  search: (currency) => `the most that this model and its web search may cost in ${currency} is not known`,
  pages: (currency) => `what this model may cost in ${currency} with the pages that it reads is not known`,
}

const unknownTo = ({ name, unit, currency }: RequestedLimit, unknown: Unknown) =>
  unit === 'money'
    ? `The limit '${name}' is in money, and ${unknownCosts[unknown](`${currency}`)}.`
    : `The limit '${name}' is in tokens, and how many this model may read in pages is not known.`

function tooLargeFor(limit: RequestedLimit): string {
  const { name, unit, amount, cap, nextCap } = limit
  const whole = `${nextCap} ${measured(limit)}${cap > nextCap ? ', without what was topped up' : ''}`
  if (nextCap === 0) return `The limit '${name}' lets no call through: it is ${whole}.`
  return unit === 'money'
    ? `This call may cost ${amount}, and the limit '${name}' is ${whole}. Send less, ask for a shorter answer, or ask another model.`
    : `This call may take ${amount}, and the limit '${name}' is ${whole}. Send less, or ask for a shorter answer.`
}

const toState = (limit: RequestedLimit) =>
  `${limit.used} used and ${limit.held} held by calls under way, of ${limit.cap} ${measured(limit)}`

const measured = ({ unit, currency, period }: RequestedLimit) =>
  `${unit === 'money' ? `millionths of ${currency}` : unit} a ${period}`

const byEnd = (one: RequestedLimit, other: RequestedLimit) =>
  lengths.indexOf(chooseSentence(other)) - lengths.indexOf(chooseSentence(one)) ||
  (one.resetsAt < other.resetsAt ? 1 : -1)

/** What is left of the limits that are enforced, once the call is reserved for. */
export const listRemaining = ({ limits }: Reservation): LimitLeft[] =>
  limits.filter(({ mode }) => mode === 'enforce').map((limit) => toLimitLeft(limit, limit.amount ?? 0))

const toLimitLeft = (
  { name, unit, currency, cap, used, held, windowSeconds, resetsAt }: RequestedLimit,
  reserved: number,
): LimitLeft => ({ name, unit, currency, cap, windowSeconds, left: cap - used - held - reserved, resetsAt })

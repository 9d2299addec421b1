import type { ResponseHints } from '../../routers/core/hooks.ts'

type LimitLeft = NonNullable<ResponseHints['limits']>[number]

/** `RateLimit-Policy` says what the limits are, `RateLimit` what is left of them, as the IETF draft on rate limit headers has it. */
export function limitHeaders({ limits = [], isFinal, answeredBy }: ResponseHints): Record<string, string> {
  return {
    ...(limits.length > 0 && {
      'ratelimit-policy': limits.map((limit) => nameOf(limit) + policyOf(limit)).join(', '),
      ratelimit: limits.map((limit) => nameOf(limit) + stateOf(limit)).join(', '),
    }),
    ...(answeredBy && { 'x-answered-by': encodeURI(answeredBy) }),
    // Client libraries would repeat it by themselves.
    ...(isFinal && { 'x-should-retry': 'false' }),
  }
}

const policyOf = ({ cap, windowSeconds, unit, currency }: LimitLeft) =>
  `;q=${integer(cap)};w=${integer(windowSeconds)}${unit === 'requests' ? '' : `;qu="${unit === 'tokens' ? unit : `${currency}-millionths`}"`}`

const stateOf = ({ left, resetsAt }: LimitLeft) =>
  `;r=${integer(left)};t=${integer(Math.ceil((resetsAt - Date.now()) / 1000))}`

/** An integer of a structured field has fifteen digits at most. */
const MAX_INTEGER = 999_999_999_999_999

const integer = (value: number) => Math.min(Math.max(0, value), MAX_INTEGER)

/** The text of a structured field has only ASCII letters. */
const nameOf = ({ name }: LimitLeft) => `"${name.replaceAll(/[^ -~]/gu, encodeURIComponent)}"`

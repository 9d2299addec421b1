import type { FastifyReply } from 'fastify'
import type { ResponseHints } from '../../routers/core/hooks.ts'
import type { RateLimitStatus } from '../../routers/ports/rate-limiter.ts'

type LimitLeft = NonNullable<ResponseHints['limits']>[number]

/** `RateLimit-Policy` says what the limits are, `RateLimit` what is left of them, as the IETF draft on rate limit headers has it. */
export function toLimitHeaders({
  limits = [],
  isFinal,
  answeredBy,
  ignoredParameters = [],
}: ResponseHints): Record<string, string> {
  return {
    ...(limits.length > 0 && {
      'ratelimit-policy': limits.map((limit) => writeName(limit) + writePolicy(limit)).join(', '),
      ratelimit: limits.map((limit) => writeName(limit) + writeState(limit)).join(', '),
    }),
    ...(answeredBy && { 'x-answered-by': encodeURI(answeredBy) }),
    ...(ignoredParameters.length > 0 && { 'x-ignored-parameters': writeNames(ignoredParameters) }),
    // Client libraries would repeat it by themselves.
    ...(isFinal && { 'x-should-retry': 'false' }),
  }
}

const MAX_NAMES = 20
const MAX_NAME = 64

/** As many names as a header has room for, and the number of the others. */
function writeNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return [...names.slice(0, MAX_NAMES).map(encodeName), ...(more > 0 ? [`+${more}`] : [])].join(', ')
}

/** A name cut to its length before a character that is not whole. */
function encodeName(name: string): string {
  let encoded = ''
  for (const character of name) {
    const next = encoded + encodeURIComponent(character)
    if (next.length > MAX_NAME) break
    encoded = next
  }
  return encoded
}

const writePolicy = ({ cap, windowSeconds, unit, currency }: LimitLeft) =>
  `;q=${clampInteger(cap)};w=${clampInteger(windowSeconds)}${unit === 'requests' ? '' : `;qu="${unit === 'tokens' ? unit : `${currency}-millionths`}"`}`

const writeState = ({ left, resetsAt }: LimitLeft) =>
  `;r=${clampInteger(left)};t=${clampInteger(Math.ceil((resetsAt - Date.now()) / 1000))}`

/** An integer of a structured field has fifteen digits at most. */
const MAX_INTEGER = 999_999_999_999_999

const clampInteger = (value: number) => Math.min(Math.max(0, value), MAX_INTEGER)

/** The text of a structured field has only ASCII letters. */
const writeName = ({ name }: LimitLeft) => `"${name.replaceAll(/[^ -~]/gu, encodeURIComponent)}"`

/** What is left of a rate limit, and when to come again where nothing is. */
export function setRateLimitHeaders(reply: FastifyReply, allowance: RateLimitStatus | undefined): void {
  if (!allowance) return
  const { limit, remaining, resetSeconds } = allowance
  reply.headers({
    'ratelimit-limit': limit,
    'ratelimit-remaining': Math.max(0, remaining),
    'ratelimit-reset': resetSeconds,
    ...(remaining < 0 && { 'retry-after': resetSeconds }),
  })
}

/** When to try again what cannot be served now. */
const RETRY_AFTER_SECONDS = 5

/** Sets `Retry-After` where a refusal passes by itself, unless it is set. */
export function setRetryAfter(reply: FastifyReply, hints: ResponseHints | undefined): void {
  if (reply.hasHeader('retry-after')) return
  if (reply.statusCode === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  if (reply.statusCode !== 429 || hints?.retryAfterSeconds === null) return
  reply.header('retry-after', hints?.retryAfterSeconds ?? hints?.rateLimit?.resetSeconds ?? 60)
}

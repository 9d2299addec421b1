import type { FastifyReply } from 'fastify'
import type { ResponseHints } from '../../routers/core/hooks.ts'
import type { RateLimitStatus } from '../../routers/ports/rate-limiter.ts'

type LimitLeft = NonNullable<ResponseHints['limits']>[number]

/** Writes `RateLimit-Policy` with the limits and `RateLimit` with their state, as in the IETF draft. */
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
    // Client libraries would retry automatically.
    ...(isFinal && { 'x-should-retry': 'false' }),
  }
}

const MAX_NAMES = 20
const MAX_NAME = 64

/** Writes as many names as fit into a header, and the number of the others. */
function writeNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return [...names.slice(0, MAX_NAMES).map(encodeName), ...(more > 0 ? [`+${more}`] : [])].join(', ')
}

/** Encodes a name, truncated at a whole character. */
function encodeName(name: string): string {
  let encoded = ''
  for (const character of name.toWellFormed()) {
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

/** The largest integer of a structured field. */
const MAX_INTEGER = 999_999_999_999_999

const clampInteger = (value: number) => Math.min(Math.max(0, value), MAX_INTEGER)

/** Writes a name as a structured field, which is ASCII only. */
const writeName = ({ name }: LimitLeft) => `"${name.replaceAll(/[^ -~]/gu, encodeURIComponent)}"`

/** Sets the rate limit headers, and `Retry-After` if the limit is exceeded. */
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

/** Seconds until a retry while the service is unavailable. */
const RETRY_AFTER_SECONDS = 5

/** Sets `Retry-After` where a refusal passes by itself, unless it is set. */
export function setRetryAfter(reply: FastifyReply, hints: ResponseHints | undefined): void {
  if (reply.hasHeader('retry-after')) return
  if (reply.statusCode === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  if (reply.statusCode !== 429 || hints?.retryAfterSeconds === null) return
  writeRetryAfter(reply, hints?.retryAfterSeconds ?? hints?.rateLimit?.resetSeconds ?? 60)
}

/** Writes `Retry-After`, which takes whole seconds, and the exact time as the SDKs of providers read it. */
export function writeRetryAfter(reply: FastifyReply, seconds: number): void {
  reply.header('retry-after', Math.ceil(seconds))
  if (!Number.isInteger(seconds)) reply.header('retry-after-ms', Math.ceil(seconds * 1000))
}

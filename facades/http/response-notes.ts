import type { FastifyReply } from 'fastify'
import type { ResponseNotes, StreamPosition } from '../../routers/core/response-notes.ts'

type Notes = ReturnType<ResponseNotes['read']>
type LimitLeft = Notes['limits'][number]

/**
 * Sets the headers for what procedures noted: `RateLimit-Policy` with the limits and `RateLimit` with their state, as in
 * the IETF draft, the fallback model, ignored parameters, and whether to retry.
 */
export function setNoteHeaders(reply: FastifyReply, notes: ResponseNotes | undefined): void {
  if (notes) writeNotes(reply, notes.read())
}

/** Sets the same and the rate limit headers, before the first part of a stream. */
export function setAllNoteHeaders(reply: FastifyReply, notes: ResponseNotes): void {
  const current = notes.read()
  writeRateLimit(reply, current)
  writeNotes(reply, current)
}

function writeNotes(
  reply: FastifyReply,
  { limits, retry, answeredBy, ignoredParameters, mustClearSiteData }: Notes,
): void {
  if (limits.length > 0) {
    reply.header('ratelimit-policy', limits.map((limit) => writeName(limit) + writePolicy(limit)).join(', '))
    reply.header('ratelimit', limits.map((limit) => writeName(limit) + writeState(limit)).join(', '))
  }
  if (answeredBy) reply.header('x-answered-by', encodeURI(answeredBy))
  if (ignoredParameters.length > 0) reply.header('x-ignored-parameters', writeNames(ignoredParameters))
  // Client libraries would retry automatically.
  if (retry.isFinal) reply.header('x-should-retry', 'false')
  if (mustClearSiteData) reply.header('clear-site-data', '"cache", "storage"')
}

export const countIgnoredParameters = (notes: ResponseNotes | undefined): number =>
  notes?.read().ignoredParameters.length ?? 0

/** Reads the positions of the change log after the writes of a call. */
export const readPositions = (notes: ResponseNotes): readonly StreamPosition[] => notes.read().positions

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

/** The draft allows only integers as quotas and has no unit of money, so programs read money in millionths. */
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
export function setRateLimitHeaders(reply: FastifyReply, notes: ResponseNotes): void {
  writeRateLimit(reply, notes.read())
}

function writeRateLimit(reply: FastifyReply, { rateLimit }: Notes): void {
  if (!rateLimit) return
  const { limit, remaining, resetSeconds } = rateLimit
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
export function setRetryAfter(reply: FastifyReply, notes: ResponseNotes | undefined): void {
  if (reply.hasHeader('retry-after')) return
  if (reply.statusCode === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  if (reply.statusCode !== 429) return
  const { retry, rateLimit } = notes?.read() ?? {}
  if (retry?.afterSeconds !== null) writeRetryAfter(reply, retry?.afterSeconds ?? rateLimit?.resetSeconds ?? 60)
}

/** Sets `Retry-After` of a failed call if its provider asks for it, whatever the status. */
export function setProviderRetryAfter(reply: FastifyReply, notes: ResponseNotes | undefined): void {
  const seconds = notes?.read().retry.afterSeconds
  if (seconds) writeRetryAfter(reply, seconds)
}

/** Writes `Retry-After`, which takes whole seconds, and the exact time as the SDKs of providers read it. */
function writeRetryAfter(reply: FastifyReply, seconds: number): void {
  reply.header('retry-after', Math.ceil(seconds))
  if (!Number.isInteger(seconds)) reply.header('retry-after-ms', Math.ceil(seconds * 1000))
}

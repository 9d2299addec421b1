import type { IncomingHttpHeaders } from 'node:http'
import { APICallError, TypeValidationError } from '@ai-sdk/provider'
import type { ProviderReason } from '../../routers/ports/ai/models.ts'
import { tryParseJson } from '../../routers/ports/json.ts'
import type { Phase } from '../net/response-handler.ts'

/**
 * An error status of the provider, without its message, which may quote the conversation. The SDKs also use errors with
 * a status for unreadable responses; those say nothing about the provider's health.
 */
export class ProviderStatusError extends Error {
  override name = 'ProviderStatusError'
  readonly status: number
  /** Milliseconds until a retry, if the provider names a time. */
  readonly retryAfterMs: number | undefined
  /** True if the provider refused the content of the question. */
  readonly isContentFiltered: boolean
  readonly reason: ProviderReason | undefined

  constructor(status: number, headers: IncomingHttpHeaders = {}, body = '') {
    super(`status ${status}`)
    this.status = status
    this.retryAfterMs = readRetryAfterMs(headers) ?? readRetryDelay(body)
    this.isContentFiltered = status === 400 && contentCode.test(body)
    this.reason = this.isContentFiltered ? undefined : classifyReason(status, body)
  }
}

/** Azure's error code, which gateways to other providers use too. */
const contentCode = /"code"\s*:\s*"content_(?:filter|policy_violation)"/

/**
 * An error that the provider reports in a response with a success status, before any part of an answer. Nothing is
 * billed. It hardly says anything about the server's health, since a question can cause it. Its message is left out,
 * because it may quote the conversation.
 */
export class ProviderReportedError extends Error {
  override name = 'ProviderReportedError'
  /** The equivalent HTTP status; undefined if the provider sends no number. */
  readonly status: number | undefined
  /** True if the provider refused the content of the question. */
  readonly isContentFiltered: boolean
  readonly reason: ProviderReason | undefined

  constructor(reported: ReportedError) {
    const { statusCode, code } = reported
    super('the provider refused in its answer')
    this.isContentFiltered = contentCodes.has(code)
    const status = this.isContentFiltered ? 400 : Number(statusCode ?? code)
    this.status = Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined
    this.reason = this.isContentFiltered ? undefined : classifyReason(this.status, serializeReported(reported))
  }
}

const contentCodes = new Set<unknown>(['content_filter', 'content_policy_violation'])

interface ReportedError {
  statusCode?: unknown
  code?: unknown
  message?: unknown
}

/** Returns the whole error as text, which is only searched for known words. */
const serializeReported = (reported: ReportedError): string =>
  JSON.stringify({ ...reported, message: reported.message, cause: undefined })

/** Returns the error that a stream reports; undefined if the stream is just unreadable. */
export function toReportedError(error: unknown): ProviderReportedError | undefined {
  const reported = TypeValidationError.isInstance(error) ? findErrorMember(error.value) : error
  const isReported =
    typeof reported === 'object' && reported !== null && (!(reported instanceof Error) || isSdkStatusError(reported))
  return isReported ? new ProviderReportedError(reported) : undefined
}

interface ResponseBody {
  error?: unknown
  /** `error` if the response or the event itself is an error. */
  object?: unknown
}

/** Members in which providers return content, and those in which they return usage. */
const contentMembers = ['choices', 'content', 'output', 'candidates', 'data', 'embeddings', 'embedding']
const usageMembers = ['usage', 'usageMetadata']

/** Returns the error that a response consists of; undefined if it has any content or usage. */
export function findReportedError(whole: unknown): ProviderReportedError | undefined {
  const reported = findErrorMember(whole)
  return reported && ![whole].flat().some(hasContentOrUsage) ? new ProviderReportedError(reported) : undefined
}

const hasContentOrUsage = (body: unknown) =>
  [...contentMembers, ...usageMembers].some((name) => isPresent((body as Record<string, unknown> | null)?.[name]))

const isPresent = (value: unknown) => (Array.isArray(value) ? value.length > 0 : Boolean(value))

/** Returns the error in a response or event. Google sends errors in a list. */
export function findErrorMember(body: unknown): object | undefined {
  if (!Array.isArray(body)) return readErrorMember(body as ResponseBody | null)
  return body.map(readErrorMember).find((error) => error !== undefined)
}

/** Servers send an error as an object, as a text, or as the response or event itself. */
function readErrorMember(body: ResponseBody | null | undefined): object | undefined {
  const { error = body?.object === 'error' ? body : undefined } = body ?? {}
  return typeof error === 'string' && error ? { message: error } : ((error || undefined) as object | undefined)
}

/**
 * True if the SDK threw an error that the provider sent in a stream; SDK errors about unreadable responses have no
 * error status.
 */
export const isSdkStatusError = (error: unknown): error is APICallError =>
  APICallError.isInstance(error) && (error.statusCode ?? 0) >= 400

/** Longer messages quote the request. */
const MAX_TEXT = 20_000

interface Pattern {
  reason: ProviderReason
  /** Matches any status if absent. */
  statuses?: readonly number[]
  words: RegExp
}

/**
 * Patterns of providers' errors, codes before sentences; the first match counts. The text is only searched, and never
 * passed on.
 */
const patterns: readonly Pattern[] = [
  {
    reason: 'too_long',
    words:
      /context_length_exceeded|exceed_context_size|model_context_window_exceeded|"code"\s*:\s*"?(?:3051|string_above_max_length)\b/i,
  },
  {
    reason: 'quota',
    words:
      /insufficient_quota|billing_(?:not_active|hard_limit_reached)|credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|payment[ _]required/i,
  },
  {
    reason: 'too_long',
    statuses: [400, 413, 422, 500],
    words:
      /maximum (?:context|prompt|model|input) length|context (?:length|window|limit|size)\b|(?:prompt|input|request|conversation) is too (?:long|large)|too many (?:input |prompt )?tokens|token count.{0,40}exceeds|exceeds? the (?:maximum|max|model's).{0,40}tokens?|exceeds? the available context|longer than the (?:maximum|max) (?:model )?(?:length|context)|reduce the length of|request_too_large|input length.{0,60}exceed/i,
  },
  {
    reason: 'key_refused',
    words:
      /(?:invalid|incorrect|missing|expired|revoked)[ _](?:x-)?api[ _-]?key|api key (?:not valid|expired|not found)|api_key_invalid|authentication_error|permission_(?:error|denied)|account_deactivated/i,
  },
  { reason: 'model_unknown', words: /model_not_found|invalid_model|"code"\s*:\s*"?1500\b/i },
  { reason: 'rate_limited', words: /rate_limit|rate limit|resource_exhausted|too many requests/i },
]

const reasonsByStatus: Partial<Record<number, ProviderReason>> = {
  401: 'key_refused',
  402: 'quota',
  403: 'key_refused',
  404: 'model_unknown',
  413: 'too_long',
  429: 'rate_limited',
}

/** Returns why a provider refused, by its status and error text; undefined if the reason is unknown. */
function classifyReason(status: number | undefined, reported: string): ProviderReason | undefined {
  const text = reported.slice(0, MAX_TEXT)
  const pattern = patterns.find(
    ({ statuses, words }) => (!statuses || status === undefined || statuses.includes(status)) && words.test(text),
  )
  return pattern?.reason ?? (status === undefined ? undefined : reasonsByStatus[status])
}

/** Returns the retry delay that Google sends in the body. */
function readRetryDelay(reported: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"/.exec(reported.slice(0, MAX_TEXT))?.[1]
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000)
}

/** Reads `Retry-After`, in seconds, with a fraction or not, or as a date; and first the milliseconds that OpenAI and Azure send. */
function readRetryAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const { 'retry-after-ms': ms, 'retry-after': time = '' } = headers
  if (typeof ms === 'string' && decimal.test(ms)) return Math.ceil(Number(ms))
  const delay = decimal.test(time) ? Math.ceil(Number(time) * 1000) : Date.parse(time) - Date.now()
  return Number.isNaN(delay) ? undefined : Math.max(0, delay)
}

const decimal = /^\d{1,12}(?:\.\d{1,12})?$/

/** Returns the end of an answer for an error of the content filter; throws any other error. The usage is unknown. */
export function toContentFilterFinish(error: unknown) {
  const isRefusal = error instanceof ProviderStatusError || error instanceof ProviderReportedError
  if (!isRefusal || !error.isContentFiltered) throw error
  return {
    finishReason: { unified: 'content-filter' as const, raw: 'content_filter' },
    usage: {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    },
  }
}

/** An answer that ended in its middle. It is billed, so the call is not repeated. */
export class TruncatedAnswer extends Error {
  override name = 'TruncatedAnswer'
  readonly phase: Phase = 'reading'
}

/** Returns the error for an unreadable response: the one that it reports, or one that it cannot be read. */
export function toUnparsableError(cause: unknown, body?: string): ProviderReportedError | UnparsableResponse {
  const answer = new UnparsableResponse(cause, body)
  const { responseBody } = answer
  return findReportedError(typeof responseBody === 'string' ? tryParseJson(responseBody) : responseBody) ?? answer
}

/** Returns the error for a response without any event where a stream was requested. */
export const toMissingStreamError = (body: string) => toUnparsableError(new Error('the stream ended early'), body)

/**
 * A response that came but cannot be read. It is billed, so the call fails like one with a truncated response. The
 * original error stays unchanged as the cause, because calls may share it, such as the abort reason of a caller.
 */
export class UnparsableResponse extends Error {
  readonly phase: Phase = 'reading'
  /** Code of the cause, for the log. */
  readonly code: unknown
  /** The part that was received; errors of the AI SDK use the same name. */
  readonly responseBody: unknown

  constructor(cause: unknown, body?: string) {
    super('the answer cannot be read', { cause })
    const { name, code, responseBody } = (cause ?? {}) as Partial<UnparsableResponse>
    this.name = name ?? 'UnparsableResponse'
    this.code = code
    this.responseBody = body ?? responseBody
  }
}

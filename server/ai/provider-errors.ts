import { APICallError, TypeValidationError } from '@ai-sdk/provider'
import type { ProviderReason } from '../../routers/ports/ai/models.ts'
import { tryParseJson } from '../../routers/ports/ai/tool-calls.ts'
import type { Phase } from '../net/response-handler.ts'

/**
 * A status of the provider's that is no answer, without its message, which may quote the conversation. An SDK has errors
 * with a status for what it cannot read, too, which say nothing of the provider's health.
 */
export class ProviderStatusError extends Error {
  override name = 'Refusal'
  readonly status: number
  /** In seconds, or a date. */
  readonly retryAfter: string | undefined
  /** Whether the question is refused for what is in it. */
  readonly isContentFiltered: boolean
  readonly reason: ProviderReason | undefined

  constructor(status: number, retryAfter?: string, body = '') {
    super(`status ${status}`)
    this.status = status
    this.retryAfter = retryAfter ?? readRetryDelay(body)
    this.isContentFiltered = status === 400 && contentCode.test(body)
    this.reason = this.isContentFiltered ? undefined : classifyReason(status, body)
  }
}

/** Azure's word for it, which gateways in front of other providers have taken over. */
const contentCode = /"code"\s*:\s*"content_(?:filter|policy_violation)"/

/**
 * A provider's word in an answer that it gives none, whole or before any of a stream: nothing is paid. It says little of the
 * server, since a question can bring it about. The provider's message is left out, as it may quote the conversation.
 */
export class ProviderReportedError extends Error {
  override name = 'ToldRefusal'
  /** As if it were told in place of the answer; undefined where the provider has no number for it. */
  readonly status: number | undefined
  /** Whether the question is refused for what is in it. */
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

/** All that is told, which is looked through for known words alone. */
const serializeReported = (reported: ReportedError): string =>
  JSON.stringify({ ...reported, message: reported.message, cause: undefined })

/** The refusal that an error in a stream tells; undefined where the stream cannot be read. */
export function toReportedError(error: unknown): ProviderReportedError | undefined {
  const reported = TypeValidationError.isInstance(error) ? findErrorMember(error.value) : error
  const isReported =
    typeof reported === 'object' && reported !== null && (!(reported instanceof Error) || isSdkStatusError(reported))
  return isReported ? new ProviderReportedError(reported) : undefined
}

interface ResponseBody {
  error?: unknown
  /** `error` where the answer or the event itself is one. */
  object?: unknown
}

/** The members in which providers answer, and those in which they say what it takes. */
const contentMembers = ['choices', 'content', 'output', 'candidates', 'data', 'embeddings', 'embedding']
const usageMembers = ['usage', 'usageMetadata']

/** The refusal that a whole answer is; undefined where it says anything, or has a bill. */
export function findReportedError(whole: unknown): ProviderReportedError | undefined {
  const reported = findErrorMember(whole)
  return reported && ![whole].flat().some(hasContentOrUsage) ? new ProviderReportedError(reported) : undefined
}

const hasContentOrUsage = (body: unknown) =>
  [...contentMembers, ...usageMembers].some((name) => isPresent((body as Record<string, unknown> | null)?.[name]))

const isPresent = (value: unknown) => (Array.isArray(value) ? value.length > 0 : Boolean(value))

/** The error that an answer or an event is, or that a list in its place has: Google writes its errors in one. */
export function findErrorMember(body: unknown): object | undefined {
  if (!Array.isArray(body)) return readErrorMember(body as ResponseBody | null)
  return body.map(readErrorMember).find((error) => error !== undefined)
}

/** Servers tell an error as an object, as a text, or as the answer or the event itself. */
function readErrorMember(body: ResponseBody | null | undefined): object | undefined {
  const { error = body?.object === 'error' ? body : undefined } = body ?? {}
  return typeof error === 'string' && error ? { message: error } : ((error || undefined) as object | undefined)
}

/** Whether the SDK threw a refusal that came in a stream: its errors about what it cannot read have no such status. */
export const isSdkStatusError = (error: unknown): error is APICallError =>
  APICallError.isInstance(error) && (error.statusCode ?? 0) >= 400

/** Longer messages quote what was sent. */
const MAX_TEXT = 20_000

interface Pattern {
  reason: ProviderReason
  /** Any where there are none. */
  statuses?: readonly number[]
  words: RegExp
}

/**
 * The words of providers for their reasons, codes before sentences, as their servers write them; the first that matches counts.
 * They are looked for and never told.
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
    reason: 'misconfigured',
    words:
      /(?:invalid|incorrect|missing|expired|revoked)[ _](?:x-)?api[ _-]?key|api key (?:not valid|expired|not found)|api_key_invalid|authentication_error|permission_(?:error|denied)|account_deactivated|model_not_found|invalid_model|"code"\s*:\s*"?1500\b/i,
  },
  { reason: 'rate_limited', words: /rate_limit|rate limit|resource_exhausted|too many requests/i },
]

const reasonsByStatus: Partial<Record<number, ProviderReason>> = {
  401: 'misconfigured',
  402: 'quota',
  403: 'misconfigured',
  404: 'misconfigured',
  413: 'too_long',
  429: 'rate_limited',
}

/** Why a provider refused, by its status and what it says; undefined where it is none of these. */
function classifyReason(status: number | undefined, reported: string): ProviderReason | undefined {
  const text = reported.slice(0, MAX_TEXT)
  const found = patterns.find(
    ({ statuses, words }) => (!statuses || status === undefined || statuses.includes(status)) && words.test(text),
  )
  return found?.reason ?? (status === undefined ? undefined : reasonsByStatus[status])
}

/** How long to wait, as Google says it in the body. */
const readRetryDelay = (reported: string): string | undefined =>
  /"retryDelay"\s*:\s*"(\d{1,6})(?:\.\d+)?s"/.exec(reported.slice(0, MAX_TEXT))?.[1]

/** The end of an answer to a question that is refused for what is in it; throws any other error. What it took is not said. */
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

/** What is thrown where an answer cannot be read: the refusal that it is, or that it is none. */
export function toUnparsableError(cause: unknown, body?: string): ProviderReportedError | UnparsableResponse {
  const answer = new UnparsableResponse(cause, body)
  const { responseBody } = answer
  return findReportedError(typeof responseBody === 'string' ? tryParseJson(responseBody) : responseBody) ?? answer
}

/** The same where this came in place of a stream, without any event. */
export const toMissingStreamError = (body: string) => toUnparsableError(new Error('the stream ended early'), body)

/**
 * An answer that has come and cannot be read. It is paid, so the call fails like one whose answer broke off. What was caught
 * is its cause and stays as it is: calls may share it, as all have one reason for a caller who goes away.
 */
export class UnparsableResponse extends Error {
  readonly phase: Phase = 'reading'
  /** The kind of the cause, which is logged. */
  readonly code: unknown
  /** The part that came; the AI SDK has it in its errors by the same name. */
  readonly responseBody: unknown

  constructor(cause: unknown, body?: string) {
    super('the answer cannot be read', { cause })
    const { name, code, responseBody } = (cause ?? {}) as Partial<UnparsableResponse>
    this.name = name ?? 'UnreadAnswer'
    this.code = code
    this.responseBody = body ?? responseBody
  }
}

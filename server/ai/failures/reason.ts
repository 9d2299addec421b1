import type { ProviderReason } from '../../../routers/ports/ai/models.ts'

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

const byStatus: Partial<Record<number, ProviderReason>> = {
  401: 'misconfigured',
  402: 'quota',
  403: 'misconfigured',
  404: 'misconfigured',
  413: 'too_long',
  429: 'rate_limited',
}

/** Why a provider refused, by its status and what it says; undefined where it is none of these. */
export function reasonOf(status: number | undefined, told: string): ProviderReason | undefined {
  const text = told.slice(0, MAX_TEXT)
  const found = patterns.find(
    ({ statuses, words }) => (!statuses || status === undefined || statuses.includes(status)) && words.test(text),
  )
  return found?.reason ?? (status === undefined ? undefined : byStatus[status])
}

/** How long to wait, as Google says it in the body. */
export const delayIn = (told: string): string | undefined =>
  /"retryDelay"\s*:\s*"(\d{1,6})(?:\.\d+)?s"/.exec(told.slice(0, MAX_TEXT))?.[1]

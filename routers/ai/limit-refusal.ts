import type { RequestedLimit } from '../../entities/ai/usage-reservation.sql.ts'
import { computeMaxCost } from '../catalogue/pricing.ts'
import type { Problem } from '../core/problems.ts'
import type { ModelCall } from '../ports/ai/models.ts'
import { computeMaxInputTokens, noNativeUses } from './call-bounds.ts'

/** A refused call, as far as it can be made smaller. */
export interface RefusedCall {
  call: ModelCall
  /** The longest answer that the service reserves. */
  maxAnswerTokens: number
}

/**
 * Returns what a program needs to say what is left, what the call may take, and what would fit: amounts in the unit of
 * the limit, the input of the call in tokens, its longest answer for any model, and the longest answer that fits.
 */
export function describeRefusal(
  longest: RequestedLimit,
  limits: readonly RequestedLimit[],
  refused: RefusedCall | undefined,
): Problem['meta'] {
  const { name, subject, unit, currency, amount } = longest
  return {
    limit: name,
    limitSubject: subject,
    limitUnit: unit,
    ...(currency !== null && { limitCurrency: currency }),
    limitLeft: `${readLeft(longest)}`,
    ...(amount !== null && { limitNeeded: `${amount}` }),
    ...(refused && describeSizes(limits, refused)),
  }
}

const readLeft = ({ cap, used, held }: RequestedLimit): number => Math.max(0, cap - used - held)

function describeSizes(limits: readonly RequestedLimit[], { call, maxAnswerTokens }: RefusedCall): Problem['meta'] {
  const input = computeMaxInputTokens(call, Math.ceil(call.inputTokens))
  const answer = Math.min(call.parameters.maxTokens ?? Infinity, maxAnswerTokens)
  const fitting = Math.min(...limits.map((limit) => computeFittingAnswer(limit, call, input)))
  return {
    inputTokens: `${input}`,
    answerTokens: `${answer}`,
    ...(fitting > 0 && { fittingAnswerTokens: `${Math.min(fitting, answer)}` }),
  }
}

/** Returns the most output tokens for which a limit has room; native tools may cost anything, so nothing fits then. */
function computeFittingAnswer(limit: RequestedLimit, { model, nativeTools }: ModelCall, input: number): number {
  const left = readLeft(limit)
  if (limit.amount === null || nativeTools.length > 0) return 0
  if (limit.unit === 'requests') return left > 0 ? Infinity : 0
  if (limit.unit === 'tokens') return left - input
  const costOf = (output: number) =>
    computeMaxCost(model.pricing, { input, output: 0, reasoning: 0, ...noNativeUses }, output).costMicros ?? Infinity
  const perToken = (costOf(SAMPLE_TOKENS) - costOf(0)) / SAMPLE_TOKENS
  if (perToken === 0) return costOf(0) <= left ? Infinity : 0
  return Math.floor((left - costOf(0)) / perToken)
}

/** Large enough that the price of a token is not lost in rounding. */
const SAMPLE_TOKENS = 1_000_000

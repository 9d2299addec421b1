import type { UsageContext } from '../../entities/ai/usage-record.ts'
import type { RequestedLimit } from '../../entities/ai/usage-reservation.sql.ts'
import { computeCost, computeMaxCost } from '../catalogue/pricing.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { formatAmount, formatCap } from '../ports/ai/amounts.ts'
import type { EmbeddingCall, ModelCall } from '../ports/ai/models.ts'
import {
  hasRoom,
  type LimitLeft,
  QuotaExceeded,
  type Reservation,
  type ReserveRequest,
  type SubjectId,
  type UsageCall,
} from '../ports/ai/usage-ledger.ts'
import { type CallBounds, noNativeUses } from './call-bounds.ts'
import { toFiniteOrNull } from './call-meter.ts'
import type { ChatContext } from './chat-context.ts'
import { describeRefusal, type RefusedCall } from './limit-refusal.ts'

/** A call with the most that it can take. */
export interface BoundedCall<Call extends ModelCall | EmbeddingCall = ModelCall | EmbeddingCall> {
  call: Call
  bounds: CallBounds
}

/** Reserves the most that a call can take of every limit that applies. Throws if it does not fit. */
export async function reserveBudget(
  ctx: ChatContext,
  boundedCall: BoundedCall,
  options: Omit<ReserveOptions, 'replaces'> = {},
): Promise<Reservation> {
  const result = await tryReserve(ctx, boundedCall, options)
  if (!(result instanceof QuotaExceeded)) return result
  const { call } = boundedCall
  const maxAnswerTokens = ctx.services.settings.maxOutputTokens
  const refused = 'parameters' in call ? { call, maxAnswerTokens } : undefined
  throw toQuotaProblem(ctx, result, { unknown: findUnknownCost(call), refused })
}

/**
 * Reserves the most that several calls can take of every limit that applies, and returns their tickets. Throws if they
 * do not fit together.
 */
export async function reserveTogether(ctx: ChatContext, calls: readonly BoundedCall[]): Promise<string[]> {
  const result = await ctx.services.ai.usageLedger.reserveTogether(calls.map((call) => toReserveRequest(ctx, call, {})))
  if (!(result instanceof QuotaExceeded)) return result
  const unknown = calls.map(({ call }) => findUnknownCost(call)).find((part) => part !== 'pages') ?? 'pages'
  throw toQuotaProblem(ctx, result, { unknown, calls: calls.length })
}

/** Determines the unknown cost of a call whose maximum cannot be computed. */
function findUnknownCost(modelCall: ModelCall | EmbeddingCall): UnknownCost {
  const { pricing } = modelCall.model
  const { costMicros } = computeMaxCost(pricing, { input: 1, output: 0, reasoning: 0, ...noNativeUses }, 1)
  if (costMicros === null || !('nativeTools' in modelCall)) return 'model'
  return modelCall.nativeTools.includes('web_search') ? 'search' : 'pages'
}

interface ReserveOptions {
  roomId?: number | undefined
  /** Reservation of the call that this one replaces. */
  replaces?: Reservation
  /** The ticket of what the caller has reserved for this call. */
  ticket?: string | undefined
}

export async function tryReserve(
  ctx: ChatContext,
  boundedCall: BoundedCall,
  options: ReserveOptions = {},
): Promise<Reservation | QuotaExceeded> {
  const result = await ctx.services.ai.usageLedger.reserve(toReserveRequest(ctx, boundedCall, options))
  if (!(result instanceof QuotaExceeded)) ctx.notes.setLimits(listRemaining(result))
  return result
}

function toReserveRequest(
  ctx: ChatContext,
  { call: boundedCall, bounds: { computeInput, output, uses } }: BoundedCall,
  { roomId, replaces, ticket }: ReserveOptions,
): ReserveRequest {
  const { person, token } = ctx.caller
  const { model, inputTokens } = boundedCall
  const assistant = 'assistant' in boundedCall ? boundedCall.assistant : undefined
  const input = Math.ceil(inputTokens)
  const maxInput = computeInput(input) + uses.pageTokens
  const call: UsageCall = {
    userId: person.id,
    tokenId: token?.id ?? null,
    roomId: roomId ?? null,
    appId: token?.appId ?? null,
    context: toUsageContext(ctx.caller, roomId),
    provider: model.providerId,
    model: model.modelId,
    assistant: assistant?.label ?? null,
    requestId: ctx.requestId,
    inputTokens: input,
    ...computeCost(model.pricing, { input, output: 0, cached: 0, reasoning: 0 }),
    priceId: model.priceId,
  }
  return {
    // The assistant of a call that has begun is not looked at again for its fallbacks.
    catalogue: replaces ? model.catalogue : findEarliest(model.catalogue, assistant?.catalogue ?? null),
    call,
    subjects: [...listCallerSubjects(ctx.caller, roomId), ['provider', model.providerId], ['model', model.modelId]],
    tokens: toFiniteOrNull(maxInput + output),
    ...computeMaxCost(model.pricing, { input: maxInput, output: 0, reasoning: 0, ...uses }, output),
    replaces,
    ticket,
  }
}

/** Of two versions of the catalogue the earlier one, since the call is outdated if either is. */
const findEarliest = (one: number | null, other: number | null) =>
  one === null || other === null ? (one ?? other) : Math.min(one, other)

export function toUsageContext({ token }: ChatContext['caller'], roomId: number | undefined): UsageContext {
  if (roomId !== undefined) return 'group'
  if (!token) return 'private'
  return token.appId === undefined ? 'api' : 'external'
}

/**
 * Limit subjects of a caller and of the room, independent of the model. An app that calls for a person is a subject as
 * well.
 */
export const listCallerSubjects = ({ person, token }: ChatContext['caller'], roomId?: number): SubjectId[] => [
  ['installation', ''],
  ['role', person.role],
  ...person.groups.map((group) => ['group', group] as const),
  ...(roomId === undefined ? [] : [['room', `${roomId}`] as const]),
  ...(token?.appId === undefined ? [] : [['app', `${token.appId}`] as const]),
  ['user', `${person.id}`],
  ...(token ? ([['token', `${token.id}`]] as const) : []),
]

/** Retry delay in seconds if only calls under way use up the limit. */
const RETRY_SOON_SECONDS = 2

/** Duration of a refusal, in ascending order: until others end, until the period ends, or always. */
const refusalDurations = ['held', 'spent', 'never'] as const

type RefusalDuration = (typeof refusalDurations)[number]

interface QuotaDetails {
  unknown?: UnknownCost
  refused?: RefusedCall | undefined
  /** Number of the calls that would be made at once. */
  calls?: number
}

/** Builds the problem for the limit that refuses longest, because no retry succeeds earlier. */
export function toQuotaProblem(
  ctx: Pick<Context, 'notes' | 'services'>,
  { limits }: QuotaExceeded,
  { unknown = 'model', refused, calls = 1 }: QuotaDetails = {},
): Problem {
  const enforced = limits.filter(({ mode }) => mode === 'enforce')
  ctx.notes.setLimits(enforced.map((limit) => toLimitLeft(limit, 0)))
  const [longest] = enforced.filter((limit) => !hasRoom(limit)).toSorted(compareByDuration)
  if (!longest) return new Problem('unavailable')
  ctx.services.process.metrics.countRefusal(longest.name)
  const { cap, used, held, resetsAt } = longest
  const duration = classifyRefusal(longest)
  const resetSeconds = Math.max(1, Math.ceil((resetsAt - Date.now()) / 1000))
  const afterSeconds = { held: RETRY_SOON_SECONDS, spent: resetSeconds, never: null }[duration]
  ctx.notes.adviseRetry({ isFinal: duration !== 'held', afterSeconds })
  ctx.notes.setRateLimit({ limit: cap, remaining: Math.max(0, cap - used - held), resetSeconds })
  return new Problem(duration === 'held' ? 'limit_held' : 'limit_reached', {
    detail: sentences[duration](longest, unknown, calls),
    meta: {
      ...(duration === 'spent' && { retryAt: new Date(resetsAt).toISOString() }),
      ...describeRefusal(longest, enforced, refused),
    },
  })
}

function classifyRefusal({ amount, used, cap, nextCap }: RequestedLimit): RefusalDuration {
  if (amount === null) return 'never'
  if (used + amount <= cap) return 'held'
  return amount > nextCap ? 'never' : 'spent'
}

/**
 * Part of a call's cost that may be unknown: the price of the model, the cost of web search, or the number of pages it
 * reads.
 */
type UnknownCost = 'model' | 'search' | 'pages'

const sentences: Record<RefusalDuration, (limit: RequestedLimit, unknown: UnknownCost, calls: number) => string> = {
  held: (limit) =>
    `The limit '${limit.name}' has no room for ${formatLimitAmount(limit, limit.amount ?? 0)} more until calls under way end: ${describeUsage(limit)}.`,
  spent: (limit) =>
    `The limit '${limit.name}' has no room for ${formatLimitAmount(limit, limit.amount ?? 0)} more: ${describeUsage(limit)}. It frees at ${new Date(limit.resetsAt).toISOString()}.`,
  never: (limit, unknown, calls) =>
    limit.amount === null ? describeUnknownCost(limit, unknown) : describeTooLarge(limit, calls),
}

const unknownCosts: Record<UnknownCost, (currency: string) => string> = {
  model: (currency) => `what this model costs in ${currency} is not known`,
  search: (currency) => `the most that this model and its web search may cost in ${currency} is not known`,
  pages: (currency) => `what this model may cost in ${currency} with the pages that it reads is not known`,
}

const describeUnknownCost = ({ name, unit, currency }: RequestedLimit, unknown: UnknownCost) =>
  unit === 'money'
    ? `The limit '${name}' is in money, and ${unknownCosts[unknown](`${currency}`)}.`
    : `The limit '${name}' is in tokens, and how many this model may read in pages is not known.`

function describeTooLarge(limit: RequestedLimit, calls: number): string {
  const { name, unit, cap, nextCap } = limit
  const amount = formatLimitAmount(limit, limit.amount ?? 0)
  const whole = `${formatCap(nextCap, limit)}${cap > nextCap ? ', without what was topped up' : ''}`
  const subject = calls === 1 ? 'This call' : `These ${calls} calls together`
  if (nextCap === 0) return `The limit '${name}' lets no call through: it is ${whole}.`
  return unit === 'money'
    ? `${subject} may cost ${amount}, and the limit '${name}' is ${whole}. Send less, ask for a shorter answer, or ask another model.`
    : `${subject} may take ${amount}, and the limit '${name}' is ${whole}. Send less, or ask for a shorter answer.`
}

const describeUsage = (limit: RequestedLimit) =>
  `${formatLimitAmount(limit, limit.used)} used and ${formatLimitAmount(limit, limit.held)} held by calls under way, of ${formatCap(limit.cap, limit)}`

/** Formats money with its currency, and other amounts without their unit, which the cap tells. */
const formatLimitAmount = (limit: RequestedLimit, amount: number) =>
  limit.unit === 'money' ? formatAmount(amount, limit) : `${amount}`

const compareByDuration = (one: RequestedLimit, other: RequestedLimit) =>
  refusalDurations.indexOf(classifyRefusal(other)) - refusalDurations.indexOf(classifyRefusal(one)) ||
  (one.resetsAt < other.resetsAt ? 1 : -1)

/** Remaining amounts of enforced limits after the reservation. */
const listRemaining = ({ limits }: Reservation): LimitLeft[] =>
  limits.filter(({ mode }) => mode === 'enforce').map((limit) => toLimitLeft(limit, limit.amount ?? 0))

const toLimitLeft = (
  { name, unit, currency, cap, used, held, windowSeconds, resetsAt }: RequestedLimit,
  reserved: number,
): LimitLeft => ({ name, unit, currency, cap, windowSeconds, left: cap - used - held - reserved, resetsAt })

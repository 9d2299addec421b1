import type { UsageContext } from '../../entities/ai/usage-record.ts'
import type { RequestedLimit } from '../../entities/ai/usage-reservation.sql.ts'
import { computeCost, computeMaxCost } from '../catalogue/pricing.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import type { EmbeddingCall, ModelCall } from '../ports/ai/models.ts'
import {
  hasRoom,
  type LimitLeft,
  QuotaExceeded,
  type Reservation,
  type SubjectId,
  type UsageCall,
} from '../ports/ai/usage-ledger.ts'
import { boundNativeUses, noNativeUses, unlessInfinite } from './call-meter.ts'
import type { ChatContext } from './chat-context.ts'
import { maxInputTokens } from './request/input-tokens.ts'

/** Reserves the most that a call can take of every limit that applies; refuses what does not fit. */
export async function reserveBudget(
  ctx: ChatContext,
  asked: ModelCall | EmbeddingCall,
  room?: number,
): Promise<Reservation> {
  const reserved = await tryReserve(ctx, asked, { room })
  if (reserved instanceof QuotaExceeded) throw quotaProblem(ctx, reserved, unknownIn(asked))
  return reserved
}

/** What is not known of a call where nobody can say how much it takes. */
function unknownIn(asked: ModelCall | EmbeddingCall): Unknown {
  const { pricing } = asked.model
  const { costMicros } = computeMaxCost(pricing, { input: 1, output: 0, reasoning: 0, ...noNativeUses }, 1)
  if (costMicros === null || !('nativeTools' in asked)) return 'model'
  return asked.nativeTools.includes('web_search') ? 'search' : 'pages'
}

interface ReserveOptions {
  room?: number | undefined
  /** That of the call that this one takes the place of. */
  replaces?: Reservation
}

export async function tryReserve(
  ctx: ChatContext,
  asked: ModelCall | EmbeddingCall,
  { room, replaces }: ReserveOptions = {},
): Promise<Reservation | QuotaExceeded> {
  const { person, token } = ctx.caller
  const { model } = asked
  const input = Math.ceil(asked.inputTokens)
  // Embeddings are no output, and search nothing.
  const isAnswer = 'parameters' in asked
  const output = isAnswer ? boundOutput(asked, ctx.services.settings.maxOutputTokens) : 0
  const uses = isAnswer ? boundNativeUses(asked) : noNativeUses
  const mostInput = (isAnswer ? maxInputTokens(asked, input) : input) + uses.pageTokens
  const call: UsageCall = {
    userId: person.id,
    tokenId: token?.id ?? null,
    roomId: room ?? null,
    appId: token?.appId ?? null,
    context: toUsageContext(ctx.caller, room),
    provider: model.providerId,
    model: model.modelId,
    requestId: ctx.requestId,
    inputTokens: input,
    ...computeCost(model.pricing, { input, output: 0, cached: 0, reasoning: 0 }),
    priceId: model.priceId,
  }
  const reserved = await ctx.services.usageLedger.reserve({
    catalogue: model.catalogue,
    call,
    subjects: [...callerSubjects(ctx.caller, room), ['provider', model.providerId], ['model', model.modelId]],
    tokens: unlessInfinite(mostInput + output),
    ...computeMaxCost(model.pricing, { input: mostInput, output: 0, reasoning: 0, ...uses }, output),
    replaces,
  })
  if (!(reserved instanceof QuotaExceeded)) ctx.hints.limits = listRemaining(reserved)
  return reserved
}

function toUsageContext({ token }: ChatContext['caller'], room: number | undefined): UsageContext {
  if (room !== undefined) return 'group'
  if (!token) return 'private'
  return token.appId === undefined ? 'api' : 'external'
}

/** The subjects of limits that a caller is, whichever model they ask, and the room where they ask. An app that asks for a person is one, too. */
export const callerSubjects = ({ person, token }: ChatContext['caller'], room?: number): SubjectId[] => [
  ['installation', ''],
  ['role', person.role],
  ...person.groups.map((group) => ['group', group] as const),
  ...(room === undefined ? [] : [['room', `${room}`] as const]),
  ...(token?.appId === undefined ? [] : [['app', `${token.appId}`] as const]),
  ['user', `${person.id}`],
  ...(token ? ([['token', `${token.id}`]] as const) : []),
]

/** What the model may answer at most, which is what the provider is told. */
export function boundOutput({ model, parameters }: Pick<ModelCall, 'model' | 'parameters'>, policy: number): number {
  const asked = parameters.maxTokens ?? model.parameters?.maxTokens ?? Infinity
  return Math.min(asked, model.limits?.maxOutputTokens ?? Infinity, policy)
}

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
type Unknown = 'model' | 'search' | 'pages'

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
const listRemaining = ({ limits }: Reservation): LimitLeft[] =>
  limits.filter(({ mode }) => mode === 'enforce').map((limit) => toLimitLeft(limit, limit.amount ?? 0))

const toLimitLeft = (
  { name, unit, currency, cap, used, held, windowSeconds, resetsAt }: RequestedLimit,
  reserved: number,
): LimitLeft => ({ name, unit, currency, cap, windowSeconds, left: cap - used - held - reserved, resetsAt })

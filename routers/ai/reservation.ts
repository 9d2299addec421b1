import type { UsageContext } from '../../entities/ai/usage-record.ts'
import { computeCost, computeMaxCost } from '../catalogue/pricing.ts'
import type { EmbeddingCall, ModelCall } from '../ports/ai/models.ts'
import { QuotaExceeded, type Reservation, type SubjectId, type UsageCall } from '../ports/ai/usage-ledger.ts'
import { boundNativeUses, noNativeUses, unlessInfinite } from './call-meter.ts'
import type { ChatContext } from './chat-context.ts'
import { listRemaining, quotaProblem, type Unknown } from './quota-exceeded.ts'
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

import { computeCost, type NativeUses } from '../catalogue/pricing.ts'
import type { CallableModel, ModelCall } from '../ports/ai/models.ts'
import { QuotaExceeded, type Reservation } from '../ports/ai/usage-ledger.ts'
import type { Approvals } from './approvals/approvals.ts'
import { boundNativeUses } from './call-meter.ts'
import { type ChatContext, findUsableModel } from './chat-context.ts'
import { MeteredCall } from './metered-call.ts'
import { adaptRequest, unsentParameters } from './request/adapt-request.ts'
import { estimateToolTokens } from './request/input-tokens.ts'
import type { AiRequest } from './request/request.ts'
import { selectedNative } from './request/tool-references.ts'
import { validateRequest } from './request/validate-request.ts'
import { boundOutput, tryReserve } from './reservation.ts'
import { ownTools } from './service-tools.ts'

/** The call of a model that may answer where the one that was asked cannot: if the caller may use it, and it takes all of the question. */
async function buildFallbackCall(
  ctx: ChatContext,
  { call, asked: given, approvals }: Question,
  model: CallableModel | undefined,
): Promise<ModelCall | undefined> {
  if (!model) return undefined
  const asked = adaptRequest(ctx, given, model)
  const tools = ownTools(ctx, { model, asked, approvals })
  const inputTokens = call.inputTokens - estimateToolTokens(call.tools) + estimateToolTokens(tools)
  const nativeTools = selectedNative(model, asked)
  const other: ModelCall = { ...call, model, tools, nativeTools, inputTokens, parameters: asked.parameters }
  const problems = [
    ...validateRequest({ ...asked, messages: [...call.messages] }, model, inputTokens),
    ...(await unsentParameters(ctx, asked, model)),
  ]
  return problems.length === 0 && isPaidAlike(call, other) ? other : undefined
}

/** Whether both are paid in one currency: a limit in money knows only one, and a known price must not become an unknown one. */
function isPaidAlike(one: ModelCall, other: ModelCall): boolean {
  const [known, stands] = [currencyOf(one), currencyOf(other)]
  return known === stands || (known === 'any' && stands !== undefined) || (stands === 'any' && known !== undefined)
}

/** The currency in which a call is paid: `any` where the model is free, undefined where its price is not wholly known. */
function currencyOf(call: ModelCall): string | undefined {
  const { pricing } = call.model
  if (pricing && 'free' in pricing) return 'any'
  const [input = 0] = pricing?.ranges?.[0]?.range ?? []
  const least = { input: Math.max(1, input), output: 1, cached: 0, reasoning: 0 }
  return computeCost(pricing, { ...least, ...countNativeUses(call) }).currency ?? undefined
}

/** One search, where there may be any, as a price is known or not whatever their number. */
const countNativeUses = (call: ModelCall): NativeUses => ({
  webSearches: Math.min(1, boundNativeUses(call).webSearches),
  webFetches: 0,
})

/** What was asked, and the call of the model that was asked first. */
interface Question {
  call: ModelCall
  asked: AiRequest
  approvals: Approvals
}

interface FallbackCall {
  question: Question
  call: ModelCall
  reservation: Reservation
  /** The models that may stand in, in their order. */
  names: readonly string[]
  held: Disposable
}

/** The call, told to answer within what is reserved; each of its fallbacks is chosen and reserved for when its turn comes. */
export function withFallbacks(ctx: ChatContext, within: FallbackCall): MeteredCall {
  const { question, reservation, call, held } = within
  const bound = reservation.isEnforced && {
    maxOutputTokens: boundOutput(call, ctx.services.settings.maxOutputTokens),
  }
  const fallback = () =>
    nextFallback(ctx, within).catch((error: unknown) => {
      ctx.services.log.warn({ requestId: ctx.requestId, error }, 'no model could be asked in place of one that failed')
      return undefined
    })
  return new MeteredCall(ctx, {
    reservation,
    call: { ...call, ...bound },
    fallback,
    approvals: question.approvals,
    held,
  })
}

/** The first that limits have room for in place of what was reserved before, which stays where there is none. */
async function nextFallback(ctx: ChatContext, before: FallbackCall): Promise<MeteredCall | undefined> {
  const [name, ...names] = before.names
  if (name === undefined) return undefined
  const call = await buildFallbackCall(ctx, before.question, await findUsableModel(ctx, name, 'chat'))
  const reservation = call && (await tryReserve(ctx, call, { replaces: before.reservation }))
  if (!reservation || reservation instanceof QuotaExceeded) return nextFallback(ctx, { ...before, names })
  ctx.hints.answeredBy = name
  ctx.services.metrics.countFallback(before.call.model.modelId)
  return withFallbacks(ctx, { ...before, call, reservation, names })
}

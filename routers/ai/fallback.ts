import { computeCost, type NativeUses } from '../catalogue/pricing.ts'
import type { CallableModel, ModelCall } from '../ports/ai/models.ts'
import { QuotaExceeded, type Reservation } from '../ports/ai/usage-ledger.ts'
import type { Approvals } from './approvals/approvals.ts'
import { boundNativeUses } from './call-meter.ts'
import { type ChatContext, findUsableModel } from './chat-context.ts'
import { MeteredCall } from './metered-call.ts'
import { adaptRequest, findUnsentParameters } from './request/adapt-request.ts'
import { estimateToolTokens } from './request/input-tokens.ts'
import type { AiRequest } from './request/request.ts'
import { selectModelTools } from './request/tool-references.ts'
import { validateRequest } from './request/validate-request.ts'
import { boundOutput, tryReserve } from './reservation.ts'
import { listServiceTools } from './service-tools.ts'

/**
 * Builds the call of a fallback model. Returns undefined if the caller may not use the model or it cannot take the
 * whole request.
 */
async function buildFallbackCall(
  ctx: ChatContext,
  { call, request: originalRequest, approvals }: OriginalCall,
  model: CallableModel | undefined,
): Promise<ModelCall | undefined> {
  if (!model) return undefined
  const request = adaptRequest(ctx, originalRequest, model)
  const selected = selectModelTools(model, request)
  const tools = listServiceTools(ctx, { model, request, selected, approvals })
  const inputTokens = call.inputTokens - estimateToolTokens(call.tools) + estimateToolTokens(tools)
  const fallbackModelCall: ModelCall = {
    ...call,
    model,
    tools,
    nativeTools: selected.nativeTools,
    inputTokens,
    parameters: request.parameters,
  }
  const problems = [
    ...validateRequest({ ...request, messages: [...call.messages] }, model, inputTokens),
    ...(await findUnsentParameters(ctx, request, model)),
  ]
  return problems.length === 0 && hasCompatibleCurrency(call, fallbackModelCall) ? fallbackModelCall : undefined
}

/**
 * True if both calls are priced in one currency. A limit in money has one currency, and a known price must not become
 * unknown.
 */
function hasCompatibleCurrency(firstCall: ModelCall, fallbackModelCall: ModelCall): boolean {
  const [firstCurrency, otherCurrency] = [findCurrency(firstCall), findCurrency(fallbackModelCall)]
  return (
    firstCurrency === otherCurrency ||
    (firstCurrency === 'any' && otherCurrency !== undefined) ||
    (otherCurrency === 'any' && firstCurrency !== undefined)
  )
}

/** Returns the currency of a call: `any` for a free model, undefined if its price is not fully known. */
function findCurrency(call: ModelCall): string | undefined {
  const { pricing } = call.model
  if (pricing && 'free' in pricing) return 'any'
  const [input = 0] = pricing?.ranges?.[0]?.range ?? []
  const smallestUse = { input: Math.max(1, input), output: 1, cached: 0, reasoning: 0 }
  return computeCost(pricing, { ...smallestUse, ...countNativeUses(call) }).currency ?? undefined
}

/** Counts at most one search, because whether a price is known does not depend on the number. */
const countNativeUses = (call: ModelCall): NativeUses => ({
  webSearches: Math.min(1, boundNativeUses(call).webSearches),
  webFetches: 0,
})

/** The caller's request and the call of the first model. */
interface OriginalCall {
  call: ModelCall
  request: AiRequest
  approvals: Approvals
}

interface FallbackCall {
  original: OriginalCall
  call: ModelCall
  reservation: Reservation
  /** Names of the remaining fallback models, in order. */
  fallbackNames: readonly string[]
  memory: Disposable
}

/**
 * Builds the call with an answer length that fits into its reservation. Each fallback is chosen and reserved only when
 * needed.
 */
export function withFallbacks(ctx: ChatContext, fallbackCall: FallbackCall): MeteredCall {
  const { original, reservation, call, memory } = fallbackCall
  const boundParameters = reservation.isEnforced && {
    maxOutputTokens: boundOutput(call, ctx.services.settings.maxOutputTokens),
  }
  const fallback = () =>
    startNextFallback(ctx, fallbackCall).catch((error: unknown) => {
      ctx.services.log.warn({ requestId: ctx.requestId, error }, 'no model could be asked in place of one that failed')
      return undefined
    })
  return new MeteredCall(ctx, {
    reservation,
    call: { ...call, ...boundParameters },
    fallback,
    approvals: original.approvals,
    memory,
  })
}

/**
 * Starts the first fallback for which the limits have room. Its reservation replaces the previous one, which stays if
 * there is none.
 */
async function startNextFallback(ctx: ChatContext, previous: FallbackCall): Promise<MeteredCall | undefined> {
  const [name, ...fallbackNames] = previous.fallbackNames
  if (name === undefined) return undefined
  const call = await buildFallbackCall(ctx, previous.original, await findUsableModel(ctx, name, 'chat'))
  const reservation = call && (await tryReserve(ctx, call, { replaces: previous.reservation }))
  if (!reservation || reservation instanceof QuotaExceeded)
    return startNextFallback(ctx, { ...previous, fallbackNames })
  ctx.notes.setAnsweredBy(name)
  ctx.services.metrics.countFallback(previous.call.model.modelId)
  return withFallbacks(ctx, { ...previous, call, reservation, fallbackNames })
}

import type { AnswerKnowledge } from '../assistants/knowledge/answer-knowledge.ts'
import { hasCompatibleCurrency } from '../catalogue/pricing.ts'
import type { CallableModel, ModelCall } from '../ports/ai/models.ts'
import { QuotaExceeded, type Reservation } from '../ports/ai/usage-ledger.ts'
import type { Approvals } from './approvals/approvals.ts'
import { boundCall } from './call-bounds.ts'
import { type ChatContext, findUsableModel } from './chat-context.ts'
import { MeteredCall } from './metered-call.ts'
import { adaptRequest, findUnsentParameters } from './request/adapt-request.ts'
import { estimateToolTokens } from './request/input-tokens.ts'
import type { AiRequest } from './request/request.ts'
import { selectModelTools } from './request/tool-references.ts'
import { validateRequest } from './request/validate-request.ts'
import { type BoundedCall, tryReserve } from './reservation.ts'
import { listServiceTools } from './service-tools.ts'

/**
 * Builds the call of a fallback model. Returns undefined if the caller may not use the model or it cannot take the
 * whole request.
 */
async function buildFallbackCall(
  ctx: ChatContext,
  { call, bounds, request: originalRequest, approvals, knowledge }: OriginalCall,
  model: CallableModel | undefined,
): Promise<BoundedCall<ModelCall> | undefined> {
  if (!model || cannotSearch(model, knowledge)) return undefined
  const request = adaptRequest(ctx, originalRequest, model)
  const unsent = await findUnsentParameters(ctx, request, model)
  const selected = selectModelTools(model, request)
  const tools = listServiceTools(ctx, { model, request, selected, approvals, knowledge })
  const inputTokens = call.inputTokens - estimateToolTokens(call.tools) + estimateToolTokens(tools)
  const fallbackModelCall: ModelCall = {
    ...call,
    model,
    tools,
    nativeTools: selected.nativeTools,
    inputTokens,
    parameters: request.parameters,
  }
  const issues = validateRequest({ ...request, messages: [...call.messages] }, model, inputTokens)
  if (issues.length + unsent.length > 0) return undefined
  const fallbackBounds = boundCall(fallbackModelCall, ctx.services.settings.maxOutputTokens)
  // A limit in money has one currency, and a known price must not become unknown.
  const isPricedAlike = hasCompatibleCurrency(
    { pricing: call.model.pricing, uses: bounds.uses },
    { pricing: model.pricing, uses: fallbackBounds.uses },
  )
  return isPricedAlike ? { call: fallbackModelCall, bounds: fallbackBounds } : undefined
}

/** True if the model would need tools for the knowledge of the assistant, and takes none. */
const cannotSearch = ({ settings }: CallableModel, knowledge: AnswerKnowledge | undefined): boolean =>
  settings?.toolCalling === false && (knowledge?.tools.length ?? 0) > 0

/** The caller's request and the call of the first model. */
export interface OriginalCall extends BoundedCall<ModelCall> {
  request: AiRequest
  approvals: Approvals
  /** The knowledge of the assistant, which the call has been given. */
  knowledge: AnswerKnowledge | undefined
}

interface FallbackCall extends BoundedCall<ModelCall> {
  original: OriginalCall
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
  const { original, reservation, call, bounds, memory } = fallbackCall
  const boundParameters = reservation.isEnforced && { maxOutputTokens: bounds.output }
  const fallback = () =>
    startNextFallback(ctx, fallbackCall).catch((error: unknown) => {
      ctx.services.log.warn({ requestId: ctx.requestId, error }, 'no model could be asked in place of one that failed')
      return undefined
    })
  return new MeteredCall(ctx, {
    reservation,
    call: { ...call, ...boundParameters },
    bounds,
    fallback,
    approvals: original.approvals,
    knowledge: original.knowledge,
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
  const model = await findUsableModel(ctx, name, 'chat')
  const next = await buildFallbackCall(ctx, previous.original, model)
  const reservation = next && (await tryReserve(ctx, next, { replaces: previous.reservation }))
  if (!reservation || reservation instanceof QuotaExceeded)
    return startNextFallback(ctx, { ...previous, fallbackNames })
  ctx.notes.setAnsweredBy(name)
  ctx.services.process.metrics.countFallback(previous.call.model.modelId)
  return withFallbacks(ctx, { ...previous, ...next, reservation, fallbackNames })
}

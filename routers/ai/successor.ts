import { canNameModel } from '../core/model-binding.ts'
import type { FindModel } from '../ports/ai/callable-models.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { DAY_MS, getDayBefore } from '../ports/days.ts'
import { type ChatContext, findUsableModel } from './chat-context.ts'
import type { AiRequest } from './request/request.ts'

/** Models that may follow one another; a circle ends here, too. */
const MAX_STEPS = 5

/**
 * Finds the chat model that answers a request for a name: the model itself, or after its end the successor that
 * administrators let answer in its place. A model that is only offline is never replaced, and neither is one whose
 * successor the caller may not use.
 */
async function findAnsweringModel(
  ctx: ChatContext,
  name: string,
  find?: FindModel,
): Promise<CallableModel | undefined> {
  let model = await findUsableModel(ctx, name, 'chat', find)
  for (let step = 0; step < MAX_STEPS && model?.redirect && model.redirect.from <= Date.now(); step += 1) {
    const successor = await findUsableModel(ctx, model.redirect.to, 'chat', find)
    if (!successor) break
    model = successor
  }
  return model
}

export interface FoundModel {
  /** The name by which it was found: its own, or that of the model that it follows. */
  name: string
  model: CallableModel
}

/**
 * Returns true if the caller's token may ask the model of a request. What an assistant, a fallback or a successor brings
 * needs no permission of its own, as administrators and editors chose it, but a model does that the caller chose.
 */
export const isOpenToToken = ({ caller }: ChatContext, { model, assistant, answerModel }: AiRequest): boolean =>
  (assistant !== undefined && answerModel === undefined) || canNameModel(caller, model)

/** Finds the model that answers a request: the one that is named, or the first fallback of an assistant that can. */
export async function findRequestedModel(
  ctx: ChatContext,
  request: AiRequest,
  find?: FindModel,
): Promise<FoundModel | undefined> {
  if (!isOpenToToken(ctx, request)) return undefined
  const { model: first, assistant } = request
  for (const name of [first, ...(assistant?.fallback ?? [])]) {
    const model = await findAnsweringModel(ctx, name, find)
    if (model) return { name, model }
  }
  return undefined
}

/** Lists the fallbacks of a request after the model that answers: those of its assistant, then those of the model. */
export function listFallbacks({ model: first, assistant }: AiRequest, { name, model }: FoundModel): string[] {
  const ofAssistant = [first, ...(assistant?.fallback ?? [])]
  const remaining = [...ofAssistant.slice(ofAssistant.indexOf(name) + 1), ...model.fallback]
  return [...new Set(remaining)].filter((other) => other !== name && other !== model.modelId)
}

/**
 * Notes that another model answers than the one that was asked: in the response, and for a successor in the audit log once
 * a day.
 */
export function noteAnsweringModel(ctx: ChatContext, { model: asked }: AiRequest, { name, model }: FoundModel): void {
  const { modelId } = model
  if (modelId !== asked) ctx.notes.setAnsweredBy(modelId)
  if (modelId !== name) void recordRedirect(ctx, name, modelId)
}

async function recordRedirect({ requestId, services }: ChatContext, name: string, successor: string): Promise<void> {
  // Without the store, an entry too many is better than none.
  const isFirst = await services.stores.kv
    .setIfAbsent(`redirect:${getDayBefore(0)}:${name}:${successor}`, '1', DAY_MS)
    .catch(() => true)
  if (!isFirst) return
  services.process.audit.append({
    act: 'models.redirect',
    outcome: 'ok',
    actor: 'host',
    subject: `ai-models:${name}`,
    requestId,
    origin: null,
    change: JSON.stringify({ successor }),
  })
}

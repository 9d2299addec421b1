import type { FindModel } from '../ports/ai/callable-models.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { DAY_MS, getDayBefore } from '../ports/days.ts'
import { type ChatContext, findUsableModel } from './chat-context.ts'

/** Models that may follow one another; a circle ends here, too. */
const MAX_STEPS = 5

/**
 * Finds the chat model that answers a request for a name: the model itself, or after its end the successor that
 * administrators let answer in its place. A model that is only offline is never replaced, and neither is one whose
 * successor the caller may not use.
 */
export async function findAnsweringModel(
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

/** Notes that a successor answers: in the response, and in the audit log once a day. */
export function noteSuccessor(ctx: ChatContext, name: string, { modelId }: CallableModel): void {
  if (modelId === name) return
  ctx.notes.setAnsweredBy(modelId)
  void recordRedirect(ctx, name, modelId)
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

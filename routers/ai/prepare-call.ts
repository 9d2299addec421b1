import { Problem } from '../core/problems.ts'
import { type CallableModels, CatalogueOutdated, type FindModel } from '../ports/ai/callable-models.ts'
import { attachmentTextKey } from '../ports/ai/prompt-files.ts'
import { type ChatContext, consumeAiQuota } from './chat-context.ts'
import { PendingTextsProblem } from './request/attachments.ts'

/** Prepares a call up to its reservation; if it fails, it must leave nothing behind. `countRequest` counts only once. */
type Preparation<Call> = (find: FindModel, countRequest: () => Promise<void>) => Promise<Call>

/**
 * Prepares a call, with the models of the cache first. Repeats the preparation with the models of the database if an
 * outdated model may have caused the failure, and after each extracted text while the texts of files are pending.
 */
export async function prepareCall<Call>(ctx: ChatContext, prepare: Preparation<Call>): Promise<Call> {
  const { settings } = ctx.services
  const { callableModels } = ctx.services.ai
  const { notifier } = ctx.services.changes
  let counted: Promise<void> | undefined
  const countRequest = () => (counted ??= consumeAiQuota(ctx))

  const attempt = async (find?: FindModel): Promise<Call | PendingTextsProblem> => {
    const cache = new CachedModels(callableModels)
    try {
      return await prepare(find ?? cache.find, countRequest)
    } catch (error) {
      if (cache.isUsed && mayBeOutdated(error)) return attempt(callableModels.find)
      if (error instanceof PendingTextsProblem) return error
      throw error
    }
  }

  const first = await attempt()
  if (!(first instanceof PendingTextsProblem)) return first
  // The request counts now, so that nobody has more requests waiting than they may send.
  await countRequest()
  const callerSignal = ctx.signal()
  let pending = first
  const attemptAgain = async () => {
    if (callerSignal.aborted) throw new Problem('client_gone')
    const call = await attempt()
    if (!(call instanceof PendingTextsProblem)) return call
    pending = call
    return undefined
  }
  const signal = AbortSignal.any([callerSignal, AbortSignal.timeout(settings.textWait)])
  const call = await notifier.waitFor(first.attachmentIds.map(attachmentTextKey), attemptAgain, signal)
  if (call === undefined) throw pending
  return call
}

/** Returns true if an outdated model may have caused the error. Refusals by limits and rates are not repeated, to stay cheap. */
const mayBeOutdated = (error: unknown) =>
  error instanceof CatalogueOutdated ||
  (error instanceof Problem && (error.problem === 'invalid' || error.problem === 'attachment_pending'))

/** Finds models in the cache, and notes whether it had one. */
class CachedModels {
  isUsed = false
  readonly #models: CallableModels

  constructor(models: CallableModels) {
    this.#models = models
  }

  readonly find: FindModel = async (...values) => {
    const model = await this.#models.findCached(...values)
    this.isUsed ||= typeof model?.catalogue === 'number'
    return model
  }
}

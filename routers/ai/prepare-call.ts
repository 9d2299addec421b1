import { Problem } from '../core/problems.ts'
import type { AiServices } from '../core/services.ts'
import type { FindAssistant } from '../ports/ai/callable-assistants.ts'
import { CatalogueOutdated, type FindModel } from '../ports/ai/callable-models.ts'
import { attachmentTextKey } from '../ports/ai/prompt-files.ts'
import { type ChatContext, consumeAiQuota } from './chat-context.ts'
import { PendingTextsProblem } from './request/attachments.ts'

/** Finds what a call needs, and counts its request, though only once. */
export interface CallLookup {
  find: FindModel
  findAssistant: FindAssistant
  countRequest: () => Promise<void>
}

/** Prepares a call up to its reservation; if it fails, it must leave nothing behind. */
type Preparation<Call> = (lookup: CallLookup) => Promise<Call>

/**
 * Prepares a call, with the models and assistants of the cache first. Repeats the preparation with those of the database if
 * an outdated one may have caused the failure, and after each extracted text while the texts of files are pending.
 */
export async function prepareCall<Call>(ctx: ChatContext, prepare: Preparation<Call>): Promise<Call> {
  const { settings } = ctx.services
  const { notifier } = ctx.services.changes
  let counted: Promise<void> | undefined
  const countRequest = () => (counted ??= consumeAiQuota(ctx))

  const attempt = async (isFresh = false): Promise<Call | PendingTextsProblem> => {
    const lookup = new CatalogueLookup(ctx.services.ai, isFresh)
    const { find, findAssistant } = lookup
    try {
      return await prepare({ find, findAssistant, countRequest })
    } catch (error) {
      if (lookup.hasCached && mayBeOutdated(error)) return attempt(true)
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

/** Returns true if an outdated model or assistant may have caused the error. Refusals by limits and rates are not repeated, to stay cheap. */
const mayBeOutdated = (error: unknown) =>
  error instanceof CatalogueOutdated ||
  (error instanceof Problem && ['invalid', 'attachment_pending', 'not_permitted'].includes(error.problem))

/** Finds models and assistants, in the cache unless they must be fresh, and notes whether it had one there. */
class CatalogueLookup {
  hasCached = false
  readonly find: FindModel
  readonly findAssistant: FindAssistant

  constructor({ callableModels: models, callableAssistants: assistants }: AiServices, isFresh: boolean) {
    this.find = this.#observe(isFresh ? models.find : models.findCached)
    this.findAssistant = this.#observe(isFresh ? assistants.find : assistants.findCached)
  }

  #observe<Values extends unknown[], Found extends { catalogue: number | null }>(
    find: (...values: Values) => Promise<Found | undefined>,
  ) {
    return async (...values: Values): Promise<Found | undefined> => {
      const found = await find(...values)
      this.hasCached ||= typeof found?.catalogue === 'number'
      return found
    }
  }
}

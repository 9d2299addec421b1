import { type Issue, Problem } from '../../core/problems.ts'
import { attachmentTextKey } from '../../ports/ai/prompt-files.ts'
import type { ChatContext } from '../chat-context.ts'

/** Signals that the text of some files is still being extracted. */
export class PendingTextsProblem extends Problem {
  /** Ids of the request's attachments. */
  readonly attachmentIds: readonly number[]

  constructor(issues: readonly Issue[], attachmentIds: readonly number[]) {
    super('attachment_pending', { issues })
    this.attachmentIds = attachmentIds
  }
}

interface PreparationOptions<Call> {
  attempt: () => Promise<Call>
  /** Counts the request against the rate limit, so that nobody has more requests waiting than they may send. */
  consumeQuota: () => Promise<void>
}

/** Prepares a call, and retries while the text of its files is being extracted. Throws after the configured wait. */
export async function retryWhileTextsPending<Call>(
  ctx: ChatContext,
  { attempt, consumeQuota }: PreparationOptions<Call>,
): Promise<Call> {
  const first = await attempt().catch(catchPendingTexts)
  if (!(first instanceof PendingTextsProblem)) return first
  await consumeQuota()
  const { notifier, settings } = ctx.services
  const callerSignal = ctx.signal()
  let pending = first
  const retry = async () => {
    if (callerSignal.aborted) throw new Problem('client_gone')
    const call = await attempt().catch(catchPendingTexts)
    if (!(call instanceof PendingTextsProblem)) return call
    pending = call
    return undefined
  }
  const signal = AbortSignal.any([callerSignal, AbortSignal.timeout(settings.textWait)])
  const call = await notifier.waitFor(first.attachmentIds.map(attachmentTextKey), retry, signal)
  if (call === undefined) throw pending
  return call
}

function catchPendingTexts(error: unknown): PendingTextsProblem {
  if (error instanceof PendingTextsProblem) return error
  throw error
}

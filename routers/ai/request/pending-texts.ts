import { type Issue, Problem } from '../../core/problems.ts'
import { attachmentTextKey } from '../../ports/ai/prompt-files.ts'
import type { ChatContext } from '../chat-context.ts'

/** Says that the texts of files of a request are still being read. */
export class PendingTexts extends Problem {
  /** Ids of the attachments of the request. */
  readonly attachments: readonly number[]

  constructor(issues: readonly Issue[], attachments: readonly number[]) {
    super('attachment_pending', { issues })
    this.attachments = attachments
  }
}

interface Preparation<Call> {
  attempt: () => Promise<Call>
  /** Counts the request, so that nobody has more waiting than they may ask. */
  consumeQuota: () => Promise<void>
}

/** Prepares a call; where the texts of its files are still being read, again when they are. Throws where that takes too long. */
export async function untilTextsAreRead<Call>(
  ctx: ChatContext,
  { attempt, consumeQuota }: Preparation<Call>,
): Promise<Call> {
  const first = await attempt().catch(toPendingTexts)
  if (!(first instanceof PendingTexts)) return first
  await consumeQuota()
  const { notifier, settings } = ctx.services
  const gone = ctx.signal()
  let pending = first
  const tryAgain = async () => {
    if (gone.aborted) throw new Problem('client_gone')
    const call = await attempt().catch(toPendingTexts)
    if (!(call instanceof PendingTexts)) return call
    pending = call
    return undefined
  }
  const signal = AbortSignal.any([gone, AbortSignal.timeout(settings.textWait)])
  const call = await notifier.waitFor(first.attachments.map(attachmentTextKey), tryAgain, signal)
  if (call === undefined) throw pending
  return call
}

function toPendingTexts(error: unknown): PendingTexts {
  if (error instanceof PendingTexts) return error
  throw error
}

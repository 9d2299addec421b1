import type { StreamPart, UsagePart } from '../../ai/answer.ts'
import type { MeteredCall } from '../../ai/metered-call.ts'
import { type ErrorCode, Problem } from '../../core/problems.ts'
import type { FinishReason } from '../../ports/ai/models.ts'

/** An answer as members of a room read it. */
export interface RoomAnswer {
  text: string
  citations: { url: string; title: string | undefined }[]
  finish: FinishReason
  /** Why it is not whole, where somebody else than its asker ended it. */
  error: ErrorCode | null
}

const types = ['delta', 'source', 'finish', 'usage'] as const satisfies StreamPart['type'][]

const errors = { limit: 'limit_reached', refusal: 'provider_refused' } as const

/** Takes an answer as it comes, so that one that is ended before is paid as far as it came. One without a word fails. */
export async function answerOf(call: MeteredCall): Promise<RoomAnswer> {
  const answer: RoomAnswer = { text: '', citations: [], finish: 'stop', error: null }
  for await (const part of await call.stream(types)) {
    if (part.type === 'delta') answer.text += part.text
    else if (part.type === 'source') answer.citations.push({ url: part.url, title: part.title })
    else if (part.type === 'finish') answer.finish = part.reason
    else return endedBy(part.cut, answer)
  }
  throw new Problem('client_gone')
}

function endedBy(cut: UsagePart['cut'], answer: RoomAnswer): RoomAnswer {
  const error = cut && cut !== 'length' ? errors[cut] : null
  if (error && answer.text === '') throw new Problem(error)
  return { ...answer, error }
}

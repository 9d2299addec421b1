import type { StreamPart } from '../../ai/answer.ts'
import type { MeteredCall } from '../../ai/metered-call.ts'
import { Problem } from '../../core/problems.ts'

/** An answer as members of a room read it. */
export interface RoomAnswer {
  text: string
  citations: { url: string; title: string | undefined }[]
}

const types = ['delta', 'source', 'usage'] as const satisfies StreamPart['type'][]

/** Takes an answer as it comes, so that one that is ended before is paid as far as it came. */
export async function answerOf(call: MeteredCall): Promise<RoomAnswer> {
  const answer: RoomAnswer = { text: '', citations: [] }
  for await (const part of await call.stream(types)) {
    if (part.type === 'delta') answer.text += part.text
    else if (part.type === 'source') answer.citations.push({ url: part.url, title: part.title })
    else if (part.cut) throw new Problem('limit_reached')
    else return answer
  }
  throw new Problem('client_gone')
}

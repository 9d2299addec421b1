import { type Answer, emptyAnswer } from '../shared/answer/answer.ts'
import type { StoredMessage } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'

/** A message whose content could be read, or that says why not. */
export interface OpenedMessage extends Omit<StoredMessage, 'content'> {
  answer: Answer
  /** Whether its content is sealed with another key, or damaged. */
  isUnreadable: boolean
}

export async function openMessage(key: ConversationKey, message: StoredMessage): Promise<OpenedMessage> {
  const { content, ...rest } = message
  if (content === null) return { ...rest, answer: emptyAnswer, isUnreadable: false }
  try {
    const plain = await key.open(content)
    const answer = message.role === 'assistant' ? parseAnswer(plain) : { ...emptyAnswer, text: plain }
    return { ...rest, answer, isUnreadable: false }
  } catch {
    return { ...rest, answer: emptyAnswer, isUnreadable: true }
  }
}

function parseAnswer(plain: string): Answer {
  try {
    const { text, citations, thoughts, tools, ...rest } = JSON.parse(plain) as Partial<Answer>
    if (typeof text !== 'string') return { ...emptyAnswer, text: plain }
    return { ...rest, text, citations: toArray(citations), thoughts: toArray(thoughts), tools: toArray(tools) }
  } catch {
    // An answer that some other front end stored as nothing but its text.
    return { ...emptyAnswer, text: plain }
  }
}

const toArray = <T>(value: T[] | undefined): T[] => (Array.isArray(value) ? value : [])

/** Bytes of what is stored at most. */
const MAX_BYTES = 180_000

/** An answer as it is stored. Where it is too large, what lies beside the text is left out first. */
export function serializeAnswer(answer: Answer, maxBytes = MAX_BYTES): string {
  const whole = JSON.stringify(answer)
  if (countBytes(whole) <= maxBytes) return whole
  const { text, citations, cut } = answer
  const write = (shown: string) => JSON.stringify({ text: shown, citations: citations.slice(0, 50), cut })
  // Signs that are written as several make it longer than its text.
  let shown = truncateToBytes(text, maxBytes / 2)
  while (countBytes(write(shown)) > maxBytes && shown !== '') shown = truncateToBytes(shown, countBytes(shown) / 2)
  return write(shown)
}

const encoder = new TextEncoder()

const countBytes = (text: string): number => encoder.encode(text).length

/** The beginning of a text that takes so many bytes at most. */
export const truncateToBytes = (text: string, maxBytes: number): string =>
  text.slice(0, encoder.encodeInto(text, new Uint8Array(maxBytes)).read)

import { type Answer, emptyAnswer } from '../shared/answer/answer.ts'
import type { StoredMessage } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'

/** A message with its decrypted content. */
export interface OpenedMessage extends Omit<StoredMessage, 'content'> {
  answer: Answer
  /** True if the content is damaged or encrypted with another key. */
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
    // Some other front ends store an answer as plain text.
    return { ...emptyAnswer, text: plain }
  }
}

const toArray = <T>(value: T[] | undefined): T[] => (Array.isArray(value) ? value : [])

/** The largest content in bytes, before encryption. */
const MAX_BYTES = 180_000

/**
 * Serializes an answer for storage. A large one loses its thoughts and tool calls first, and then the end of its text.
 */
export function serializeAnswer(answer: Answer, maxBytes = MAX_BYTES): string {
  const whole = JSON.stringify(answer)
  if (countBytes(whole) <= maxBytes) return whole
  const { text, citations, cut } = answer
  const write = (shortened: string) => JSON.stringify({ text: shortened, citations: citations.slice(0, 50), cut })
  // Escaped characters take more bytes in JSON than in the text.
  let shortened = truncateToBytes(text, maxBytes / 2)
  while (countBytes(write(shortened)) > maxBytes && shortened !== '')
    shortened = truncateToBytes(shortened, countBytes(shortened) / 2)
  return write(shortened)
}

const encoder = new TextEncoder()

const countBytes = (text: string): number => encoder.encode(text).length

/** Returns the longest beginning of a text that takes at most so many bytes. */
export const truncateToBytes = (text: string, maxBytes: number): string =>
  text.slice(0, encoder.encodeInto(text, new Uint8Array(maxBytes)).read)

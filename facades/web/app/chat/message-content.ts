import type { StoredMessage } from '../shared/api/types.ts'
import { type Answer, emptyAnswer, parseAnswer } from '../shared/conversation/answer.ts'

/** A message with its decrypted content. */
export interface OpenedMessage extends Omit<StoredMessage, 'content' | 'number'> {
  /** The number in its conversation, by which `parent` refers to a message; the first is 1. */
  number: number
  answer: Answer
  /** True if the content is damaged or encrypted with another key. */
  isUnreadable: boolean
}

/** Opens what a conversation's key has sealed. */
interface Opener {
  open(sealed: string): Promise<string>
}

export async function openMessage(key: Opener, message: StoredMessage): Promise<OpenedMessage> {
  const { content, ...stored } = message
  const rest = { ...stored, number: readNumber(stored.number) }
  if (content === null) return { ...rest, answer: emptyAnswer, isUnreadable: false }
  try {
    const plain = await key.open(content)
    const answer = message.role === 'assistant' ? parseAnswer(plain) : { ...emptyAnswer, text: plain }
    return { ...rest, answer, isUnreadable: false }
  } catch {
    return { ...rest, answer: emptyAnswer, isUnreadable: true }
  }
}

/** Reads the number of a message as the service and addresses write it, such as 12 from `12.000`. */
export const readNumber = (written: string): number => Number.parseInt(written, 10)

/** Writes the number of a message for the service and for addresses, such as `12.000`. */
export const writeNumber = (number: number): string => `${number}.000`

/** The largest content in bytes, before encryption. */
const MAX_BYTES = 180_000

/**
 * Serializes an answer for storage. A large one loses its thoughts and tool calls first, and then the end of its text.
 */
export function serializeAnswer(answer: Answer, maxBytes = MAX_BYTES): string {
  const whole = JSON.stringify(answer)
  if (countBytes(whole) <= maxBytes) return whole
  const { text, citations, cut, summary, comparison } = answer
  const write = (shortened: string) =>
    JSON.stringify({ text: shortened, citations: citations.slice(0, 50), cut, summary, comparison })
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

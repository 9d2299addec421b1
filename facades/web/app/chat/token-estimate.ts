import { joinTexts } from '../shared/conversation/answer-segments.ts'
import type { OpenedMessage } from './message-content.ts'

const encoder = new TextEncoder()

/** Estimates the tokens of a text as the service does, which refuses what is longer than a model takes. */
export const estimateTokens = (text: string): number => (2 * encoder.encode(text).length - text.length) / 4

/** Returns the beginning of a text that takes so many tokens, or half of it where that is not known. */
export function takeBeginning(text: string, maxTokens = estimateTokens(text) / 2): string {
  const tokens = estimateTokens(text)
  return tokens <= maxTokens ? text : text.slice(0, Math.floor((text.length * maxTokens) / tokens)).toWellFormed()
}

/** The tokens of a picture, of the words around a file, and of so many bytes of a document. */
const [IMAGE_TOKENS, BLOCK_TOKENS, PAGE_TOKENS, PAGE_BYTES] = [1600, 100, 1500, 50_000]

type FileFacts = Pick<OpenedMessage['attachments'][number], 'fileType' | 'mime' | 'bytes'>

export function estimateFileTokens({ fileType, mime, bytes }: FileFacts): number {
  if (fileType === 'image') return IMAGE_TOKENS
  if (/^text\/(?!rtf$)/.test(mime) || mime === 'application/json') return BLOCK_TOKENS + bytes / 4
  return Math.max(1, Math.ceil(bytes / PAGE_BYTES)) * PAGE_TOKENS
}

export type CountedMessage = Pick<OpenedMessage, 'number' | 'role' | 'answer' | 'attachments'>

const textTokens = new WeakMap<object, number>()

/** Estimates the tokens of the text of a message. */
export function estimateTextTokens({ answer }: Pick<CountedMessage, 'answer'>): number {
  const known = textTokens.get(answer)
  if (known !== undefined) return known
  const tokens = estimateTokens(joinTexts(answer))
  textTokens.set(answer, tokens)
  return tokens
}

/** Estimates the tokens of a message with its files, which are sent as names before the message `filesFrom`. */
export function estimateMessageTokens(message: CountedMessage, filesFrom = 0): number {
  const files = message.attachments.map((file) =>
    message.number < filesFrom ? BLOCK_TOKENS : estimateFileTokens(file),
  )
  return estimateTextTokens(message) + sum(files)
}

export const sumTokens = (messages: readonly CountedMessage[], filesFrom = 0): number =>
  sum(messages.map((message) => estimateMessageTokens(message, filesFrom)))

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

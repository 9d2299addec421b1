import type { History, PathMessage } from './sent-history.ts'
import { planSummary } from './summary-plan.ts'
import { estimateFileTokens, estimateTextTokens, sumTokens } from './token-estimate.ts'

type File = PathMessage['attachments'][number]

/** Why a model could not read a question with what goes before it. */
export interface Overflow {
  /** True if a summary of what goes before the question would help. */
  canSummarise: boolean
  /** The number of the question, which is too long by itself otherwise. */
  question: number
  /** True if other questions follow it, which another version of it would leave behind. */
  isFollowed: boolean
  /** The longest of its files, if that is longer than its text. */
  file: File | undefined
  /** The tokens that are left for the file; undefined if that is not known. */
  room: number | undefined
}

/** The least share of a model's input that the beginning of a file gets, and the most that is filled by it. */
const [LEAST_SHARE, MOST_SHARE] = [0.2, 0.75]

/** Finds out what makes the questions at the end of a history too long for a model. */
export function findOverflow(
  history: History,
  maxTokens: number | undefined,
  instructionTokens: number,
): Overflow | undefined {
  const { messages, summary } = history
  const questions = messages.slice(messages.findLastIndex(({ role }) => role !== 'user') + 1)
  const pieces = questions.flatMap((message) => [
    { question: message.number, file: undefined, tokens: estimateTextTokens(message) },
    ...message.attachments.map((file) => ({ question: message.number, file, tokens: estimateFileTokens(file) })),
  ])
  const longest = pieces.toSorted((one, other) => other.tokens - one.tokens)[0]
  if (!longest) return undefined
  const isTooLong = maxTokens !== undefined && instructionTokens + sumTokens(questions) > maxTokens
  const others = instructionTokens + (summary ? estimateTextTokens(summary) : 0) + sumTokens(messages) - longest.tokens
  return {
    canSummarise: !isTooLong && planSummary(history, maxTokens) !== undefined,
    question: longest.question,
    isFollowed: longest.question !== questions.at(-1)?.number,
    file: longest.file,
    room: maxTokens && Math.max(LEAST_SHARE * maxTokens, MOST_SHARE * maxTokens - others),
  }
}

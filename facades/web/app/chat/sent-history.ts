import { MAX_HISTORY, selectHistory } from './history.ts'
import type { OpenedMessage } from './message-content.ts'
import { type CountedMessage, estimateTextTokens, sumTokens } from './token-estimate.ts'

export type PathMessage = CountedMessage & Pick<OpenedMessage, 'isUnreadable' | 'parent'>

export const isSummary = ({ answer }: Pick<PathMessage, 'answer'>): boolean => answer.summary !== undefined

/** Returns the summary of a path that is in use: the last one that the person has not undone. */
export const findSummary = <M extends PathMessage>(path: readonly M[]): M | undefined =>
  path.findLast(
    ({ number, answer: { text, summary }, isUnreadable }) =>
      summary && !summary.isUndone && summary.firstSent < number && text.trim() !== '' && !isUnreadable,
  )

/** The part of a path that a model gets: a summary of its beginning, and the messages after that. */
export interface History<M extends PathMessage = PathMessage> {
  summary: M | undefined
  messages: readonly M[]
}

/** Splits a path at its summary, or at one that stands before the part that is loaded. */
export function splitPath<M extends PathMessage>(path: readonly M[], earlier?: M | null): History<M> {
  const summary = findSummary(path) ?? earlier ?? undefined
  const first = summary?.answer.summary?.firstSent ?? 0
  return { summary, messages: path.filter((message) => !isSummary(message) && message.number >= first) }
}

/** Selects what is sent of a path. The number of messages is bounded, and the summary is sent even if it is older. */
export function selectSent<M extends PathMessage>(path: readonly M[], earlier?: M | null): History<M> {
  const { summary, messages } = splitPath(path, earlier)
  return { summary, messages: selectHistory(messages) }
}

/** Returns true if a path begins with the first message of its chat. */
export const isWhole = ([first]: readonly Pick<OpenedMessage, 'parent'>[]): boolean => first?.parent === 0

/** Returns true if all that `selectSent` can send is loaded, but for a summary that stands before the path. */
export function hasWholeHistory(path: readonly PathMessage[]): boolean {
  const { messages } = splitPath(path)
  return messages.length > MAX_HISTORY || hasWholeSummary(path)
}

/** Returns true if a path has a summary and all messages that are sent after it. */
export function hasWholeSummary(path: readonly PathMessage[]): boolean {
  const reach = findSummary(path)?.answer.summary
  return reach !== undefined && (path[0]?.number ?? 0) <= reach.firstSent
}

/** The last questions whose files are always sent as they are. */
const RECENT_QUESTIONS = 2

/**
 * Returns the number of the first message whose files are sent as they are. Once the history takes more than half of
 * the model's input, files before the last two questions are only named. A question that is still to come is one of
 * them.
 */
export function findFirstWithFiles(
  { summary, messages }: History,
  maxTokens: number | undefined,
  isBeforeQuestion = false,
): number {
  if (maxTokens === undefined) return 0
  const whole = sumTokens(messages) + (summary ? estimateTextTokens(summary) : 0)
  if (whole <= maxTokens / 2) return 0
  const questions = messages.filter(({ role }) => role === 'user')
  const recent = questions.at(isBeforeQuestion ? 1 - RECENT_QUESTIONS : -RECENT_QUESTIONS)
  return recent?.number ?? 0
}

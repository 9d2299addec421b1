import { findFirstWithFiles, hasWholeHistory, isWhole, type PathMessage, selectSent } from './sent-history.ts'
import { estimateTextTokens, sumTokens } from './token-estimate.ts'

/** The shares of a model's input from which a chat shows how full it is, and offers a summary. */
export const [SHOWN_SHARE, FULL_SHARE] = [0.6, 0.85]

/**
 * Measures what the next question is sent with, in tokens: as its model counted it for the last answer without tools,
 * whose rounds are added up, and what was added since by estimate. All of it is estimated where there is no such answer,
 * or none since the summary.
 */
export function measureContext(
  path: readonly PathMessage[],
  maxTokens: number | undefined,
  instructionTokens: number,
): number {
  const history = selectSent(path)
  const { summary, messages } = history
  const counted = findCounted(path)
  if (counted) {
    const { contextTokens, inputTokens = 0, outputTokens = 0 } = counted.answer.usage ?? {}
    const added = messages.filter(({ number }) => number > counted.number)
    return (contextTokens ?? inputTokens + outputTokens) + sumTokens(added)
  }
  const summaryTokens = summary ? estimateTextTokens(summary) : 0
  return instructionTokens + summaryTokens + sumTokens(messages, findFirstWithFiles(history, maxTokens))
}

/** Returns false if messages before those that are loaded count as well. */
export const isMeasurable = (path: readonly PathMessage[]): boolean =>
  isWhole(path) || hasWholeHistory(path) || findCounted(path) !== undefined

/** Returns the last answer whose model counted what the next question is sent with. */
function findCounted(path: readonly PathMessage[]): PathMessage | undefined {
  if (path.some(({ answer }) => answer.summary?.isUndone)) return undefined
  const { summary, messages } = selectSent(path)
  return messages.findLast(
    ({ role, number, answer }) =>
      role === 'assistant' && number > (summary?.number ?? 0) && answer.usage && answer.tools.length === 0,
  )
}

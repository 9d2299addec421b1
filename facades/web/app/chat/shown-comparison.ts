import type { Comparison, Side } from '../shared/conversation/answer.ts'
import type { PathStep } from './branches.ts'
import type { OpenedMessage } from './message-content.ts'
import { isStreaming, type Turn, useTurn } from './turn.ts'

/** One side of a comparison: the answer while it streams or has failed, or as it is stored. */
interface ComparedAnswer {
  turn: Turn | undefined
  message: OpenedMessage | undefined
}

/** Two answers to one question that are shown side by side until the person has chosen. */
export interface ShownComparison {
  slug: string
  /** The number of the question. */
  parent: number
  comparison: Comparison
  answers: readonly [ComparedAnswer, ComparedAnswer]
  /** True while an answer streams. */
  isRunning: boolean
  /** True if there is an answer to choose, or will be. */
  isOpen: boolean
}

/** Finds the comparison that streams into the conversation, or with which its shown path ends. */
export function useShownComparison(
  slug: string,
  messages: readonly OpenedMessage[],
  steps: readonly PathStep[],
): ShownComparison | undefined {
  const turns = [useTurn(slug, 0), useTurn(slug, 1)] as const
  const running = turns[0] ?? turns[1]
  const end = steps.at(-1)
  const comparison = running?.comparison ?? end?.message.answer.comparison
  if (!comparison) return undefined
  const parent = running?.parent ?? end?.parentNumber ?? 0
  const siblings = messages.filter(
    (message) => message.parent === parent && message.answer.comparison?.id === comparison.id,
  )
  const isRunning = turns.some(isStreaming)
  // Another tab may have chosen, while this one still knows of a failure.
  if (!isRunning && siblings.some(({ answer }) => answer.comparison?.isChosen)) return undefined
  const findAnswer = (side: Side): ComparedAnswer => ({
    turn: turns[side],
    message: siblings.findLast(({ answer }) => answer.comparison?.side === side),
  })
  return {
    slug,
    parent,
    comparison,
    answers: [findAnswer(0), findAnswer(1)],
    isRunning,
    isOpen: isRunning || siblings.length > 0,
  }
}

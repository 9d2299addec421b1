import { useEffect } from 'react'
import { type Comparison, otherSide, type Side } from '../shared/conversation/answer.ts'
import type { PathStep } from './branches.ts'
import type { OpenedMessage } from './message-content.ts'
import { isStreaming, type Turn, turns, useTurn } from './turn.ts'

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
  const sideTurns = [useTurn(slug, 0), useTurn(slug, 1)] as const
  const running = sideTurns[0] ?? sideTurns[1]
  const end = steps.at(-1)
  const comparison = running?.comparison ?? end?.message.answer.comparison
  const parent = running?.parent ?? end?.parentNumber ?? 0
  const siblings = messages.filter(
    ({ parent: of, answer }) => comparison && of === parent && answer.comparison?.id === comparison.id,
  )
  const isRunning = sideTurns.some(isStreaming)
  const chosen = siblings.find(({ answer }) => answer.comparison?.isChosen)?.answer.comparison?.side
  useEffect(() => {
    // Another tab has chosen while this one asks for the other answer.
    if (!isRunning || chosen === undefined) return
    turns.recordChoice(slug, chosen)
    void turns.end(slug, otherSide(chosen))
  }, [slug, isRunning, chosen])
  // Another tab may have chosen, while this one still knows of a failure.
  if (!comparison || (!isRunning && chosen !== undefined)) return undefined
  const findAnswer = (side: Side): ComparedAnswer => ({
    turn: sideTurns[side],
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

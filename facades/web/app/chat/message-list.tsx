import { useLayoutEffect, useRef } from 'react'
import { MessageLog, MoreButton, useFollowEnd } from '../shared/conversation/message-log.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import type { PathStep } from './branches.ts'
import { AnswerMessage, QuestionMessage } from './message.tsx'
import { writeNumber } from './message-content.ts'
import type { Turn } from './turn.ts'

interface MessageListProps {
  steps: readonly PathStep[]
  turn: Turn | undefined
  /** The number of the message to scroll to; undefined if there is none. */
  targetNumber: number | undefined
  models: readonly ChatModel[]
  hasEarlier: boolean
  /** The error of reading earlier messages. */
  earlierError: unknown
  loadEarlier: () => void
}

/** The messages of a conversation, with the streaming answer at the end. */
export function MessageList(props: MessageListProps) {
  const { steps, turn, targetNumber, models, hasEarlier, earlierError, loadEarlier } = props
  const follow = useFollowEnd({ isWaiting: turn?.phase === 'waiting' })
  useScrollToTarget(targetNumber, steps, follow.stopFollowing)
  return (
    <MessageLog label={t('app.messages')} follow={follow} showNewest={follow.showEnd}>
      {hasEarlier && <MoreButton label={t('app.messages.earlier')} show={loadEarlier} />}
      <ErrorMessage error={earlierError} className="notice wrong" />
      {renderRows({ steps, turn, targetNumber, models })}
    </MessageLog>
  )
}

/** Keys answers by their parent, which is known before they are stored. A failed answer may be stored in part. */
const renderRows = ({
  steps,
  turn,
  targetNumber,
  models,
}: Pick<MessageListProps, 'steps' | 'turn' | 'targetNumber' | 'models'>) => {
  const failure = turn?.phase === 'failed' ? turn.error : undefined
  const rows = steps.map((step, index) => {
    const { message, parentNumber } = step
    const shared = { step, models, isTarget: message.number === targetNumber }
    if (message.role === 'user')
      return (
        <SourceBoundary key={message.number} source={message.answer.text}>
          <QuestionMessage {...shared} />
        </SourceBoundary>
      )
    const isLast = !turn && index === steps.length - 1
    const error = parentNumber === turn?.parent ? failure : undefined
    return <AnswerMessage key={`after ${parentNumber}`} {...shared} failure={error} isLast={isLast} />
  })
  const isStored = steps.some(
    ({ message, parentNumber }) => message.role === 'assistant' && parentNumber === turn?.parent,
  )
  if (!turn || isStored) return rows
  return [...rows, <AnswerMessage key={`after ${turn.parent}`} turn={turn} failure={failure} models={models} />]
}

/** Scrolls to a message once it is rendered. */
function useScrollToTarget(
  targetNumber: number | undefined,
  steps: readonly PathStep[],
  stopFollowing: () => void,
): void {
  const scrolledTo = useRef<number>(undefined)
  useLayoutEffect(() => {
    if (targetNumber === undefined || targetNumber === scrolledTo.current) return
    if (!steps.some(({ message }) => message.number === targetNumber)) return
    scrolledTo.current = targetNumber
    stopFollowing()
    document.getElementById(writeNumber(targetNumber))?.scrollIntoView({ block: 'center' })
  }, [targetNumber, steps, stopFollowing])
}

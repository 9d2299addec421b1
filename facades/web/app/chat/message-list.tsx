import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { type PathStep, toMessageNumber } from './branches.ts'
import { AnswerMessage, QuestionMessage } from './message.tsx'
import type { Turn } from './turn.ts'

/** Pixels from the end within which a reader counts as following it. */
const NEAR_END = 48

interface MessageListProps {
  steps: readonly PathStep[]
  turn: Turn | undefined
  /** The number of the message to scroll to; empty if there is none. */
  targetNumber: string
  models: readonly ChatModel[]
  hasEarlier: boolean
  /** The error of reading earlier messages. */
  earlierError: unknown
  loadEarlier: () => void
}

/** The messages of a conversation, with the streaming answer at the end. */
export function MessageList(props: MessageListProps) {
  const { steps, turn, targetNumber, models, hasEarlier, earlierError, loadEarlier } = props
  const { scroller, content, spacer, isAtEnd, showEnd, stopFollowing } = useFollowEnd(turn)
  useScrollToTarget(targetNumber, steps, stopFollowing)
  return (
    <div className="thread">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
      <div className="messages" ref={scroller} tabIndex={0} role="log" aria-live="off" aria-label={t('app.messages')}>
        <div ref={content}>
          {hasEarlier && (
            <button type="button" className="plain-button earlier" onClick={loadEarlier}>
              {t('app.messages.earlier')}
            </button>
          )}
          <ErrorMessage error={earlierError} className="notice wrong" />
          {renderRows({ steps, turn, targetNumber, models })}
        </div>
        <div ref={spacer} />
      </div>
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={showEnd}>
          <Icon name="arrowDown" /> {t('app.messages.latest')}
        </button>
      )}
    </div>
  )
}

/** Keys answers by their parent, which is known before they are stored. A failed answer may be stored in part. */
const renderRows = ({
  steps,
  turn,
  targetNumber,
  models,
}: Pick<MessageListProps, 'steps' | 'turn' | 'targetNumber' | 'models'>) => {
  const openNumber = turn && toMessageNumber(turn.parent)
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
    const error = parentNumber === openNumber ? failure : undefined
    return <AnswerMessage key={`after ${parentNumber}`} {...shared} failure={error} isLast={isLast} />
  })
  const isStored = steps.some(
    ({ message, parentNumber }) => message.role === 'assistant' && parentNumber === openNumber,
  )
  if (!turn || isStored) return rows
  return [...rows, <AnswerMessage key={`after ${openNumber}`} turn={turn} failure={failure} models={models} />]
}

/**
 * Scrolls with the end while the reader is there, and stays put once they scroll up. After a question there is space
 * below it, so that the question moves to the top and the answer is read from its beginning.
 */
function useFollowEnd(turn: Turn | undefined) {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const spacer = useRef<HTMLDivElement>(null)
  const isFollowing = useRef(true)
  const hasAsked = useRef(false)
  const [isAtEnd, setAtEnd] = useState(true)
  const showEnd = () => scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  useLayoutEffect(() => {
    if (turn?.phase !== 'waiting') return
    hasAsked.current = true
    isFollowing.current = true
  }, [turn?.phase])
  useEffect(() => {
    const [box, inner, room] = [scroller.current, content.current, spacer.current]
    if (!box || !inner || !room) return
    let before = box.scrollTop
    const update = () => {
      const isNear = getDistanceToEnd(box) < NEAR_END
      // Growing content does not end the following, only scrolling up does.
      if (isNear || box.scrollTop < before) isFollowing.current = isNear
      before = box.scrollTop
      setAtEnd(isNear)
    }
    const adjust = () => {
      const hadSpace = room.offsetHeight > 0
      const height = hasAsked.current ? getMissingHeight(box, inner) : 0
      room.style.height = `${height}px`
      // The answer now fills the view, so the reader at its beginning is not moved on.
      if (hadSpace && height === 0) isFollowing.current = false
      if (isFollowing.current) box.scrollTop = box.scrollHeight
      setAtEnd(getDistanceToEnd(box) < NEAR_END)
    }
    const observer = new ResizeObserver(adjust)
    observer.observe(inner)
    observer.observe(box)
    box.addEventListener('scroll', update, { passive: true })
    return () => {
      observer.disconnect()
      box.removeEventListener('scroll', update)
    }
  }, [])
  const stopFollowing = () => {
    isFollowing.current = false
  }
  return { scroller, content, spacer, isAtEnd, showEnd, stopFollowing }
}

/** Scrolls to a message once it is rendered. */
function useScrollToTarget(targetNumber: string, steps: readonly PathStep[], stopFollowing: () => void): void {
  const scrolledTo = useRef('')
  useLayoutEffect(() => {
    if (targetNumber === scrolledTo.current || !steps.some(({ message }) => message.number === targetNumber)) return
    scrolledTo.current = targetNumber
    stopFollowing()
    document.getElementById(targetNumber)?.scrollIntoView({ block: 'center' })
  }, [targetNumber, steps, stopFollowing])
}

const getDistanceToEnd = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement) =>
  scrollHeight - scrollTop - clientHeight

/** Returns the height that is missing below the last question for it to stand at the top. */
function getMissingHeight(box: HTMLElement, inner: HTMLElement): number {
  const questions = inner.querySelectorAll('article.user')
  const last = questions[questions.length - 1]
  if (!last) return 0
  const { paddingTop, paddingBottom } = getComputedStyle(box)
  const height = box.clientHeight - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom)
  return Math.max(0, height - (inner.getBoundingClientRect().bottom - last.getBoundingClientRect().top))
}

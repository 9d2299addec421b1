import { useLayoutEffect, useRef, useState } from 'react'
import type { Model } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import { Message, TurnMessage } from './message.tsx'
import type { OpenedMessage } from './message-content.ts'
import type { Turn } from './turn.ts'

/** Whoever is so near to the end reads what comes. */
const NEAR_END = 48

interface MessageListProps {
  messages: readonly OpenedMessage[]
  turn: Turn | undefined
  models: readonly Model[]
  hasEarlier: boolean
  loadEarlier: () => void
}

/** What was said, with what is being said at its end. */
export function MessageList({ messages, turn, models, hasEarlier, loadEarlier }: MessageListProps) {
  const { scroller, isAtEnd, showEnd } = useFollowing(messages.length, turn)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div className="messages" ref={scroller} tabIndex={0} role="log" aria-live="off" aria-label={t('app.messages')}>
      {hasEarlier && (
        <button type="button" className="plain-button" onClick={loadEarlier}>
          {t('app.messages.earlier')}
        </button>
      )}
      {messages.map((message) => (
        <Message key={message.number} message={message} models={models} />
      ))}
      {turn && <TurnMessage turn={turn} models={models} />}
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={showEnd}>
          <Icon name="arrowDown" /> {t('app.messages.latest')}
        </button>
      )}
    </div>
  )
}

/** Follows the end while the reader is there. Whoever scrolls up is left where they are. */
function useFollowing(count: number, turn: Turn | undefined) {
  const scroller = useRef<HTMLDivElement>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  const showEnd = () => scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const look = () => setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END)
    element.addEventListener('scroll', look, { passive: true })
    return () => element.removeEventListener('scroll', look)
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown decides where the end is.
  useLayoutEffect(() => {
    if (isAtEnd) scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  }, [count, turn])
  return { scroller, isAtEnd, showEnd }
}

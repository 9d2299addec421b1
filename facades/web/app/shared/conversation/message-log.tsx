import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { t } from '../text/labels.ts'
import { Icon } from '../ui/icon.tsx'

/** Pixels from the end within which a reader counts as following it. */
const NEAR_END = 48

interface MessageLogProps {
  label: string
  follow: ReturnType<typeof useFollowEnd>
  /** Shows the newest messages. */
  showNewest: () => void
  /** True if the newest messages are in the document. */
  isNewest?: boolean
  /** Notices and buttons above the button that leads to the end. */
  notices?: ReactNode
  children: ReactNode
}

/** The scrolled messages of a conversation or room, with a button that leads to their end. */
export const MessageLog = ({ label, follow, showNewest, isNewest = true, notices, children }: MessageLogProps) => (
  <div className="thread">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
    <div className="messages" ref={follow.scroller} tabIndex={0} role="log" aria-live="off" aria-label={label}>
      <div ref={follow.content}>{children}</div>
      <div ref={follow.spacer} />
    </div>
    {notices}
    {!(follow.isAtEnd && isNewest) && (
      <button type="button" className="to-end" onClick={showNewest}>
        <Icon name="arrowDown" /> {t('app.messages.latest')}
      </button>
    )}
  </div>
)

/** The button that shows earlier or later messages. */
export const MoreButton = ({ label, show }: { label: string; show: () => void }) => (
  <button type="button" className="plain-button earlier" onClick={show}>
    {label}
  </button>
)

interface FollowEndOptions {
  /** False while the newest messages are not in the document. */
  isNewest?: boolean
  /** True while a question waits for its answer. */
  isWaiting?: boolean
}

/**
 * Scrolls with the end while the reader is there, and stays put once they scroll up. After a question there is space
 * below it, so that the question moves to the top and the answer is read from its beginning.
 */
export function useFollowEnd({ isNewest = true, isWaiting = false }: FollowEndOptions) {
  const [scroller, content, spacer] = [useElement(), useElement(), useElement()]
  const isFollowing = useRef(true)
  const hasAsked = useRef(false)
  const [isAtEnd, setAtEnd] = useState(true)
  useLayoutEffect(() => {
    if (!isWaiting) return
    hasAsked.current = true
    isFollowing.current = true
  }, [isWaiting])
  useEffect(() => {
    const [box, inner, room] = [scroller.current, content.current, spacer.current]
    if (!box || !inner || !room) return
    let before = box.scrollTop
    const update = () => {
      const isNear = getDistanceToEnd(box) < NEAR_END
      // Growing content does not end the following, only scrolling up does.
      if (isNear || box.scrollTop < before) isFollowing.current = isNear && isNewest
      before = box.scrollTop
      setAtEnd(isNear)
    }
    const adjust = () => {
      // Once the answer fills the view, the reader at its beginning is not moved on.
      if (hasAsked.current && adjustSpace(box, inner, room)) isFollowing.current = false
      if (isFollowing.current && isNewest) box.scrollTop = box.scrollHeight
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
  }, [scroller, content, spacer, isNewest])
  const showEnd = () => {
    isFollowing.current = true
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  }
  const stopFollowing = () => {
    isFollowing.current = false
  }
  return { scroller, content, spacer, isAtEnd, showEnd, stopFollowing }
}

const useElement = (): RefObject<HTMLDivElement | null> => useRef<HTMLDivElement>(null)

const getDistanceToEnd = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement) =>
  scrollHeight - scrollTop - clientHeight

/** Adjusts the space below the last question, and returns true if there was some and is none any more. */
function adjustSpace(box: HTMLElement, inner: HTMLElement, room: HTMLElement): boolean {
  const hadSpace = room.offsetHeight > 0
  const height = getMissingHeight(box, inner)
  room.style.height = `${height}px`
  return hadSpace && height === 0
}

/** Returns the height that is missing below the last question for it to stand at the top. */
function getMissingHeight(box: HTMLElement, inner: HTMLElement): number {
  const questions = inner.querySelectorAll('article.user')
  const last = questions[questions.length - 1]
  if (!last) return 0
  const { paddingTop, paddingBottom } = getComputedStyle(box)
  const height = box.clientHeight - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom)
  return Math.max(0, height - (inner.getBoundingClientRect().bottom - last.getBoundingClientRect().top))
}

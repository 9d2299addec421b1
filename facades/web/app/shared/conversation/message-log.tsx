import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { joinClasses } from '../ui/class-names.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import styles from './message-log.module.css'

/** Pixels from the end within which a reader counts as following it. */
const NEAR_END = 48

interface MessageLogProps {
  label: string
  follow: ReturnType<typeof useFollowEnd>
  /** Shows the newest messages. */
  showNewest: () => void
  /** Shows the first messages of all; undefined if there are none before those in the document. */
  showBeginning?: (() => void) | undefined
  /** True if the newest messages are in the document. */
  isNewest?: boolean
  /** Notices and buttons above the button that leads to the end. */
  notices?: ReactNode
  children: ReactNode
}

/** The scrolled messages of a conversation or room, with buttons that lead to their beginning and their end. */
export function MessageLog(props: MessageLogProps) {
  const { label, follow, showNewest, showBeginning, isNewest = true, notices, children } = props
  const isAtEnd = follow.isAtEnd && isNewest
  const jumpByKey = (event: KeyboardEvent) => {
    const jump = findJump(event, showBeginning, showNewest)
    if (!jump) return
    event.preventDefault()
    jump()
  }
  return (
    <div className={styles.frame}>
      {/* biome-ignore-start lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
      <div
        className={styles.log}
        ref={follow.scroller}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={label}
        onKeyDown={jumpByKey}
      >
        {/* biome-ignore-end lint/a11y/noNoninteractiveTabindex: see above. */}
        <div ref={follow.content}>{children}</div>
        <div className={styles.space} ref={follow.spacer} />
      </div>
      {notices}
      <div className={styles.jumps}>
        {showBeginning && !isAtEnd && (
          <JumpButton icon="arrowUp" label={t('app.messages.beginning')} jump={showBeginning} />
        )}
        {!isAtEnd && <JumpButton icon="arrowDown" label={t('app.messages.latest')} jump={showNewest} />}
      </div>
    </div>
  )
}

/** Returns what a key does, unless it belongs to a field among the messages. */
function findJump(
  { key, ctrlKey, metaKey, altKey, shiftKey, target }: KeyboardEvent,
  showBeginning: (() => void) | undefined,
  showNewest: () => void,
): (() => void) | undefined {
  if (ctrlKey || metaKey || altKey || shiftKey) return undefined
  if (target instanceof HTMLElement && target.matches('input, textarea, select')) return undefined
  if (key === 'Home') return showBeginning
  return key === 'End' ? showNewest : undefined
}

interface JumpButtonProps {
  icon: IconName
  label: string
  jump: () => void
  isAtTop?: boolean
}

/** A button above the messages that leads to others, at their bottom or at their top. */
export const JumpButton = ({ icon, label, jump, isAtTop = false }: JumpButtonProps) => (
  <button type="button" className={joinClasses(styles.jump, isAtTop && styles.top)} onClick={jump}>
    <Icon name={icon} /> {label}
  </button>
)

/** A notice above the end of the messages. */
export const LogNotice = ({ children }: { children: ReactNode }) => <div className={styles.notice}>{children}</div>

interface MoreButtonProps {
  label: string
  show: () => void
  /** Changes with what is shown. Without it the button only acts when it is pressed. */
  position?: string
  /** True while it acts only when it is pressed, such as while messages are read or after that has failed. */
  isPaused?: boolean
}

/** The button that shows earlier or later messages. It acts by itself when a reader comes near it. */
export function MoreButton({ label, show, position, isPaused = false }: MoreButtonProps) {
  const button = useRef<HTMLButtonElement>(null)
  const latest = useRef(show)
  latest.current = show
  // It may still be near when other messages are shown.
  useEffect(() => {
    const element = button.current
    if (!element || isPaused || position === undefined) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && latest.current(), {
      root: element.closest('[role="log"]'),
      rootMargin: NEAR_MARGIN,
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [position, isPaused])
  return (
    <Button ref={button} kind="plain" className={styles.more} onClick={show}>
      {label}
    </Button>
  )
}

/** The distance from which messages are added before the reader has come to their end. */
const NEAR_MARGIN = '600px 0px'

interface FollowEndOptions {
  /** The element that scrolls, where others have to know it. */
  scroller?: RefObject<HTMLDivElement | null>
  /** False while the newest messages are not in the document. */
  isNewest?: boolean
  /** The number of the question that is being answered; undefined if there is none. */
  question?: number | undefined
}

/**
 * Scrolls with the end while the reader is there, and stays put once they scroll up. After a question there is space
 * below it, so that the question moves to the top and the answer is read from its beginning.
 */
export function useFollowEnd({ scroller: known, isNewest = true, question }: FollowEndOptions) {
  const [own, content, spacer] = [useElement(), useElement(), useElement()]
  const scroller = known ?? own
  const isFollowing = useRef(true)
  const hasAsked = useRef(false)
  const [isAtEnd, setAtEnd] = useState(true)
  useLayoutEffect(() => {
    if (question === undefined) return
    hasAsked.current = true
    isFollowing.current = true
  }, [question])
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
  const questions = inner.querySelectorAll('[data-question]')
  const last = questions[questions.length - 1]
  if (!last) return 0
  const { paddingTop, paddingBottom } = getComputedStyle(box)
  const height = box.clientHeight - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom)
  return Math.max(0, height - (inner.getBoundingClientRect().bottom - last.getBoundingClientRect().top))
}

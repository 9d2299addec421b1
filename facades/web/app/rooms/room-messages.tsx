import { memo, useEffect, useLayoutEffect, useReducer, useRef, useState } from 'react'
import { MessageLog, MoreButton, useFollowEnd } from '../shared/conversation/message-log.tsx'
import { language, t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { MessageItem, OutgoingItem } from './message-item.tsx'
import { ReadBy, useFirstUnread, useMarkRead } from './read-state.tsx'
import { useRoom, useRoomView } from './room-context.ts'
import type { RoomMessage } from './room-message.ts'
import { RunningAnswers } from './running-answers.tsx'

/** The most messages in the document, and the messages that are added at once. */
const [WINDOW_SIZE, STEP] = [150, 50]
/** Messages of an author within this time bear the name once. */
const CONTINUATION_MS = 5 * 60_000

interface RoomMessagesProps {
  /** The search hit that was chosen last. */
  target: { id: string } | undefined
}

/** The messages of a room, grouped by day. */
export const RoomMessages = memo(({ target }: RoomMessagesProps) => {
  const [error, setError] = useState<unknown>()
  const list = useMessageWindow(target, setError)
  const follow = useFollowEnd({ isNewest: list.isNewest })
  useMarkRead(follow.isAtEnd && list.isNewest)
  const unread = useFirstUnread(list.show)
  const showNewest = () => {
    setError(undefined)
    list.showNewest()
    follow.showEnd()
  }
  const load = (act: () => Promise<void>) => {
    setError(undefined)
    act().catch(setError)
  }
  const notices = (
    <>
      {unread.canJump && (
        <button type="button" className="to-end to-unread" onClick={() => load(unread.jump)}>
          <Icon name="arrowUp" /> {t('app.rooms.firstUnread')}
        </button>
      )}
      <ErrorMessage error={error} className="notice wrong load-failure" />
    </>
  )
  return (
    <MessageLog
      label={t('app.rooms.messages')}
      follow={follow}
      showNewest={showNewest}
      isNewest={list.isNewest}
      notices={notices}
    >
      <ListStart list={list} showEarlier={() => load(list.showEarlier)} />
      {list.shown.map((message, index) => (
        <SourceBoundary key={message.id} source={message.text}>
          <MessageLine
            message={message}
            before={list.shown[index - 1]}
            isFirstUnread={message.id === unread.id}
            isHighlighted={message.id === target?.id}
          />
        </SourceBoundary>
      ))}
      <ListEnd list={list} />
    </MessageLog>
  )
})

type MessageWindow = ReturnType<typeof useMessageWindow>

/** The button that shows earlier messages, or the beginning of the room. */
function ListStart({ list, showEarlier }: { list: MessageWindow; showEarlier: () => void }) {
  const hasEarlier = useRoomView((view) => view.hasEarlier)
  const isEmpty = useRoomView(({ messages, outgoing }) => messages.length + outgoing.length === 0)
  if (hasEarlier || list.start > 0) return <MoreButton label={t('app.messages.earlier')} show={showEarlier} />
  return isEmpty ? <p className="hint beginning">{t('app.rooms.beginning')}</p> : null
}

/** The button that shows later messages, or the outgoing messages and streaming answers. */
function ListEnd({ list }: { list: MessageWindow }) {
  const outgoing = useRoomView((view) => view.outgoing)
  if (!list.isNewest) return <MoreButton label={t('app.rooms.later')} show={list.showLater} />
  const inRoom = outgoing.filter(({ queued }) => queued.thread === null)
  return (
    <>
      <ReadBy />
      {inRoom.map((each) => (
        <SourceBoundary key={each.queued.clientId} source={each.text}>
          <OutgoingItem message={each} />
        </SourceBoundary>
      ))}
      <RunningAnswers />
    </>
  )
}

interface MessageLineProps {
  message: RoomMessage
  before: RoomMessage | undefined
  isFirstUnread: boolean
  isHighlighted: boolean
}

/** A message, with a line above it where a day or the unread messages begin. */
const MessageLine = memo(({ message, before, isFirstUnread, isHighlighted }: MessageLineProps) => {
  const day = formatDay(message)
  const isNewDay = before === undefined || formatDay(before) !== day
  const isContinued =
    !isNewDay &&
    !isFirstUnread &&
    before.member === message.member &&
    before.model === message.model &&
    Date.parse(message.createdAt) - Date.parse(before.createdAt) < CONTINUATION_MS
  return (
    <>
      {isNewDay && (
        <p className="line">
          <span>{day}</span>
        </p>
      )}
      {isFirstUnread && (
        <p className="line new">
          <span>{t('app.rooms.new.line')}</span>
        </p>
      )}
      <MessageItem message={message} isContinued={isContinued} isHighlighted={isHighlighted} />
    </>
  )
})

const dayFormat = new Intl.DateTimeFormat(language, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const DAY_MS = 24 * 60 * 60 * 1000

function formatDay({ createdAt }: RoomMessage): string {
  const date = new Date(createdAt)
  if (date.toDateString() === new Date().toDateString()) return t('app.day.today')
  if (date.toDateString() === new Date(Date.now() - DAY_MS).toDateString()) return t('app.day.yesterday')
  return dayFormat.format(date)
}

/** Selects the messages that are in the document. A reader who scrolls back stays at the same messages. */
function useMessageWindow(target: RoomMessagesProps['target'], setError: (error: unknown) => void) {
  const { store } = useRoom()
  const messages = useRoomView((view) => view.messages)
  /** The id of the first message in the document; undefined while the newest are shown. */
  const [first, setFirst] = useState<string>()
  const { keepInPlace, bringIntoView } = useScrollAnchors()
  const newestStart = Math.max(0, messages.length - WINDOW_SIZE)
  const at = first === undefined ? -1 : messages.findIndex(({ id }) => id === first)
  const start = at === -1 ? newestStart : at
  const startAt = (index: number) => {
    const { messages: all } = store.view
    setFirst(index >= all.length - WINDOW_SIZE ? undefined : all[Math.max(0, index)]?.id)
  }
  const show = (id: string) => {
    const index = store.view.messages.findIndex((each) => each.id === id)
    if (index === -1) return
    bringIntoView(id)
    startAt(index - STEP)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: each choice scrolls once.
  useEffect(() => {
    if (!target) return
    setError(undefined)
    void store.loadBackTo(Number(target.id)).then(() => show(target.id), setError)
  }, [target])
  const showEarlier = async () => {
    const top = messages[start]
    if (start === 0) await store.loadEarlier()
    if (top) keepInPlace(top.id)
    const { messages: all } = store.view
    const index = all.findIndex(({ id }) => id === top?.id)
    setFirst(all[Math.max(0, index - STEP)]?.id)
  }
  return {
    shown: messages.slice(start, start + WINDOW_SIZE),
    start,
    isNewest: start >= newestStart,
    showEarlier,
    showLater: () => startAt(start + STEP),
    showNewest: () => setFirst(undefined),
    show,
  }
}

/** Keeps a message in place while others are inserted above it, or scrolls to one once it is in the document. */
function useScrollAnchors() {
  const anchor = useRef<{ id: string; top: number }>(undefined)
  const scrollTarget = useRef<string>(undefined)
  const [, renderAgain] = useReducer((count: number) => count + 1, 0)
  useLayoutEffect(() => {
    const { current } = anchor
    anchor.current = undefined
    const anchored = current && findMessageElement(current.id)
    if (anchored && current) findScroller(anchored).scrollTop += anchored.getBoundingClientRect().top - current.top
    const element = scrollTarget.current === undefined ? null : findMessageElement(scrollTarget.current)
    if (!element) return
    scrollTarget.current = undefined
    element.scrollIntoView({ block: 'center' })
  })
  return {
    keepInPlace(id: string) {
      const element = findMessageElement(id)
      if (element) anchor.current = { id, top: element.getBoundingClientRect().top }
    },
    bringIntoView(id: string) {
      scrollTarget.current = id
      // Renders again, as the message may already be in the document.
      renderAgain()
    },
  }
}

const findMessageElement = (id: string) => document.getElementById(`message-${id}`)

const findScroller = (element: HTMLElement) => element.closest('.messages') as HTMLElement

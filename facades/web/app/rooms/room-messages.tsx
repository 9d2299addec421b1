import { memo, useEffect, useMemo, useRef, useState } from 'react'
import { Divider } from '../shared/conversation/divider.tsx'
import { JumpButton, LogNotice, MessageLog, MoreButton, useFollowEnd } from '../shared/conversation/message-log.tsx'
import { useMessageWindow } from '../shared/conversation/message-window.ts'
import { DAY_MS } from '../shared/days.ts'
import { language, t } from '../shared/text/labels.ts'
import { joinClasses } from '../shared/ui/class-names.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import type { TargetMessage } from './linked-message.ts'
import { AFTER_LAST, MemberEventLines, placeEvents } from './member-events.tsx'
import { MessageItem, OutgoingItem } from './message-item.tsx'
import { ReadBy, useFirstUnread, useMarkRead } from './read-state.tsx'
import type { MemberEvent } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import type { RoomMessage } from './room-message.ts'
import styles from './room-messages.module.css'
import { RunningAnswers } from './running-answers.tsx'

/** Messages of an author within this time bear the name once. */
const CONTINUATION_MS = 5 * 60_000

interface RoomMessagesProps {
  /** The message that was chosen last. */
  target: TargetMessage | undefined
}

/** The messages of a room, grouped by day. */
export const RoomMessages = memo(({ target }: RoomMessagesProps) => {
  const messages = useRoomView((view) => view.messages)
  const ids = useMemo(() => messages.map(({ id }) => toElementId(id)), [messages])
  const { list, follow, earlier, unread, showNewest, showBeginning } = useRoomLog(ids, target)
  const shown = messages.slice(list.start, list.end)
  const events = usePlacedEvents(shown, list.hasEarlier)
  const notices = (
    <>
      {unread.canJump && (
        <JumpButton
          icon="arrowUp"
          label={t('app.rooms.firstUnread')}
          jump={() => void earlier.load(unread.jump)}
          isAtTop
        />
      )}
      <LogNotice>
        <ErrorNotice error={earlier.error} />
      </LogNotice>
    </>
  )
  return (
    <MessageLog
      label={t('app.rooms.messages')}
      follow={follow}
      showNewest={showNewest}
      showBeginning={list.isLong ? showBeginning : undefined}
      isNewest={list.isNewest}
      notices={notices}
    >
      <ListStart list={list} firstId={ids[list.start]} isPaused={earlier.isReading || earlier.error !== undefined} />
      {shown.map((message, index) => (
        <SourceBoundary key={message.id} source={message.text}>
          <MessageLine
            message={message}
            before={shown[index - 1]}
            events={events.get(message.id)}
            isFirstUnread={message.id === unread.id}
            isHighlighted={message.id === target?.id}
          />
        </SourceBoundary>
      ))}
      <ListEnd list={list} firstId={ids[list.start]} events={events.get(AFTER_LAST)} />
    </MessageLog>
  )
})

/** Shows a part of the messages: the newest ones, a chosen one, the first unread one, or the beginning. */
function useRoomLog(ids: readonly string[], target: RoomMessagesProps['target']) {
  const { store } = useRoom()
  const scroller = useRef<HTMLDivElement>(null)
  const earlier = useEarlierMessages()
  const list = useMessageWindow({ ids, earlier, scroller })
  const follow = useFollowEnd({ scroller, isNewest: list.isNewest })
  useMarkRead(follow.isAtEnd && list.isNewest)
  const show = (id: string) => {
    follow.stopFollowing()
    list.show(toElementId(id))
  }
  const unread = useFirstUnread(show)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each choice scrolls once.
  useEffect(() => {
    if (!target) return
    const id = target.thread ?? target.id
    void earlier.load(() => store.loadBackTo(Number(id)).then(() => show(id)))
  }, [target])
  const showNewest = () => {
    earlier.forgetError()
    list.showNewest()
    follow.showEnd()
  }
  useOwnMessages(showNewest)
  const showBeginning = () => {
    follow.stopFollowing()
    void list.showBeginning()
  }
  return { list, follow, earlier, unread, showNewest, showBeginning }
}

const toElementId = (id: string) => `message-${id}`

/** Reads earlier messages, and keeps the error of that. */
function useEarlierMessages() {
  const { store } = useRoom()
  const hasMore = useRoomView((view) => view.hasEarlier)
  const [state, setState] = useState<{ isReading: boolean; error?: unknown }>({ isReading: false })
  const load = (act: () => Promise<void>) => {
    setState({ isReading: true })
    return act().then(
      () => setState({ isReading: false }),
      (error: unknown) => setState({ isReading: false, error }),
    )
  }
  return {
    hasMore,
    isReading: state.isReading,
    error: state.error,
    forgetError: () => setState(({ isReading }) => ({ isReading })),
    load,
    read: () => load(() => store.loadEarlier()),
    readAll: () => load(() => store.loadBackTo(0)),
  }
}

/** Shows the newest messages when the person sends one. */
function useOwnMessages(showNewest: () => void): void {
  const sent = useRoomView(({ outgoing }) => outgoing.findLast(({ queued }) => queued.thread === null)?.queued.clientId)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each message leads to the end once.
  useEffect(() => {
    if (sent !== undefined) showNewest()
  }, [sent])
}

type MessageWindow = ReturnType<typeof useMessageWindow>

function usePlacedEvents(shown: readonly RoomMessage[], hasEarlier: boolean) {
  const events = useRoomView((view) => view.memberEvents)
  return placeEvents(events, shown, hasEarlier)
}

interface ListEdgeProps {
  list: MessageWindow
  /** The id of the first message in the document. */
  firstId: string | undefined
}

/** The button that shows earlier messages, or the beginning of the room. */
function ListStart({ list, firstId = '', isPaused }: ListEdgeProps & { isPaused: boolean }) {
  const isEmpty = useRoomView(({ messages, outgoing }) => messages.length + outgoing.length === 0)
  if (list.hasEarlier)
    return (
      <MoreButton label={t('app.messages.earlier')} show={list.showEarlier} position={firstId} isPaused={isPaused} />
    )
  return isEmpty ? <p className={joinClasses('hint', styles.beginning)}>{t('app.rooms.beginning')}</p> : null
}

/** The button that shows later messages, or the outgoing messages and streaming answers. */
function ListEnd({ list, firstId = '', events }: ListEdgeProps & { events: readonly MemberEvent[] | undefined }) {
  const outgoing = useRoomView((view) => view.outgoing)
  if (!list.isNewest) return <MoreButton label={t('app.messages.later')} show={list.showLater} position={firstId} />
  const inRoom = outgoing.filter(({ queued }) => queued.thread === null)
  return (
    <>
      <MemberEventLines events={events} />
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
  /** Changes of memberships before it. */
  events: readonly MemberEvent[] | undefined
  isFirstUnread: boolean
  isHighlighted: boolean
}

/** A message, with lines above it where a day or the unread messages begin, and where somebody joined or left. */
const MessageLine = memo(({ message, before, events, isFirstUnread, isHighlighted }: MessageLineProps) => {
  const day = formatDay(message)
  const isNewDay = before === undefined || formatDay(before) !== day
  const isContinued =
    !isNewDay &&
    !isFirstUnread &&
    events === undefined &&
    before.member === message.member &&
    before.model === message.model &&
    Date.parse(message.createdAt) - Date.parse(before.createdAt) < CONTINUATION_MS
  return (
    <>
      {isNewDay && <Divider text={day} />}
      <MemberEventLines events={events} />
      {isFirstUnread && <Divider text={t('app.rooms.new.line')} isAccented />}
      <MessageItem message={message} isContinued={isContinued} isHighlighted={isHighlighted} />
    </>
  )
})

const dayFormat = new Intl.DateTimeFormat(language, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })

function formatDay({ createdAt }: RoomMessage): string {
  const date = new Date(createdAt)
  if (date.toDateString() === new Date().toDateString()) return t('app.day.today')
  if (date.toDateString() === new Date(Date.now() - DAY_MS).toDateString()) return t('app.day.yesterday')
  return dayFormat.format(date)
}

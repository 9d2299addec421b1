import { useEffect, useState } from 'react'
import { formatNames } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { forgetMentions } from './mentions.ts'
import styles from './read-state.module.css'
import { useRoom, useRoomView } from './room-context.ts'
import { getMemberName } from './room-members.ts'
import type { RoomMessage } from './room-message.ts'

/** Milliseconds at the end after which the messages count as read. */
const READ_MS = 1000
/** The most messages that are read to find the first unread one. The service counts no further either. */
const MAX_UNREAD = 1000
/** The most readers that are named below a message. */
const MAX_NAMED_READERS = 3
/** A few unread messages are in view anyway. */
const MIN_UNREAD_TO_JUMP = 10

/** Marks messages as read that have been in view for a while. */
export function useMarkRead(isAtEnd: boolean): void {
  const { store } = useRoom()
  const last = useRoomView(({ messages }) => messages.at(-1)?.id)
  const [isFocused, setFocused] = useState(() => document.hasFocus())
  useEffect(() => {
    const update = () => setFocused(document.hasFocus() && !document.hidden)
    const events = ['focus', 'blur', 'visibilitychange']
    for (const event of events) addEventListener(event, update)
    return () => {
      for (const event of events) removeEventListener(event, update)
    }
  }, [])
  const room = useRoomView((view) => view.room?.id)
  const keepsUnread = useRoomView((view) => view.keepsUnread)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new message restarts the timer.
  useEffect(() => {
    if (!isAtEnd || !isFocused || keepsUnread || room === undefined) return
    const timer = setTimeout(() => {
      forgetMentions(room)
      store.markRead().catch(() => {})
    }, READ_MS)
    return () => clearTimeout(timer)
  }, [store, isAtEnd, isFocused, keepsUnread, last, room])
}

/** Lists unread messages, which are those of others. */
const listUnread = (messages: readonly RoomMessage[], readUpTo: number, ownId: string | undefined) =>
  messages.filter(({ id, member }) => Number(id) > readUpTo && member !== ownId)

/** Finds the first message that was unread when the room was opened, and scrolls to it. */
export function useFirstUnread(show: (id: string) => void) {
  const { store } = useRoom()
  const [isDone, setDone] = useState(false)
  const messages = useRoomView((view) => view.messages)
  const readAtOpening = useRoomView((view) => view.readUpToAtOpening)
  const hasEarlier = useRoomView((view) => view.hasEarlier)
  const ownId = useRoomView((view) => view.ownMember?.id)
  const keepsUnread = useRoomView((view) => view.keepsUnread)
  const [openedAt] = useState(() => new Date().toISOString())
  const unread = listUnread(messages, readAtOpening, ownId)
  const [firstUnread] = unread
  const isOld = firstUnread !== undefined && (keepsUnread || firstUnread.createdAt < openedAt)
  const canBeEarlier = hasEarlier && Number(messages[0]?.id ?? 0) > readAtOpening
  const jump = async () => {
    await store.loadBackTo(readAtOpening, MAX_UNREAD)
    const [first] = listUnread(store.view.messages, readAtOpening, ownId)
    if (first) show(first.id)
    setDone(true)
  }
  return {
    // Earlier messages may be unread as well while they are not loaded.
    id: isOld && !canBeEarlier ? firstUnread.id : undefined,
    canJump: isOld && !isDone && (canBeEarlier || unread.length > MIN_UNREAD_TO_JUMP),
    jump,
  }
}

/** The members who have read the person's last message: a few by their names, many as a number. */
export function ReadBy() {
  const last = useRoomView(({ messages }) => messages.at(-1))
  const ownMember = useRoomView((view) => view.ownMember)
  const members = useRoomView((view) => view.members)
  if (!last || last.member !== ownMember?.id || last.isDeleted) return null
  const readers = [...members.values()].filter(
    ({ id, readUpTo, role }) => id !== ownMember.id && role !== 'assistant' && Number(readUpTo ?? 0) >= Number(last.id),
  )
  if (readers.length === 0) return null
  const names = formatNames(readers.map(getMemberName))
  return (
    <p className={styles.readers} title={names}>
      {readers.length > MAX_NAMED_READERS
        ? t('app.rooms.readByCount', { count: readers.length })
        : t('app.rooms.readBy', { names })}
    </p>
  )
}

import { useEffect, useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { forgetMentions } from './mentions.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { getMemberName } from './room-members.ts'
import type { RoomMessage } from './room-message.ts'

/** Milliseconds at the end after which the messages count as read. */
const READ_MS = 1000
/** The most messages that are read to find the first unread one. The service counts no further either. */
const MAX_UNREAD = 1000
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new message restarts the timer.
  useEffect(() => {
    if (!isAtEnd || !isFocused || room === undefined) return
    const timer = setTimeout(() => {
      forgetMentions(room)
      store.markRead().catch(() => {})
    }, READ_MS)
    return () => clearTimeout(timer)
  }, [store, isAtEnd, isFocused, last, room])
}

const findFirstUnread = (messages: readonly RoomMessage[], readUpTo: number, ownId: string | undefined) =>
  messages.find(({ id, member }) => Number(id) > readUpTo && member !== ownId)

/** Finds the first message that was unread when the room was opened, and scrolls to it. */
export function useFirstUnread(show: (id: string) => void) {
  const { store } = useRoom()
  const [isDone, setDone] = useState(false)
  const messages = useRoomView((view) => view.messages)
  const readAtOpening = useRoomView((view) => view.readUpToAtOpening)
  const hasEarlier = useRoomView((view) => view.hasEarlier)
  const ownId = useRoomView((view) => view.ownMember?.id)
  const [openedAt] = useState(() => new Date().toISOString())
  const firstUnread = findFirstUnread(messages, readAtOpening, ownId)
  const isOld = firstUnread !== undefined && firstUnread.createdAt < openedAt
  const canBeEarlier = hasEarlier && Number(messages[0]?.id ?? 0) > readAtOpening
  const count = messages.filter(({ id }) => Number(id) > readAtOpening).length
  const jump = async () => {
    await store.loadBackTo(readAtOpening, MAX_UNREAD)
    const first = findFirstUnread(store.view.messages, readAtOpening, ownId)
    if (first) show(first.id)
    setDone(true)
  }
  return {
    // Earlier messages may be unread as well while they are not loaded.
    id: isOld && !canBeEarlier ? firstUnread.id : undefined,
    canJump: isOld && !isDone && (canBeEarlier || count > MIN_UNREAD_TO_JUMP),
    jump,
  }
}

/** The number of members who have read the person's last message, with their names. */
export function ReadBy() {
  const last = useRoomView(({ messages }) => messages.at(-1))
  const ownMember = useRoomView((view) => view.ownMember)
  const members = useRoomView((view) => view.members)
  if (!last || last.member !== ownMember?.id || last.isDeleted) return null
  const readers = [...members.values()].filter(
    ({ id, readUpTo, role }) => id !== ownMember.id && role !== 'assistant' && Number(readUpTo ?? 0) >= Number(last.id),
  )
  if (readers.length === 0) return null
  return (
    <p className="hint read-by" title={readers.map(getMemberName).join(', ')}>
      {t('app.rooms.readBy', { count: readers.length })}
    </p>
  )
}

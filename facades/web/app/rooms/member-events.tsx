import { formatTime, formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import styles from './member-events.module.css'
import type { MemberEvent } from './room.ts'
import { useRoomView } from './room-context.ts'
import { getMemberName } from './room-members.ts'
import type { RoomMessage } from './room-message.ts'

const labels = {
  joined: ['app.rooms.event.joined', 'app.rooms.event.youJoined'],
  left: ['app.rooms.event.left', 'app.rooms.event.youLeft'],
  removed: ['app.rooms.event.removed', 'app.rooms.event.youWereRemoved'],
} as const

/** Lines that say who joined, left or was removed. */
export const MemberEventLines = ({ events }: { events: readonly MemberEvent[] | undefined }) =>
  events?.map((event) => <MemberEventLine key={event.id} event={event} />)

function MemberEventLine({ event: { member, name, kind, at } }: { event: MemberEvent }) {
  const current = useRoomView(({ members }) => members.get(member))
  const isOwn = useRoomView(({ ownMember }) => ownMember?.id === member)
  const [label, ownLabel] = labels[kind]
  const shownName = current ? getMemberName(current) : (name ?? t('app.rooms.somebody'))
  const date = new Date(at)
  return (
    <p className={styles.event}>
      <span dir="auto">{isOwn ? t(ownLabel) : t(label, { name: shownName })}</span>
      <time dateTime={at} title={formatTimestamp(date)}>
        {formatTime(date)}
      </time>
    </p>
  )
}

/** The key of the events after the last message. */
export const AFTER_LAST = 'last'

/**
 * Groups events by the id of the message that follows them. Those before the first message are omitted while earlier
 * messages are not shown.
 */
export function placeEvents(
  events: readonly MemberEvent[],
  messages: readonly Pick<RoomMessage, 'id' | 'createdAt'>[],
  hasEarlier: boolean,
): ReadonlyMap<string, readonly MemberEvent[]> {
  const placed = new Map<string, MemberEvent[]>()
  let next = 0
  for (const event of events) {
    const at = Date.parse(event.at)
    while (next < messages.length && Date.parse(messages[next]?.createdAt ?? '') <= at) next++
    if (next === 0 && hasEarlier) continue
    const key = messages[next]?.id ?? AFTER_LAST
    placed.set(key, [...(placed.get(key) ?? []), event])
  }
  return placed
}

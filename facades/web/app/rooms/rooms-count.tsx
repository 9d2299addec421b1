import { t } from '../shared/text/labels.ts'
import { joinClasses } from '../shared/ui/class-names.ts'
import { countUnread, useRooms } from './rooms.ts'
import styles from './rooms-count.module.css'

/** Shows the number of unread messages in all rooms. */
export function RoomsCount() {
  const { data: rooms } = useRooms()
  const count = countUnread(rooms ?? [])
  return <Count label={t('app.rooms.unread', { count })} count={count} />
}

interface CountProps {
  /** The number in words, for screen readers. */
  label: string
  count: number
  isMention?: boolean
}

/** A number; nothing is shown for zero. */
export const Count = ({ label, count, isMention = false }: CountProps) =>
  count > 0 && (
    <span className={joinClasses(styles.count, isMention && styles.mention)} title={label}>
      <span aria-hidden="true">
        {isMention && '@'}
        {count >= COUNT_LIMIT ? `${COUNT_LIMIT - 1}+` : count}
      </span>
      <span className="off-screen">{label}</span>
    </span>
  )

/** The highest number that the service counts to. */
const COUNT_LIMIT = 1000

import type { Conversation } from '../shared/api/client.ts'
import { language, t } from '../shared/text/labels.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const monthText = new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric' })

/** Conversations below the day of their last change, as people call it; older ones below their month. */
export function groupByDay(conversations: readonly Conversation[], now = new Date()): (string | Conversation)[] {
  const groups = Map.groupBy(conversations, ({ updatedAt }) => titleFor(new Date(updatedAt), now))
  return [...groups].flatMap(([title, members]) => [title, ...members])
}

function titleFor(date: Date, now: Date): string {
  const days = Math.round((startOfDay(now) - startOfDay(date)) / DAY_MS)
  if (days <= 0) return t('app.day.today')
  if (days === 1) return t('app.day.yesterday')
  if (days < 7) return t('app.day.week')
  return monthText.format(date)
}

const startOfDay = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()

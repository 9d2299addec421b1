import { stripMarkdown } from '../shared/text/excerpt.ts'
import { t } from '../shared/text/labels.ts'
import type { Room } from './room.ts'
import type { RoomMessage } from './room-message.ts'

const STORAGE_KEY = 'svc:notifications'

export const canNotify = 'Notification' in globalThis

/** What a notice on this device tells: that something came, or also what it is. */
export type NotificationLevel = 'off' | 'on' | 'text'

/** What the person has chosen, as far as the browser lets us. */
export function readNotificationLevel(): NotificationLevel {
  const chosen = canNotify && Notification.permission === 'granted' ? localStorage.getItem(STORAGE_KEY) : null
  return chosen === 'on' || chosen === 'text' ? chosen : 'off'
}

/** Chooses; the browser asks the person the first time. Returns what holds then. */
export async function chooseNotificationLevel(level: NotificationLevel): Promise<NotificationLevel> {
  if (level !== 'off') await Notification.requestPermission()
  localStorage.setItem(STORAGE_KEY, level)
  return readNotificationLevel()
}

/** Characters of a message that a notice shows at most. */
const EXCERPT_LENGTH = 200

/** Says that a message came, and what it says only where the person allowed that. One notice a room stands for all that come. */
export function showNotification(
  { id, name, isMuted }: Pick<Room, 'id' | 'name' | 'isMuted'>,
  message: RoomMessage,
): void {
  // The browser is asked last, as its answer takes long where many messages come.
  if (document.hasFocus() || isMuted) return
  const level = readNotificationLevel()
  if (level === 'off') return
  const { authorName, text } = message
  const isShown = level === 'text' && text !== ''
  const body = isShown ? `${authorName}: ${stripMarkdown(text.slice(0, EXCERPT_LENGTH))}` : t('app.rooms.notice')
  new Notification(name, { body, tag: `svc:room:${id}` })
}

import type { Session } from '../shared/session.tsx'
import { stripMarkdown } from '../shared/text/excerpt.ts'
import { t } from '../shared/text/labels.ts'
import { getOwnId, type Room } from './room.ts'
import type { RoomMessage } from './room-message.ts'

const getStorageKey = (session: Session) => `svc:notifications:${getOwnId(session)}`

export const canNotify = 'Notification' in globalThis

/** The content of desktop notifications: none, that a message came, or also its text. */
export type NotificationLevel = 'off' | 'on' | 'text'

/** Returns the level that the person has chosen, or `off` without the permission of the browser. */
export function readNotificationLevel(session: Session): NotificationLevel {
  const isAllowed = canNotify && Notification.permission === 'granted'
  const level = isAllowed ? localStorage.getItem(getStorageKey(session)) : null
  return level === 'on' || level === 'text' ? level : 'off'
}

/** Stores a level and asks for the browser's permission if necessary. Returns the level that then applies. */
export async function chooseNotificationLevel(session: Session, level: NotificationLevel): Promise<NotificationLevel> {
  if (level !== 'off') await Notification.requestPermission()
  localStorage.setItem(getStorageKey(session), level)
  return readNotificationLevel(session)
}

/** Characters of a message in a notification. */
const EXCERPT_LENGTH = 200

/**
 * Shows a desktop notification, with the text only if the person has allowed that. Each room has one notification,
 * which the next message replaces.
 */
export function showNotification(
  session: Session,
  { id, name, isMuted }: Pick<Room, 'id' | 'name' | 'isMuted'>,
  message: RoomMessage,
): void {
  // The permission is checked last, as that is slow for many messages.
  if (document.hasFocus() || isMuted) return
  const level = readNotificationLevel(session)
  if (level === 'off') return
  const { authorName, text } = message
  const isShown = level === 'text' && text !== ''
  const body = isShown ? `${authorName}: ${stripMarkdown(text.slice(0, EXCERPT_LENGTH))}` : t('app.rooms.notice')
  new Notification(name, { body, tag: `svc:room:${id}` })
}

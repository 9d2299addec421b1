import { withoutMarks } from '../shared/text/excerpt.ts'
import { t } from '../shared/text/labels.ts'
import type { Room } from './room.ts'
import type { RoomMessage } from './room-message.ts'

const SLOT = 'svc:notifications'

export const canNotify = 'Notification' in globalThis

/** What a notice on this device tells: that something came, or also what it is. */
export type NoticeLevel = 'off' | 'on' | 'text'

/** What the person has chosen, as far as the browser lets us. */
export function readNoticeLevel(): NoticeLevel {
  const chosen = canNotify && Notification.permission === 'granted' ? localStorage.getItem(SLOT) : null
  return chosen === 'on' || chosen === 'text' ? chosen : 'off'
}

/** Chooses; the browser asks the person the first time. Returns what holds then. */
export async function chooseNoticeLevel(level: NoticeLevel): Promise<NoticeLevel> {
  if (level !== 'off') await Notification.requestPermission()
  localStorage.setItem(SLOT, level)
  return readNoticeLevel()
}

/** Characters of a message that a notice shows at most. */
const SHOWN = 200

/** Says that a message came, and what it says only where the person allowed that. One notice a room stands for all that come. */
export function notifyOf({ id, name, isMuted }: Pick<Room, 'id' | 'name' | 'isMuted'>, message: RoomMessage): void {
  // The browser is asked last, as its answer takes long where many messages come.
  if (document.hasFocus() || isMuted) return
  const level = readNoticeLevel()
  if (level === 'off') return
  const { authorName, text } = message
  const isShown = level === 'text' && text !== ''
  const body = isShown ? `${authorName}: ${withoutMarks(text.slice(0, SHOWN))}` : t('app.rooms.notice')
  new Notification(name, { body, tag: `svc:room:${id}` })
}

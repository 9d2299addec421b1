import { t } from '../shared/text/labels.ts'
import type { Room } from './room.ts'

const SLOT = 'svc:notifications'

export const canNotify = 'Notification' in globalThis

/** Whether the person has asked for notices, and the browser lets us. */
export const isNotifying = (): boolean =>
  canNotify && Notification.permission === 'granted' && localStorage.getItem(SLOT) === 'on'

/** Turns notices on or off; the browser asks the person the first time. Returns whether they are on. */
export async function toggleNotifications(): Promise<boolean> {
  const isOn = !isNotifying() && (await Notification.requestPermission()) === 'granted'
  localStorage.setItem(SLOT, isOn ? 'on' : 'off')
  return isOn
}

/** Says that something came in a room, and nothing of what it is. One notice a room stands for all that come. */
export function notifyOf({ id, name, isMuted }: Pick<Room, 'id' | 'name' | 'isMuted'>): void {
  // The browser is asked last, as its answer takes long where many messages come.
  if (document.hasFocus() || isMuted || !isNotifying()) return
  new Notification(name, { body: t('app.rooms.notice'), tag: `svc:room:${id}` })
}

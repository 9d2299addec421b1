import { useSyncExternalStore } from 'react'
import { Listeners } from '../shared/listeners.ts'

/**
 * Ids of unread messages that mention the person, by room. They are counted here, as only this browser can decrypt
 * them.
 */
const unreadMentions = new Map<string, ReadonlySet<string>>()
const listeners = new Listeners()

export const useMentions = (room: string): number =>
  useSyncExternalStore(listeners.subscribe, () => unreadMentions.get(room)?.size ?? 0)

export function forgetMentions(room: string): void {
  if (unreadMentions.delete(room)) listeners.notify()
}

/** Returns true if a text mentions a user. */
export const mentionsUser = (text: string, username: string): boolean =>
  new RegExp(`(^|[^\\w@.-])@${username.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`, 'i').test(text)

/** Counts messages of a room as mentions of the person. */
export function addMentions(room: string, messages: readonly string[]): void {
  if (messages.length === 0) return
  unreadMentions.set(room, new Set([...(unreadMentions.get(room) ?? []), ...messages]))
  listeners.notify()
}

import { useSyncExternalStore } from 'react'

/** The messages that name the person and are not read, by their rooms; counted here, as only this browser can read them. */
const mentions = new Map<string, ReadonlySet<string>>()
const listeners = new Set<() => void>()

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useMentions = (room: string): number =>
  useSyncExternalStore(subscribe, () => mentions.get(room)?.size ?? 0)

export function forgetMentions(room: string): void {
  if (mentions.delete(room)) for (const listener of listeners) listener()
}

/** Whether a text names somebody. */
export const names = (text: string, username: string): boolean =>
  new RegExp(`(^|[^\\w@.-])@${username.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`, 'i').test(text)

/** Counts messages of a room that name the person. */
export function addMentions(room: string, messages: readonly string[]): void {
  if (messages.length === 0) return
  mentions.set(room, new Set([...(mentions.get(room) ?? []), ...messages]))
  for (const listener of listeners) listener()
}

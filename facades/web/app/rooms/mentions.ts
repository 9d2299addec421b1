import { useSyncExternalStore } from 'react'
import { api } from '../shared/api/client.ts'
import type { Session } from '../shared/session.tsx'
import { keyringOf } from './keyring.ts'
import { MessageOpener } from './message-content.ts'
import { type Room, saltsOf } from './room.ts'

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

/** Opens a message that has just come, and counts it where it names the person. */
export async function noteMention(session: Session, room: Room, id: string): Promise<void> {
  const username = session.connection.userinfo?.username ?? ''
  try {
    const [keys, stored] = await Promise.all([keyringOf(session).keysOf(room), api.roomMessages.get.query({ id })])
    const { text } = await new MessageOpener(room.slug, saltsOf(session)).open(stored, keys, room.sharesEarlierKeys)
    if (!names(text, username)) return
    mentions.set(room.id, new Set([...(mentions.get(room.id) ?? []), id]))
    for (const listener of listeners) listener()
  } catch {
    // A message that cannot be read now is counted as unread, and no more.
  }
}

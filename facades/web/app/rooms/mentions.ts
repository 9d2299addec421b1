import { useSyncExternalStore } from 'react'
import { api } from '../shared/api/client.ts'
import type { Session } from '../shared/session.tsx'
import { keyringOf } from './keyring.ts'
import { MessageOpener } from './message-content.ts'
import { type Room, readPage, type StoredRoomMessage, saltsOf } from './room.ts'

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

/** Messages that have just come and are still to be opened, by their rooms. */
const unopened = new Map<string, Set<string>>()
/** What comes within this time is read together. */
const BATCH_MS = 1000
/** The most that are opened at once, the last ones first. */
const MOST = 100

/** Opens a message that has just come, together with those after it, and counts it where it names the person. */
export function noteMention(session: Session, room: Room, id: string): void {
  const ids = unopened.get(room.id)
  if (ids) ids.add(id)
  else {
    unopened.set(room.id, new Set([id]))
    setTimeout(() => void countMentions(session, room), BATCH_MS)
  }
}

async function countMentions(session: Session, room: Room): Promise<void> {
  const ids = unopened.get(room.id) ?? new Set()
  unopened.delete(room.id)
  const username = session.connection.userinfo?.username ?? ''
  try {
    const [keys, { items }] = await Promise.all([
      keyringOf(session).keysOf(room),
      readPage<StoredRoomMessage>(
        api.rooms.related.query({
          id: room.id,
          relation: 'messages',
          sort: ['-id'],
          page: { size: Math.min(ids.size, MOST), number: 1 },
        }),
      ),
    ])
    const opener = new MessageOpener(room.slug, saltsOf(session))
    const came = items.filter((each) => ids.has(each.id))
    const opened = await Promise.all(came.map((each) => opener.open(each, keys, room.sharesEarlierKeys)))
    const named = opened.filter(({ text }) => names(text, username)).map((each) => each.id)
    if (named.length === 0) return
    mentions.set(room.id, new Set([...(mentions.get(room.id) ?? []), ...named]))
    for (const listener of listeners) listener()
  } catch {
    // Messages that cannot be read now are counted as unread, and no more.
  }
}

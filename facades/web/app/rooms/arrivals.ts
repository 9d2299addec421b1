import { api } from '../shared/api/client.ts'
import type { Session } from '../shared/session.tsx'
import { keyringOf } from './keyring.ts'
import { addMentions, names } from './mentions.ts'
import { MessageOpener } from './message-content.ts'
import { notifyOf } from './notifications.ts'
import { type Room, readPage, type StoredRoomMessage, saltsOf } from './room.ts'

/** Messages that have just come and are still to be opened, by their rooms. */
const unopened = new Map<string, Set<string>>()
/** Changes that come within this time are read together. */
const BATCH_MS = 1000
/** The most that are opened at once, the last ones first. */
const MOST = 100

/** Opens a message that has just come to a room that nobody looks at, together with those after it: it may name the person. */
export function noteArrival(session: Session, room: Room, id: string): void {
  const ids = unopened.get(room.id)
  if (ids) ids.add(id)
  else {
    unopened.set(room.id, new Set([id]))
    setTimeout(() => void openArrivals(session, room), BATCH_MS)
  }
}

async function openArrivals(session: Session, room: Room): Promise<void> {
  const ids = unopened.get(room.id) ?? new Set()
  unopened.delete(room.id)
  const username = session.connection.userinfo?.username ?? ''
  try {
    const { items } = await readPage<StoredRoomMessage>(
      api.rooms.related.query({
        id: room.id,
        relation: 'messages',
        include: ['member'],
        sort: ['-id'],
        page: { size: Math.min(ids.size, MOST), number: 1 },
      }),
    )
    const others = items.filter((each) => ids.has(each.id) && authorOf(each) !== username)
    const opened = await openAll(session, room, others)
    addMentions(
      room.id,
      opened.filter(({ text }) => names(text, username)).map((each) => each.id),
    )
    if (opened[0]) notifyOf(room, opened[0])
  } catch {
    // Messages that cannot be read now are counted as unread, and no more.
  }
}

async function openAll(session: Session, room: Room, stored: readonly StoredRoomMessage[]) {
  const keys = await keyringOf(session).keysOf(room)
  const opener = new MessageOpener(room.slug, saltsOf(session))
  return Promise.all(stored.map((each) => opener.open(each, keys, room.sharesEarlierKeys)))
}

const authorOf = ({ relations }: StoredRoomMessage) =>
  (relations?.['member'] as { username?: string | null } | undefined)?.username

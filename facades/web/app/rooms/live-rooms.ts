import { useEffect } from 'react'
import { api, queryClient } from '../shared/api/client.ts'
import { followChanges } from '../shared/live.ts'
import { type Session, useSession } from '../shared/session.tsx'
import { keyringOf } from './keyring.ts'
import { addMentions, names } from './mentions.ts'
import { notifyOf } from './notifications.ts'
import { type Room, readPage, type StoredRoomMessage, saltsOf } from './room.ts'
import { MessageOpener } from './room-message.ts'
import { refreshRooms } from './rooms.ts'
import { openSocket, type Socket } from './socket.ts'

/** How often the list is read at most. */
const READ_MS = 1000
/** As many rooms are listened to at most, by one connection. */
const MAX_ROOMS = 60

/** Keeps the list of rooms as it is: by the person's own changes, and by what is written in each room. */
export function useLiveRooms(rooms: readonly Room[] | undefined): void {
  const session = useSession()
  useEffect(() => {
    const stop = followChanges((change) => {
      const kind = change?.kind ?? ''
      if (change === undefined || kind.startsWith('rooms.') || kind.startsWith('room-members.')) refreshSoon()
    })
    const refreshOnReturn = () => !document.hidden && refreshSoon()
    document.addEventListener('visibilitychange', refreshOnReturn)
    return () => {
      stop()
      document.removeEventListener('visibilitychange', refreshOnReturn)
    }
  }, [])
  const slugs = (rooms ?? []).slice(0, MAX_ROOMS).map(({ slug }) => slug)
  const names = slugs.join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rooms matter, and not the list that holds them.
  useEffect(() => {
    if (slugs.length === 0) return
    let stop = () => {}
    let isStopped = false
    openSocket(session.connection).then(
      (socket) => {
        if (!isStopped) stop = listen(socket, slugs, (slug, id) => hear(slug, id))
      },
      () => {},
    )
    const hear = (slug: string, id: string) => {
      const room = queryClient.getQueryData<Room[]>(['rooms', 'list'])?.find((each) => each.slug === slug)
      refreshSoon()
      if (room && !isLookedAt(slug)) noteArrival(session, room, id)
    }
    return () => {
      isStopped = true
      stop()
    }
  }, [session, names])
}

const isLookedAt = (slug: string) => document.hasFocus() && location.pathname === `/rooms/${slug}`

function listen(socket: Socket, slugs: readonly string[], hear: (slug: string, id: string) => void): () => void {
  const stops = slugs.map((slug) => {
    const name = `private-Rooms.${slug}`
    const channel = socket.subscribe(name)
    const changed = ({ kind, subject }: { kind: string; subject: string }) => {
      if (kind === 'room-messages.created') hear(slug, subject)
    }
    channel.bind('change', changed)
    return () => {
      channel.unbind('change', changed)
      socket.unsubscribe(name)
    }
  })
  return () => {
    for (const stop of stops) stop()
  }
}

let isWaiting = false

function refreshSoon(): void {
  if (isWaiting) return
  isWaiting = true
  setTimeout(() => {
    isWaiting = false
    void refreshRooms()
  }, READ_MS)
}

/** Messages that have just come and are still to be opened, by their rooms. */
const unopened = new Map<string, Set<string>>()
/** Changes that come within this time are read together. */
const BATCH_MS = 1000
/** The most that are opened at once, the last ones first. */
const MAX_OPENED = 100

/** Opens a message that has just come to a room that nobody looks at, together with those after it: it may name the person. */
function noteArrival(session: Session, room: Room, id: string): void {
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
        page: { size: Math.min(ids.size, MAX_OPENED), number: 1 },
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

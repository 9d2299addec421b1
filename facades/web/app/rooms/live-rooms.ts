import { useEffect } from 'react'
import { api, queryClient } from '../shared/api/client.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { followChanges } from '../shared/live.ts'
import { type Session, useSession } from '../shared/session.tsx'
import { getKeyring } from './keyring.ts'
import { addMentions, mentionsUser } from './mentions.ts'
import { showNotification } from './notifications.ts'
import { asPage, getSalts, type Room, type StoredRoomMessage } from './room.ts'
import { MessageOpener } from './room-message.ts'
import { refreshRooms } from './rooms.ts'
import { type Socket, subscribeOnSocket } from './socket.ts'

/** Milliseconds between two reads of the list, or of new messages. */
const PAUSE_MS = 1000
/** The most rooms that are subscribed to, over one connection. */
const MAX_ROOMS = 60

/** Keeps the list of rooms up to date with the person's own changes and with new messages in each room. */
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: the slugs matter, not the array that holds them.
  useEffect(() => {
    if (slugs.length === 0) return
    const onMessage = (slug: string, id: string) => {
      const room = queryClient.getQueryData<Room[]>(['rooms', 'list'])?.find((each) => each.slug === slug)
      refreshSoon()
      if (room && !isInView(slug)) arrivals.add({ session, room, id })
    }
    return subscribeOnSocket(session.connection, (socket) => listenToRooms(socket, slugs, onMessage))
  }, [session, names])
}

const isInView = (slug: string) => document.hasFocus() && location.pathname === `/rooms/${slug}`

function listenToRooms(
  socket: Socket,
  slugs: readonly string[],
  onMessage: (slug: string, id: string) => void,
): () => void {
  const unsubscribers = slugs.map((slug) => {
    const name = `private-Rooms.${slug}`
    const channel = socket.subscribe(name)
    const onChange = ({ kind, subject }: { kind: string; subject: string }) => {
      if (kind === 'room-messages.created') onMessage(slug, subject)
    }
    channel.bind('change', onChange)
    return () => {
      channel.unbind('change', onChange)
      socket.unsubscribe(name)
    }
  })
  return () => {
    for (const unsubscribe of unsubscribers) unsubscribe()
  }
}

const listChanges = new ChangeQueue<true>(refreshRooms, PAUSE_MS)

const refreshSoon = (): void => listChanges.add(true)

/** A new message of a room that is not in view. */
interface Arrival {
  session: Session
  room: Room
  id: string
}

/** The new messages that are still to be decrypted, to find those that mention the person. */
const arrivals = new ChangeQueue<Arrival>(async (arrived) => {
  const byRoom = Map.groupBy(arrived, ({ room }) => room.id)
  await Promise.all([...byRoom.values()].map(openArrivals))
}, PAUSE_MS)

/** The most messages of a room that are decrypted at once, the newest first. */
const MAX_OPENED = 100

async function openArrivals(arrived: readonly Arrival[]): Promise<void> {
  const [last] = arrived.slice(-1)
  if (!last) return
  const { session, room } = last
  const ids = new Set(arrived.map(({ id }) => id))
  const username = session.connection.userinfo?.username ?? ''
  try {
    const { items } = await asPage<StoredRoomMessage>(
      api.rooms.related.query({
        id: room.id,
        relation: 'messages',
        include: ['member'],
        sort: ['-id'],
        page: { size: Math.min(ids.size, MAX_OPENED), number: 1 },
      }),
    )
    const others = items.filter((each) => ids.has(each.id) && getAuthor(each) !== username)
    const messages = await openMessages(session, room, others)
    addMentions(
      room.id,
      messages.filter(({ text }) => mentionsUser(text, username)).map((each) => each.id),
    )
    if (messages[0]) showNotification(session, room, messages[0])
  } catch {
    // Messages that cannot be read now only count as unread.
  }
}

async function openMessages(session: Session, room: Room, stored: readonly StoredRoomMessage[]) {
  const keys = await getKeyring(session).getKeys(room)
  const opener = new MessageOpener(room.slug, getSalts(session))
  return Promise.all(stored.map((each) => opener.open(each, keys, room.sharesEarlierKeys)))
}

const getAuthor = ({ relations }: StoredRoomMessage) =>
  (relations?.['member'] as { username?: string | null } | undefined)?.username

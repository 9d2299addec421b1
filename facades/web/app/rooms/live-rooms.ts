import { useEffect, useRef } from 'react'
import type { Change } from '../../../client/live/index.ts'
import { api } from '../shared/api/client.ts'
import { getRelatedId } from '../shared/api/related.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { followChanges } from '../shared/live.ts'
import { type Session, useSession } from '../shared/session.tsx'
import { getKeyring } from './keyring.ts'
import { isMention, mentionsAny, setMentions } from './mentions.ts'
import { showNotification } from './notifications.ts'
import { asPage, getOwnId, getSalts, type Room, type StoredRoomMessage } from './room.ts'
import { MessageOpener, type RoomMessage } from './room-message.ts'
import { findListedRoom, readAuthor, refreshRooms, refreshUnreadCounts, showLastMessage } from './rooms.ts'
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
      if (kind === 'rooms.updated') countSoon()
      else if (change === undefined || kind.startsWith('rooms.') || kind.startsWith('room-members.')) refreshSoon()
    })
    const refreshOnReturn = () => !document.hidden && refreshSoon()
    document.addEventListener('visibilitychange', refreshOnReturn)
    return () => {
      stop()
      document.removeEventListener('visibilitychange', refreshOnReturn)
    }
  }, [])
  useUnreadMentions(session, rooms)
  const slugs = (rooms ?? []).slice(0, MAX_ROOMS).map(({ slug }) => slug)
  const names = slugs.join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the slugs matter, not the array that holds them.
  useEffect(() => {
    if (slugs.length === 0) return
    const onMessage = (slug: string, change: Change) => receiveMessage(session, slug, change)
    return subscribeOnSocket(session.connection, (socket) => listenToRooms(socket, slugs, onMessage))
  }, [session, names])
}

/** Takes a message from its change, or reads the list again if the change does not carry it. */
function receiveMessage(session: Session, slug: string, { kind, subject: id, record }: Change): void {
  const room = findListedRoom(slug)
  const stored = record as StoredRoomMessage | undefined
  if (kind === 'room-messages.updated') {
    if (room && isMention(room.id, id)) void checkMention(session, room, id, stored)
    return
  }
  const isSeen = isInView(slug)
  if (room && (stored || !isSeen)) arrivals.add({ session, room, id, isSeen, record: stored })
  if (stored) countSoon()
  else refreshSoon()
}

const isInView = (slug: string) => document.hasFocus() && location.pathname === `/rooms/${slug}`

function listenToRooms(
  socket: Socket,
  slugs: readonly string[],
  onMessage: (slug: string, change: Change) => void,
): () => void {
  const unsubscribers = slugs.map((slug) => {
    const name = `private-Rooms.${slug}`
    const channel = socket.subscribe(name)
    const onChange = (change: Change) => {
      if (change.kind === 'room-messages.created' || change.kind === 'room-messages.updated') onMessage(slug, change)
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

const newMessages = new ChangeQueue<true>(refreshUnreadCounts, PAUSE_MS)

const countSoon = (): void => newMessages.add(true)

/** A new message of a room. */
interface Arrival {
  session: Session
  room: Room
  id: string
  /** True if the person was looking at the room when it came. */
  isSeen: boolean
  /** The message, if it came with its change. */
  record: StoredRoomMessage | undefined
}

/** The new messages that are still to be decrypted, for the list and to find those that mention the person. */
const arrivals = new ChangeQueue<Arrival>(async (arrived) => {
  const byRoom = Map.groupBy(arrived, ({ room }) => room.id)
  await Promise.all([...byRoom.values()].map(openArrivals))
}, PAUSE_MS)

/** The most messages of a room that are decrypted at once, the newest ones. */
const MAX_OPENED = 100

async function openArrivals(arrived: readonly Arrival[]): Promise<void> {
  const [last] = arrived.slice(-1)
  if (!last) return
  const { session, room } = last
  try {
    const messages = await openMessages(session, room, await readStored(room, arrived.slice(-MAX_OPENED)))
    const [newest] = messages.slice(-1)
    if (!newest) return
    const { authorName, model, text, createdAt } = newest
    if (last.record) showLastMessage(session, room, { author: authorName, model, text, createdAt })
    const seen = new Set(arrived.flatMap(({ id, isSeen }) => (isSeen ? id : [])))
    const others = messages.filter(({ id, isOwn }) => !isOwn && !seen.has(id))
    countMentions(session, room, others)
    const [newestOfOthers] = others.slice(-1)
    if (newestOfOthers) showNotification(session, room, newestOfOthers)
  } catch {
    // Messages that cannot be read now only count as unread.
  }
}

const getUsername = ({ connection }: Session) => connection.userinfo?.username ?? ''

function countMentions(session: Session, room: Room, messages: readonly RoomMessage[]): void {
  const mentions = messages.filter(({ text }) => mentionsAny(text, [getUsername(session)]))
  setMentions(
    room.id,
    mentions.map(({ id }) => id),
    true,
  )
}

/** The most rooms whose unread messages are decrypted when the page opens, those that changed last. */
const MAX_CHECKED = 20

/** Finds unread messages that mention the person, once for each page: they arrived before it was opened. */
function useUnreadMentions(session: Session, rooms: readonly Room[] | undefined): void {
  const isChecked = useRef(false)
  useEffect(() => {
    if (isChecked.current || !rooms) return
    isChecked.current = true
    const unread = rooms.filter(({ unreadCount = 0, slug }) => unreadCount > 0 && !isInView(slug))
    for (const room of unread.slice(0, MAX_CHECKED))
      void countUnreadMentions(session, room, room.unreadCount ?? 0).catch(countOnlyAsUnread)
  }, [session, rooms])
}

async function countUnreadMentions(session: Session, room: Room, unreadCount: number): Promise<void> {
  const stored = await readNewest(room, Math.min(unreadCount, MAX_OPENED))
  const messages = await openMessages(session, room, stored)
  countMentions(
    session,
    room,
    messages.filter(({ isOwn }) => !isOwn),
  )
}

/** Opens a changed message that mentioned the person: it may be deleted, or mention them no more. */
async function checkMention(session: Session, room: Room, id: string, carried?: StoredRoomMessage): Promise<void> {
  const stored = carried ?? (await api.roomMessages.get.query({ id }).catch(countOnlyAsUnread))
  const [message] = stored ? await openMessages(session, room, [stored]) : []
  if (!message || !mentionsAny(message.text, [getUsername(session)])) setMentions(room.id, [id], false)
}

/** Messages that cannot be read now only count as unread. */
const countOnlyAsUnread = () => undefined

/** Returns messages in their order, and reads those that did not come with their change. */
async function readStored(room: Room, arrived: readonly Arrival[]): Promise<StoredRoomMessage[]> {
  const carried = arrived.flatMap(({ record }) => record ?? [])
  const missing = new Set(arrived.flatMap(({ id, record }) => (record ? [] : id)))
  if (missing.size === 0) return carried
  const read = (await readNewest(room, arrived.length)).filter(({ id }) => missing.has(id))
  return [...carried, ...read].toSorted((one, other) => Number(one.id) - Number(other.id))
}

async function readNewest(room: Room, size: number): Promise<StoredRoomMessage[]> {
  const { items } = await asPage<StoredRoomMessage>(
    api.rooms.related.query({ id: room.id, relation: 'messages', sort: ['-id'], page: { size, number: 1 } }),
  )
  return items
}

async function openMessages(session: Session, room: Room, stored: readonly StoredRoomMessage[]) {
  const keys = await getKeyring(session).getKeys(room)
  const opener = new MessageOpener(room.slug, getSalts(session))
  const open = async (each: StoredRoomMessage): Promise<RoomMessage & { isOwn: boolean }> => {
    const message = await opener.open(each, keys, room.sharesEarlierKeys)
    const author = await readAuthor(message.member)
    const isOwn = getRelatedId(author, 'user') === getOwnId(session)
    return { ...message, authorName: author.displayName ?? '', isOwn }
  }
  return Promise.all(stored.map(open))
}

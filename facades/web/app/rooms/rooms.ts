import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { sealRoomText } from '../../browser/crypto.ts'
import { api, queryClient } from '../shared/api/client.ts'
import { readBase64 } from '../shared/read-base64.ts'
import type { Session } from '../shared/session.tsx'
import { getKeyring } from './keyring.ts'
import { getSalts, type Member, type Room } from './room.ts'
import { MessageOpener, type SealedText } from './room-message.ts'

/** The first element of the query keys of all lists of rooms and invitations. */
const LISTS_KEY = 'rooms'
const PAGE_SIZE = 200

/** Reads the rooms of the person, those that changed last first. */
export const useRooms = () => useQuery(roomsQuery)

const roomsQuery = queryOptions({
  queryKey: [LISTS_KEY, 'list'],
  queryFn: async ({ signal }): Promise<Room[]> => {
    const rooms: Room[] = []
    for (let number = 1; ; number++) {
      const input = { sort: ['-updatedAt' as const], page: { size: PAGE_SIZE, number } }
      const { items, total } = await api.rooms.list.query(input, { signal })
      rooms.push(...items.filter(({ role }) => role !== undefined))
      if (number * PAGE_SIZE >= total) return rooms
    }
  },
})

/** Reads the pending invitations of the person. */
export const useInvitations = () =>
  useQuery({
    queryKey: [LISTS_KEY, 'invitations'],
    queryFn: ({ signal }) => api.roomMembers.invitations.query(undefined, { signal }),
  })

export const refreshRooms = () => queryClient.invalidateQueries({ queryKey: [LISTS_KEY] })

/** Returns a room of the list, if that has been read. */
export const findListedRoom = (slug: string): Room | undefined =>
  queryClient.getQueryData(roomsQuery.queryKey)?.find((each) => each.slug === slug)

/** Reads who wrote a message, which names its author by id. Every member is read once. */
export const readAuthor = (id: string): Promise<Member> =>
  queryClient.fetchQuery({
    queryKey: ['room member', id],
    queryFn: () => api.roomMembers.get.query({ id }),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** Reads the rooms again with their numbers of unread messages, but neither their last messages nor the invitations. */
export const refreshUnreadCounts = () => queryClient.invalidateQueries({ queryKey: roomsQuery.queryKey })

/** Shows the last message of a room in the list. */
export const showLastMessage = (session: Session, { id }: Room, message: LastMessage): void =>
  void queryClient.setQueryData<ReadonlyMap<string, LastMessage>>(
    getLastMessagesKey(session),
    (last) => last && new Map(last).set(id, message),
  )

export interface NewRoom {
  name: string
  description: string
  systemPrompt: string
  sharesEarlierKeys: boolean
  picture: File | undefined
}

/** Creates a room and its key. If the key cannot be stored, the room is deleted again. */
export async function createRoom(
  session: Session,
  { name, description, systemPrompt, sharesEarlierKeys, picture }: NewRoom,
): Promise<Room> {
  const keyring = getKeyring(session)
  const room = await api.rooms.create.mutate({ name, sharesEarlierKeys })
  try {
    await keyring.createFirstKey(room)
    await saveRoomTexts(session, room, { ...(description && { description }), ...(systemPrompt && { systemPrompt }) })
    if (picture) await api.rooms.update.mutate({ id: room.id, avatar: await readBase64(picture) })
  } catch (error) {
    await api.rooms.delete.mutate({ id: room.id })
    throw error
  }
  await refreshRooms()
  return room
}

interface RoomTexts {
  description?: string
  systemPrompt?: string
}

/** Encrypts and stores the changed texts of a room. */
export async function saveRoomTexts(
  session: Session,
  room: Room,
  { description, systemPrompt }: RoomTexts,
): Promise<void> {
  if (description === undefined && systemPrompt === undefined) return
  const key = (await getKeyring(session).getKeys(room)).get(room.keyEpoch)
  if (key === undefined) throw new Error('There is no key to write with.')
  const sealText = (text: string) => (text === '' ? null : sealRoomText(key, text, room.keyEpoch))
  await api.rooms.update.mutate({
    id: room.id,
    ...(description !== undefined && { roomDescription: await sealText(description) }),
    ...(systemPrompt !== undefined && { systemPrompt: await sealText(systemPrompt) }),
  })
}

export async function deleteRoom({ id }: Pick<Room, 'id'>): Promise<void> {
  await api.rooms.delete.mutate({ id })
  await refreshRooms()
}

/** Ends a membership, or declines or withdraws an invitation. */
export async function endMembership({ id }: Pick<Member, 'id'>): Promise<void> {
  await api.roomMembers.delete.mutate({ id })
  await refreshRooms()
}

type Arrangement = Omit<Parameters<typeof api.rooms.arrange.mutate>[0], 'id'>

/** Mutes or archives a room on all devices of the person. */
export async function arrangeRoom({ id }: Pick<Room, 'id'>, arrangement: Arrangement): Promise<void> {
  await api.rooms.arrange.mutate({ id, ...arrangement })
  await refreshRooms()
}

/** Marks the last message of somebody else as unread, on all devices of the person. */
export async function markUnread({ id }: Pick<Room, 'id'>): Promise<void> {
  await api.rooms.markUnread.mutate({ id })
  await refreshUnreadCounts()
}

/** Counts the unread messages in rooms that are neither muted nor archived. */
export const countUnread = (rooms: readonly Room[]): number =>
  rooms.reduce((sum, room) => sum + (room.isMuted || room.isArchived ? 0 : (room.unreadCount ?? 0)), 0)

export interface LastMessage {
  /** The name of the person who wrote it. */
  author: string | null
  model: string | null
  text: string
  createdAt: string
}

const getLastMessagesKey = (session: Session) => [LISTS_KEY, 'last', session.connection.userinfo?.id]

/** Reads and decrypts the last message of each room, by room id. */
export const useLastMessages = (session: Session, rooms: readonly Room[] | undefined) =>
  useQuery({
    queryKey: getLastMessagesKey(session),
    queryFn: ({ signal }) => readLastMessages(session, rooms ?? [], signal),
    enabled: rooms !== undefined && !session.isLocked,
    placeholderData: keepPreviousData,
    // Decrypted texts are dropped soon after the list is closed.
    gcTime: 60_000,
  })

async function readLastMessages(
  session: Session,
  rooms: readonly Room[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, LastMessage>> {
  const byId = new Map(rooms.map((room) => [room.id, room]))
  const stored = await api.rooms.lastMessages.query(undefined, { signal })
  const entries = await Promise.all(
    stored.map(async ({ room: id, content, keyEpoch, model, author, createdAt }): Promise<[string, LastMessage]> => {
      const room = byId.get(id)
      const text = room && content ? await openText(session, room, { content, keyEpoch, model }) : ''
      return [id, { author, model, text, createdAt }]
    }),
  )
  return new Map(entries)
}

/** Returns an empty text while its key is missing. */
async function openText(session: Session, room: Room, sealed: SealedText): Promise<string> {
  try {
    return await new MessageOpener(room.slug, getSalts(session)).openText(
      sealed,
      await getKeyring(session).getKeys(room),
    )
  } catch {
    return ''
  }
}

import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { sealRoomText } from '../../browser/crypto.ts'
import { api, queryClient } from '../shared/api/client.ts'
import type { Session } from '../shared/session.tsx'
import { getKeyring } from './keyring.ts'
import { getSalts, type Member, type Room } from './room.ts'
import { readBase64 } from './room-files.ts'
import { MessageOpener, type SealedText } from './room-message.ts'

/** All lists of rooms and invitations begin with this. */
const LISTS_KEY = 'rooms'
const PAGE_SIZE = 200

/** The rooms of the person, those that were changed last first. */
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

/** Invitations that wait for an answer of the person. */
export const useInvitations = () =>
  useQuery({
    queryKey: [LISTS_KEY, 'invitations'],
    queryFn: ({ signal }) => api.roomMembers.invitations.query(undefined, { signal }),
  })

export const refreshRooms = () => queryClient.invalidateQueries({ queryKey: [LISTS_KEY] })

export interface NewRoom {
  name: string
  description: string
  systemPrompt: string
  sharesEarlierKeys: boolean
  picture: File | undefined
}

/** A room begins with its key; where that cannot be kept, there is no room. */
export async function createRoom(
  session: Session,
  { name, sharesEarlierKeys, picture, ...texts }: NewRoom,
): Promise<Room> {
  const keyring = getKeyring(session)
  const room = await api.rooms.create.mutate({ name, sharesEarlierKeys })
  try {
    await keyring.createFirstKey(room)
    await saveRoomTexts(session, room, texts)
    if (picture) await api.rooms.update.mutate({ id: room.id, avatar: await readBase64(picture) })
  } catch (error) {
    await api.rooms.delete.mutate({ id: room.id })
    throw error
  }
  await refreshRooms()
  return room
}

interface RoomTexts {
  description: string
  systemPrompt: string
}

/** Stores the description and what models are told, sealed with the key in use. */
export async function saveRoomTexts(
  session: Session,
  room: Room,
  { description, systemPrompt }: RoomTexts,
): Promise<void> {
  const key = (await getKeyring(session).getKeys(room)).get(room.keyEpoch)
  if (key === undefined) throw new Error('There is no key to write with.')
  const sealText = (text: string) => (text === '' ? null : sealRoomText(key, text, room.keyEpoch))
  const [roomDescription, prompt] = await Promise.all([sealText(description), sealText(systemPrompt)])
  if (roomDescription === room.roomDescription && prompt === room.systemPrompt) return
  await api.rooms.update.mutate({ id: room.id, roomDescription, systemPrompt: prompt })
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

/** Mutes a room or puts it aside, wherever the person looks at it. */
export async function arrangeRoom({ id }: Pick<Room, 'id'>, arrangement: Arrangement): Promise<void> {
  await api.rooms.arrange.mutate({ id, ...arrangement })
  await refreshRooms()
}

/** Counts the unread messages in rooms that are neither muted nor put aside. */
export const countUnread = (rooms: readonly Room[]): number =>
  rooms.reduce((sum, room) => sum + (room.isMuted || room.isArchived ? 0 : (room.unreadCount ?? 0)), 0)

/** The last message of a room. */
export interface LastMessage {
  /** The person or the model that wrote it. */
  author: string | null
  model: string | null
  text: string
  createdAt: string
}

/** Reads the last message of each room, by their ids, opened in this browser. */
export const useLastMessages = (session: Session, rooms: readonly Room[] | undefined) =>
  useQuery({
    queryKey: [LISTS_KEY, 'last', session.connection.userinfo?.id],
    queryFn: ({ signal }) => readLastMessages(session, rooms ?? [], signal),
    enabled: rooms !== undefined && !session.isLocked,
    placeholderData: keepPreviousData,
    // Nothing that was opened outlives the list by long.
    gcTime: 60_000,
  })

async function readLastMessages(session: Session, rooms: readonly Room[], signal: AbortSignal) {
  const byId = new Map(rooms.map((room) => [room.id, room]))
  const stored = await api.rooms.lastMessages.query(undefined, { signal })
  const opened = await Promise.all(
    stored.map(async ({ room: id, content, keyEpoch, model, author, createdAt }): Promise<[string, LastMessage]> => {
      const room = byId.get(id)
      const text = room && content ? await openText(session, room, { content, keyEpoch, model }) : ''
      return [id, { author, model, text, createdAt }]
    }),
  )
  return new Map(opened)
}

/** Nothing where there is no key yet. */
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

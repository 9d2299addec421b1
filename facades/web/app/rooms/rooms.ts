import { queryOptions, useQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { sealRoomText } from '../../browser/crypto.ts'
import { api, queryClient } from '../shared/api/client.ts'
import type { Session } from '../shared/session.tsx'
import { keyringOf } from './keyring.ts'
import type { Member, Room } from './room.ts'

/** All lists of rooms and invitations begin with this. */
const LISTS = 'rooms'
const PAGE_SIZE = 200

/** The rooms of the person, those that were changed last first. */
export const useRooms = () => useQuery(roomsQuery)

const roomsQuery = queryOptions({
  queryKey: [LISTS, 'list'],
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
    queryKey: [LISTS, 'invitations'],
    queryFn: ({ signal }) => api.roomMembers.invitations.query(undefined, { signal }),
  })

export const refreshRooms = () => queryClient.invalidateQueries({ queryKey: [LISTS] })

export interface NewRoom {
  name: string
  description: string
  systemPrompt: string
  sharesEarlierKeys: boolean
}

/** A room begins with its key; where that cannot be kept, there is no room. */
export async function createRoom(session: Session, { name, sharesEarlierKeys, ...texts }: NewRoom): Promise<Room> {
  const keyring = keyringOf(session)
  const room = await api.rooms.create.mutate({ name, sharesEarlierKeys })
  try {
    await keyring.begin(room)
    await writeTexts(session, room, texts)
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
export async function writeTexts(
  session: Session,
  room: Room,
  { description, systemPrompt }: RoomTexts,
): Promise<void> {
  const key = (await keyringOf(session).keysOf(room)).get(room.keyEpoch)
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

// How the person has arranged their rooms in this browser.

const SLOT = 'svc:rooms'
const markListeners = new Set<() => void>()

interface Marks {
  muted: readonly string[]
  archived: readonly string[]
}

let marks: Marks = { muted: [], archived: [], ...(JSON.parse(localStorage.getItem(SLOT) ?? '{}') as Partial<Marks>) }

/** Which rooms are muted and which are put aside, in this browser. */
export const useMarks = (): Marks =>
  useSyncExternalStore(
    (listener) => {
      markListeners.add(listener)
      return () => markListeners.delete(listener)
    },
    () => marks,
  )

export const isMuted = (room: string): boolean => marks.muted.includes(room)

export function toggleMark(kind: keyof Marks, room: string): void {
  const others = marks[kind].filter((each) => each !== room)
  marks = { ...marks, [kind]: others.length === marks[kind].length ? [...others, room] : others }
  localStorage.setItem(SLOT, JSON.stringify(marks))
  for (const listener of markListeners) listener()
}

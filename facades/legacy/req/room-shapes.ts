import type { Api } from '../../../routers/index.ts'
import { olderContent, olderTime, pictureAddress } from './shapes.ts'

export type Room = Awaited<ReturnType<Api['rooms']['get']>>
export type Message = Awaited<ReturnType<Api['roomMessages']['get']>>
export type Member = Awaited<ReturnType<Api['roomMembers']['get']>>
type File = Awaited<ReturnType<Api['attachments']['get']>>

interface Person {
  id: string
  /** Where the relation is included. */
  avatar?: string | null
}

const personIn = ({ relations }: Member) => relations?.['user'] as Person | null | undefined

/** The id of the person that a membership is of; nothing where they were erased. */
export const userIn = (member: Member): string | undefined => personIn(member)?.id

export const isMember = ({ state }: Member): boolean => state === 'member'

export const roomPicture = ({ id, avatar }: Room): string => (avatar ? `/req/rooms/picture/${id}` : '')

/** Of the picture of a room, whose identifier is `room_avatars-{uuid}`. */
export const pictureUuid = ({ avatar }: Room): string | null => avatar?.replace('room_avatars-', '') ?? null

/** A room as the table of rooms has always had it. */
export const roomRow = (room: Room) => ({
  id: Number(room.id),
  room_name: room.name,
  room_icon: pictureUuid(room),
  room_description: room.roomDescription,
  system_prompt: room.systemPrompt,
  slug: room.slug,
  created_at: room.createdAt,
  updated_at: room.updatedAt,
})

/** A room without its members and messages. */
export const roomInList = (room: Room) => ({
  id: Number(room.id),
  name: room.name,
  room_icon: roomPicture(room),
  slug: room.slug,
  system_prompt: room.systemPrompt,
  room_description: room.roomDescription,
  role: room.role,
})

interface RoomContent {
  members: readonly Member[]
  /** In the order of their numbers. */
  messages: readonly Message[]
  viewer: string
}

/** A room with its members and messages. */
export function olderRoom(room: Room, { members, messages, viewer }: RoomContent) {
  const own = members.find((member) => userIn(member) === viewer)
  return {
    ...roomInList(room),
    members: members.filter(isMember).map(olderMember),
    messagesData: messages.filter(({ deletedAt }) => deletedAt === null).map((message) => olderMessage(message, own)),
  }
}

function olderMember(member: Member) {
  const { displayName: name, username, role } = member
  const user_id = Number(userIn(member))
  return { user_id, name, username, role, employeetype: null, avatar_url: memberPicture(member) }
}

function memberPicture(member: Member): string | null {
  const person = personIn(member)
  return person ? pictureAddress(person) : null
}

export const filesOf = ({ relations }: Message) => (relations?.['attachments'] ?? []) as File[]

/** A message with its author and files; whether the reader has read it. */
export function olderMessage(message: Message, reader: Member | undefined) {
  const author = message.relations?.['member'] as Member
  const { displayName: name, username, role } = author
  return {
    member_id: Number(author.id),
    member_name: name,
    message_role: role === 'assistant' ? 'assistant' : 'user',
    message_id: message.number,
    read_status: author.id === reader?.id || Number(message.id) <= Number(reader?.readUpTo ?? 0),
    author: { username, name, isRemoved: !isMember(author), avatar_url: memberPicture(author) },
    model: message.model,
    content: olderContent(message.content, 'group', filesOf(message)),
    metadata: { tools: null, params: null, ...message.metadata },
    created_at: olderTime(message.createdAt),
    updated_at: olderTime(message.updatedAt),
  }
}

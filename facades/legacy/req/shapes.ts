import { z } from 'zod'
import type { Api } from '../../../routers/index.ts'

/** The member of these bodies that says yes or no. */
export const flag = z
  .union([z.boolean(), z.literal([0, 1, '0', '1'])], { error: 'must be true or false' })
  .transform((value) => value === true || value === 1 || value === '1')

export const wholeNumber = z.coerce.number().int().min(0)

const EMPTY = 'Invalid message content: Either text or attachments must be provided in content.'

/** What a message says, as older front ends send it. */
export const messageContent = z
  .object({
    text: z.object({ ciphertext: z.string(), iv: z.string(), tag: z.string() }).nullish(),
    attachments: z.array(z.uuid()).max(100).nullish(),
  })
  .refine(({ text, attachments }) => text || (attachments && attachments.length > 0), { error: EMPTY })

type MessageContent = z.output<typeof messageContent>

/** `iv|tag|ciphertext`. */
export const toSealedText = ({ text }: MessageContent): string | null =>
  text ? `${text.iv}|${text.tag}|${text.ciphertext}` : null

/** The ids of attachments that a message names by their uuids; nothing where it names none. */
export async function findAttachmentIds(api: Api, { attachments }: MessageContent): Promise<string[] | undefined> {
  if (!attachments) return undefined
  return (await api.attachments.find({ uuids: attachments })).map(({ id }) => id)
}

/** `2026-11-22+09:30`, in UTC. */
export const toLegacyTime = (time: string): string => `${time.slice(0, 10)}+${time.slice(11, 16)}`

export const toFileAddress = (identifier: string): string => `/proxy/storage/${identifier}`

/** Where the picture of a person is; null where there is none. */
export const toPictureAddress = ({ id, avatar }: { id: string; avatar?: string | null | undefined }): string | null =>
  avatar ? `/req/profile/picture/${id}` : null

interface File {
  uuid: string
  name: string
  fileType: string
  mime: string
  identifier: string
}

/** The content of a message as older front ends read it. */
export function toLegacyContent(content: string | null, category: 'private' | 'group', files: readonly File[]) {
  const [iv = '', tag = '', ciphertext = ''] = content?.split('|') ?? []
  return {
    text: { ciphertext, iv, tag },
    attachments: files.map(({ uuid, name, fileType: type, mime, identifier }) => ({
      fileData: { uuid, name, category, type, mime, url: toFileAddress(identifier) },
    })),
  }
}

/** A form with a picture, whose file comes as base64. */
export const picture = z.object({ image: z.string({ error: 'must be a file' }) })

export type Room = Awaited<ReturnType<Api['rooms']['get']>>
export type Message = Awaited<ReturnType<Api['roomMessages']['get']>>
export type Member = Awaited<ReturnType<Api['roomMembers']['get']>>

interface Person {
  id: string
  /** Where the relation is included. */
  avatar?: string | null
}

const getPerson = ({ relations }: Member) => relations?.['user'] as Person | null | undefined

/** The id of the person that a membership is of; nothing where they were erased. */
export const getUserId = (member: Member): string | undefined => getPerson(member)?.id

export const isMember = ({ state }: Member): boolean => state === 'member'

export const toRoomPictureAddress = ({ id, avatar }: Room): string => (avatar ? `/req/rooms/picture/${id}` : '')

/** Of the picture of a room, whose identifier is `room_avatars-{uuid}`. */
export const toPictureUuid = ({ avatar }: Room): string | null => avatar?.replace('room_avatars-', '') ?? null

/** A room as the table of rooms has always had it. */
export const toRoomRow = (room: Room) => ({
  id: Number(room.id),
  room_name: room.name,
  room_icon: toPictureUuid(room),
  room_description: room.roomDescription,
  system_prompt: room.systemPrompt,
  slug: room.slug,
  created_at: room.createdAt,
  updated_at: room.updatedAt,
})

/** A room without its members and messages. */
export const toRoomListEntry = (room: Room) => ({
  id: Number(room.id),
  name: room.name,
  room_icon: toRoomPictureAddress(room),
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
export function toLegacyRoom(room: Room, { members, messages, viewer }: RoomContent) {
  const own = members.find((member) => getUserId(member) === viewer)
  return {
    ...toRoomListEntry(room),
    members: members.filter(isMember).map(toLegacyMember),
    messagesData: messages
      .filter(({ deletedAt }) => deletedAt === null)
      .map((message) => toLegacyMessage(message, own)),
  }
}

function toLegacyMember(member: Member) {
  const { displayName: name, username, role } = member
  const user_id = Number(getUserId(member))
  return { user_id, name, username, role, employeetype: null, avatar_url: toMemberPictureAddress(member) }
}

function toMemberPictureAddress(member: Member): string | null {
  const person = getPerson(member)
  return person ? toPictureAddress(person) : null
}

export const filesOf = ({ relations }: Message) =>
  (relations?.['attachments'] ?? []) as Awaited<ReturnType<Api['attachments']['get']>>[]

/** A message with its author and files; whether the reader has read it. */
export function toLegacyMessage(message: Message, reader: Member | undefined) {
  const author = message.relations?.['member'] as Member
  const { displayName: name, username, role } = author
  return {
    member_id: Number(author.id),
    member_name: name,
    message_role: role === 'assistant' ? 'assistant' : 'user',
    message_id: message.number,
    read_status: author.id === reader?.id || Number(message.id) <= Number(reader?.readUpTo ?? 0),
    author: { username, name, isRemoved: !isMember(author), avatar_url: toMemberPictureAddress(author) },
    model: message.model,
    content: toLegacyContent(message.content, 'group', filesOf(message)),
    metadata: { tools: null, params: null, ...message.metadata },
    created_at: toLegacyTime(message.createdAt),
    updated_at: toLegacyTime(message.updatedAt),
  }
}

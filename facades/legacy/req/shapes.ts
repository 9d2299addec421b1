import { z } from 'zod'
import type { Api } from '../../../routers/index.ts'

/** A boolean of legacy bodies. */
export const flag = z
  .union([z.boolean(), z.literal([0, 1, '0', '1'])], { error: 'must be true or false' })
  .transform((value) => value === true || value === 1 || value === '1')

export const wholeNumber = z.coerce.number().int().min(0)

const EMPTY = 'Invalid message content: Either text or attachments must be provided in content.'

/** The legacy content of a message. */
export const messageContent = z
  .object({
    text: z.object({ ciphertext: z.string(), iv: z.string(), tag: z.string() }).nullish(),
    attachments: z.array(z.uuid()).max(100).nullish(),
  })
  .refine(({ text, attachments }) => text || (attachments && attachments.length > 0), { error: EMPTY })

type MessageContent = z.output<typeof messageContent>

/** Joins a ciphertext to `iv|tag|ciphertext`; null without text. */
export const toSealedText = ({ text }: MessageContent): string | null =>
  text ? `${text.iv}|${text.tag}|${text.ciphertext}` : null

/** Finds the ids of attachments by their uuids; undefined without attachments. */
export async function findAttachmentIds(api: Api, { attachments }: MessageContent): Promise<string[] | undefined> {
  if (!attachments) return undefined
  return (await api.attachments.find({ uuids: attachments })).map(({ id }) => id)
}

/** Formats a time as `2026-11-22+09:30` in UTC. */
export const toLegacyTime = (time: string): string => `${time.slice(0, 10)}+${time.slice(11, 16)}`

export const toFileAddress = (identifier: string): string => `/proxy/storage/${identifier}`

/** Returns the address of a person's picture; null if there is none. */
export const toPictureAddress = ({ id, avatar }: { id: string; avatar?: string | null | undefined }): string | null =>
  avatar ? `/req/profile/picture/${id}` : null

interface File {
  uuid: string
  name: string
  fileType: string
  mime: string
  identifier: string
}

/** Converts the content of a message to its legacy form. */
export function toLegacyContent(content: string | null, category: 'private' | 'group', files: readonly File[]) {
  const [iv = '', tag = '', ciphertext = ''] = content?.split('|') ?? []
  return {
    text: { ciphertext, iv, tag },
    attachments: files.map(({ uuid, name, fileType: type, mime, identifier }) => ({
      fileData: { uuid, name, category, type, mime, url: toFileAddress(identifier) },
    })),
  }
}

/** A form with a picture as base64. */
export const picture = z.object({ image: z.string({ error: 'must be a file' }) })

export type Room = Awaited<ReturnType<Api['rooms']['get']>>
export type Message = Awaited<ReturnType<Api['roomMessages']['get']>>
export type Member = Awaited<ReturnType<Api['roomMembers']['get']>>

interface Person {
  id: string
  /** Present if the relation is included. */
  avatar?: string | null
}

const getPerson = ({ relations }: Member) => relations?.['user'] as Person | null | undefined

/** Returns the user id of a membership; undefined for an erased person. */
export const getUserId = (member: Member): string | undefined => getPerson(member)?.id

export const isMember = ({ state }: Member): boolean => state === 'member'

export const toRoomPictureAddress = ({ id, avatar }: Room): string => (avatar ? `/req/rooms/picture/${id}` : '')

/** Returns the uuid of a room's picture, whose identifier is `room_avatars-{uuid}`. */
export const toPictureUuid = ({ avatar }: Room): string | null => avatar?.replace('room_avatars-', '') ?? null

/** Converts a room to its row of the legacy table. */
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

/** Converts a room to a list entry without members and messages. */
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
  /** Messages in the order of their numbers. */
  messages: readonly Message[]
  /** The membership of the caller. */
  reader: Member | undefined
}

/** Converts a room with its members and messages. */
export function toLegacyRoom(room: Room, { members, messages, reader }: RoomContent) {
  return {
    ...toRoomListEntry(room),
    members: members.filter(isMember).map(toLegacyMember),
    messagesData: messages
      .filter(({ deletedAt }) => deletedAt === null)
      .map((message) => toLegacyMessage(message, reader)),
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

export const getFiles = ({ relations }: Message) =>
  (relations?.['attachments'] ?? []) as Awaited<ReturnType<Api['attachments']['get']>>[]

/** Converts a message with its author, its files, and whether the reader has read it. */
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
    content: toLegacyContent(message.content, 'group', getFiles(message)),
    metadata: { tools: null, params: null, ...message.metadata },
    created_at: toLegacyTime(message.createdAt),
    updated_at: toLegacyTime(message.updatedAt),
  }
}

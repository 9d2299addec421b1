import { defineEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import type { ParameterBinder, SqlPredicate } from '../sql/scope.ts'
import { Attachment } from './attachment.ts'
import type { MessageMetadata } from './conversation-message.ts'
import { Room } from './room.ts'
import { RoomMember, roomsOfViewer } from './room-member.ts'

/** A message in a room, encrypted by its author's browser. */
export const RoomMessage = defineEntity({
  name: 'RoomMessage',
  tableName: 'room_messages',
  uniques: [
    { properties: ['room', 'seq', 'subSeq'] },
    // Prevents duplicates when a client retries; messages without a client id are all distinct.
    { properties: ['member', 'clientId'] },
  ],
  indexes: [{ properties: ['room', 'id'] }, { properties: ['thread', 'subSeq'] }],
  properties: {
    id,
    ...timestamps,
    room: () => p.manyToOne(Room).deleteRule('cascade').ref(),
    /** The author. */
    member: () => p.manyToOne(RoomMember).deleteRule('no action').ref(),
    /** Its number, and that of a reply to it; a message that is no reply has 0. */
    seq: p.integer(),
    subSeq: p.integer().default(0),
    /** The message that it replies to. */
    thread: () => p.manyToOne(RoomMessage).deleteRule('cascade').nullable().ref(),
    replies: () => p.oneToMany(RoomMessage).mappedBy('thread'),
    attachments: () => p.oneToMany(Attachment).mappedBy('message'),
    /** Position among all messages of the room; the last one equals their number. */
    ordinal: p.integer(),
    /** `iv|tag|ciphertext`; nothing where it has attachments alone, or was deleted. */
    content: p.text().nullable(),
    /** The number of the key that opens the content. */
    keyEpoch: p.integer(),
    clientId: p.string().length(64).nullable(),
    /** The model that wrote it; null if a person did. */
    model: p.string().length(200).nullable(),
    /** The tools and parameters of an answer. Not encrypted. */
    metadata: p.json().$type<MessageMetadata>().nullable(),
    editedAt: moment()
      .nullable()
      .onUpdate(() => new Date()),
    /** Set if the message was erased and only its number is left. */
    deletedAt: moment().nullable(),
  },
})

/** Messages in the caller's rooms; administrators of the installation see no others either. */
export const visibleMessages: SqlPredicate = (message, sql) => `${message}.room_id = any(${roomsOfViewer(sql)})`

/**
 * SQL: a former member has written in the room. For `exists`, PostgreSQL might read the messages of all rooms; this reads
 * one row of an index.
 */
export const isFormerAuthor: SqlPredicate = (member, sql) => {
  const message = sql.alias()
  return `${member}.state = 'removed'
    and (select true from ${RoomMessage.tableName} ${message} where ${message}.member_id = ${member}.id limit 1)`
}

/** SQL: the caller is a member of the message's room with one of the roles. */
const isMemberAs = (message: string, sql: ParameterBinder, roles: string) =>
  sql.exists(
    'room_members',
    (m) => `${m}.room_id = ${message}.room_id and ${m}.user_id = ${sql.param('viewer')}
      and ${m}.state = 'member' and ${m}.role in (${roles})`,
  )

const isAuthor = (message: string, sql: ParameterBinder) =>
  sql.exists('room_members', (m) => `${m}.id = ${message}.member_id and ${m}.user_id = ${sql.param('viewer')}`)

/** The caller's own messages, while they may write in the room. */
export const editableMessages: SqlPredicate = (message, sql) =>
  `(${message}.deleted_at is null and ${isAuthor(message, sql)} and ${isMemberAs(message, sql, `'editor', 'admin'`)})`

/** The same, and all messages in rooms that the caller administers. */
export const deletableMessages: SqlPredicate = (message, sql) =>
  `(${isMemberAs(message, sql, `'admin'`)} or ${isAuthor(message, sql)} and ${isMemberAs(message, sql, `'editor'`)})`

/** SQL for `12.001`, with as many digits as the replies need. */
export const messageNumber = (message: string) =>
  `concat(${message}.seq, '.', lpad(${message}.sub_seq::text, greatest(3, length(${message}.sub_seq::text)), '0'))`

export const replyCount: SqlPredicate = (message, sql) => {
  const reply = sql.alias()
  return `case when ${message}.sub_seq > 0 then 0 else (select coalesce(max(${reply}.sub_seq), 0) from room_messages ${reply}
    where ${reply}.room_id = ${message}.room_id and ${reply}.seq = ${message}.seq) end`
}

/**
 * SQL for the number of messages in a room, which the last one contains, because none is removed. 0 if the caller sees
 * none.
 */
export const messagesInRoom = (room: string, sql: ParameterBinder): string => {
  const last = sql.alias()
  return `coalesce((select ${last}.ordinal from room_messages ${last} where ${last}.room_id = ${room}
    and ${visibleMessages(last, sql)} order by ${last}.id desc limit 1), 0)`
}

/** SQL for the number of messages in all rooms of the caller. */
export const messagesOfViewer = (sql: ParameterBinder): string => {
  const room = sql.alias()
  return `coalesce((select sum(${messagesInRoom(`${room}.id`, sql)})::int from unnest(${roomsOfViewer(sql)}) ${room} (id)), 0)`
}

/** SQL for the number of replies to a message. */
export const repliesTo = (message: string, sql: ParameterBinder): string => {
  const last = sql.alias()
  return `coalesce((select max(${last}.sub_seq) from room_messages ${last} where ${last}.thread_id = ${message}), 0)`
}

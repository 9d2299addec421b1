import { type LoggedChange, writeLogSql } from '../events/change-log.sql.ts'
import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'
import { type RoomEpoch, roomEpoch } from './room-key.sql.ts'
import { messageNumber } from './room-message.ts'

/** A member who may write, with the data that a message needs. */
export interface Writer extends RoomEpoch {
  member: number
  role: string
}

/**
 * Locks room and membership; messages of a room queue here. A membership that ends concurrently has either ended, and
 * is not found, or ends after the message. Values: the ids of the room and of the writer.
 */
export const lockRoomForWriter = statement<Writer>(
  'lock-room-for-writer',
  `select m.id as member, m.role, ${roomEpoch('r')}
  from rooms r join room_members m on m.room_id = r.id
  where r.id = $1 and m.user_id = $2 and m.state = 'member' for no key update of r for share of m`,
)

/** A change that a new message has made, and the values that the database gave the message. */
export interface InsertedMessage extends LoggedChange {
  number: string
  rowVersion: string
  createdAt: string
}

/**
 * Writes a message and its changes in the log, in one statement, because others wait for the lock; selects the changes,
 * that of the message first. Writes nothing if the member has already sent the client id, or if there is no message to
 * reply to. Values: the ids of the room and of the member, content, key epoch, client id, the message replied to, the
 * model that wrote it, and metadata as JSON.
 */
export const insertMessage = statement<InsertedMessage>(
  'insert-message',
  `with last as (
    select coalesce((select seq from room_messages where room_id = $1 order by seq desc limit 1), 0) as seq,
           coalesce((select ordinal from room_messages where room_id = $1 order by id desc limit 1), 0) as ordinal
  ), written as (
    insert into room_messages (room_id, member_id, content, key_epoch, client_id, model, metadata, thread_id, seq, sub_seq, ordinal)
    select g.room_id, g.member_id, g.content, g.key_epoch, g.client_id, g.model, g.metadata, p.id, coalesce(p.seq, last.seq + 1),
           case when p.id is null then 0 else 1 + (
             select sub_seq from room_messages r where r.room_id = p.room_id and r.seq = p.seq order by sub_seq desc limit 1
           ) end, last.ordinal + 1
      from (values ($1::int, $2::int, $3::text, $4::int, $5::text, $6::int, $7::text, $8::jsonb))
             as g (room_id, member_id, content, key_epoch, client_id, thread_id, model, metadata)
     cross join last
      left join room_messages p on p.id = g.thread_id and p.room_id = g.room_id and p.sub_seq = 0
     where g.thread_id is null or p.id is not null
    on conflict (member_id, client_id) do nothing returning room_id, id, thread_id, seq, sub_seq, xmin, created_at
  ), changed as (
    select 1 as n, 'room:' || room_id as stream, 'room-messages.created' as kind, id::text as subject,
           ${messageNumber('written')} as number, null::json as status from written
     union all
    -- The message replied to has one more reply.
    select 2, 'room:' || room_id, 'room-messages.updated', thread_id::text, seq || '.000', null from written where thread_id is not null
  ), ${writeLogSql('changed', `, (select xmin::text from written) as "rowVersion", (select ${isoTime('created_at')} from written) as "createdAt"`)}`,
)

/** The last message of a room, for lists of rooms. */
export interface LastMessage {
  room: string
  id: string
  /** Null if there is none, or if it is too long for a list. */
  content: string | null
  keyEpoch: number
  model: string | null
  /** Name of the author; null if they were erased. */
  author: string | null
  createdAt: string
}

/** Ciphertext of a few thousand characters. */
const MAX_LISTED = 16 * 1024

/** Finds the last message of each room of a person, newest first. Values: the person's id, and the limit. */
export const findLastMessages = statement<LastMessage>(
  'find-last-messages',
  `select m.room_id::text as room, x.id::text as id, x.key_epoch as "keyEpoch", x.model, u.name as author,
      case when octet_length(x.content) <= ${MAX_LISTED} then x.content end as content, ${isoTime('x.created_at')} as "createdAt"
    from room_members m
    join lateral (
      select * from room_messages last where last.room_id = m.room_id and last.deleted_at is null order by last.id desc limit 1
    ) x on true
    join room_members a on a.id = x.member_id
    left join ${User.tableName} u on u.id = a.user_id
   where m.user_id = $1 and m.state = 'member' order by x.id desc limit $2`,
)

/** SQL for the number of the message that a row of the change log is about. */
export const numberOfMessage = (change: string) => `case when ${change}.kind like 'room-messages.%'
    then (select ${messageNumber('x')} from room_messages x where x.id = ${change}.subject::int) end`

/** Values: the member's id and the client id. */
export const findSentMessage = statement<{ id: number }>(
  'find-sent-message',
  'select id from room_messages where member_id = $1 and client_id = $2',
)

/** Locks the room of a message, so that no membership ends during the change. Values: the message's id. */
export const lockRoomOfMessage = statement<object>(
  'lock-room-of-message',
  'select from rooms r join room_messages m on m.room_id = r.id where m.id = $1 for no key update of r',
)

/** Values: the message's id. */
export const findRoomOfMessage = statement<{ room: number }>(
  'find-room-of-message',
  'select room_id as room from room_messages where id = $1',
)

/** Erases a message with the reactions to it; only its number is left. Values: the message's id. */
export const eraseMessage = statement<{ room: number }>(
  'erase-message',
  `with reactions as (delete from room_reactions where message_id = $1)
  update room_messages set content = null, deleted_at = now(), updated_at = now()
  where id = $1 and deleted_at is null returning room_id as room`,
)

/**
 * Moves the read mark forward. The membership is locked, so that an ended one marks nothing, and the room before it, in
 * the order of a room's deletion. Values: the id of the last read message, the room's id and the reader's.
 */
export const markRead = statement<{ member: number; isNew: boolean }>(
  'mark-read',
  `with reader as (
    select m.id, m.user_id, x.id as up_to, x.room_id
      from rooms r join room_members m on m.room_id = r.id join room_messages x on x.id = $1 and x.room_id = r.id
     where r.id = $2 and m.user_id = $3 and m.state = 'member' for key share of r for share of m
  ), marked as (
    insert into room_read_marks as mark (user_id, room_id, up_to)
    select user_id, room_id, up_to from reader
    on conflict (user_id, room_id) do update set up_to = excluded.up_to, read_at = now() where mark.up_to < excluded.up_to
    returning up_to
  )
  select reader.id as member, exists (select from marked) as "isNew" from reader`,
)

/**
 * Moves the read mark back to before a message, or before the last one of others without one, but never to before the
 * beginning of the membership. Selects the membership, the message, and the mark if it has moved. Values: the message's
 * id or null, and the ids of the room and of the reader.
 */
export const markUnread = statement<{ member: number; from: number | null; upTo: number | null }>(
  'mark-unread',
  `with reader as (
    select m.id, m.user_id, m.room_id, coalesce(k.starts_after, 0) as starts_after
      from rooms r join room_members m on m.room_id = r.id
      left join room_read_marks k on k.user_id = m.user_id and k.room_id = m.room_id
     where r.id = $2 and m.user_id = $3 and m.state = 'member' for key share of r for share of m
  ), chosen as (
    select reader.*, case when $1::int is null then (
        select x.id from room_messages x where x.room_id = reader.room_id and x.member_id <> reader.id and x.deleted_at is null
           and x.id > reader.starts_after order by x.id desc limit 1
      ) else (select x.id from room_messages x where x.id = $1 and x.room_id = reader.room_id) end as message
      from reader
  ), moved as (
    update room_read_marks mark set up_to = greatest(chosen.starts_after, (
        select x.id from room_messages x where x.room_id = chosen.room_id and x.id < chosen.message order by x.id desc limit 1
      ))
      from chosen where mark.user_id = chosen.user_id and mark.room_id = chosen.room_id
       and mark.up_to >= chosen.message and mark.up_to > chosen.starts_after
    returning mark.up_to
  )
  select chosen.id as member, chosen.message as "from", (select up_to from moved) as "upTo" from chosen`,
)

import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment } from '../sql/columns.ts'
import { statement } from '../sql/statement.ts'
import { RoomMember } from './room-member.ts'
import { RoomMessage } from './room-message.ts'

/** The longest ciphertext of a reaction. */
export const MAX_REACTION = 200

/** A reaction to a message, encrypted by its author's browser. */
export const RoomReaction = defineEntity({
  name: 'RoomReaction',
  tableName: 'room_reactions',
  indexes: [{ properties: ['message', 'id'] }],
  properties: {
    id,
    createdAt: moment().defaultRaw('now()'),
    message: () => p.manyToOne(RoomMessage).deleteRule('cascade').ref(),
    /** The author. */
    member: () => p.manyToOne(RoomMember).deleteRule('cascade').index().ref(),
    /** `iv|tag|ciphertext`. */
    content: p.string().length(MAX_REACTION),
    /** The number of the key that opens the content. */
    keyEpoch: p.integer(),
  },
})

/** A reaction as the members of the room see it. */
interface SealedReaction {
  id: string
  member: string
  /** The name of the author; null if they were erased. */
  name: string | null
  content: string
  keyEpoch: number
}

/** The reactions to a message, whose id this is. */
export interface MessageReactions {
  id: string
  reactions: SealedReaction[]
}

/** Lists the reactions to messages in the rooms of a person. Values: ids of messages, and the person's. */
export const listReactions = statement<MessageReactions>(
  'list-reactions',
  `select r.message_id::text as id, json_agg(json_build_object('id', r.id::text, 'member', r.member_id::text,
      'name', u.name, 'content', r.content, 'keyEpoch', r.key_epoch) order by r.id) as reactions
    from room_reactions r join room_messages m on m.id = r.message_id
    join room_members own on own.room_id = m.room_id and own.user_id = $2 and own.state = 'member'
    join room_members a on a.id = r.member_id
    left join ${User.tableName} u on u.id = a.user_id
   where r.message_id = any($1::int[]) and m.deleted_at is null group by r.message_id`,
)

/** Finds the room of a message, for a member of it. Values: the ids of the message and of the person. */
export const findRoomForReaction = statement<{ room: number }>(
  'find-room-for-reaction',
  `select m.room_id as room from room_messages m
    join room_members own on own.room_id = m.room_id and own.user_id = $2 and own.state = 'member' where m.id = $1`,
)

/** Counts the reactions to a message that was not deleted. Values: the message's and the member's id. */
export const countReactions = statement<{ all: number; own: number }>(
  'count-reactions',
  `select count(r.id)::int as "all", count(r.id) filter (where r.member_id = $2)::int as own
    from room_messages m left join room_reactions r on r.message_id = m.id
   where m.id = $1 and m.deleted_at is null group by m.id`,
)

/** Values: the message's and the member's id, content, and key epoch. */
export const insertReaction = statement<never>(
  'insert-reaction',
  'insert into room_reactions (message_id, member_id, content, key_epoch) values ($1, $2, $3, $4)',
)

/** Deletes a reaction of a member to a message. Values: its id, and those of the message and the member. */
export const deleteReaction = statement<{ id: number }>(
  'delete-reaction',
  'delete from room_reactions where id = $1 and message_id = $2 and member_id = $3 returning id',
)

/** Deletes the reactions of a person, and returns the message and the room of each. Values: the person's id. */
export const deleteReactionsOfPerson = statement<{ message: number; room: number }>(
  'delete-reactions-of-person',
  `delete from room_reactions r using room_members m where m.id = r.member_id and m.user_id = $1
    returning r.message_id as message, m.room_id as room`,
)

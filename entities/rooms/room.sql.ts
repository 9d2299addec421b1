import { User } from '../identity/user.ts'
import { statement } from '../sql/statement.ts'
import { isPending } from './room-member.ts'

/** Finds a room by its slug; the caller must check its visibility. Values: the slug. */
export const findRoomBySlug = statement<{ id: string }>(
  'find-room-by-slug',
  'select id::text as id from rooms where slug = $1',
)

/** Values: the room's id, and the number of a message as two values. */
export const findMessageByNumber = statement<{ id: string }>(
  'find-message-by-number',
  'select id::text as id from room_messages where room_id = $1 and seq = $2 and sub_seq = $3',
)

/** Values: usernames. */
export const findPeopleByName = statement<{ id: string; username: string }>(
  'find-people-by-name',
  `select id::text as id, username from ${User.tableName} where username = any($1::text[])`,
)

/** Finds pending invitations, newest first. Values: the person's id, and the limit. */
export const findInvitationsOfUser = statement<{ id: number }>(
  'find-invitations-of',
  `select m.id from room_members m where m.user_id = $1 and ${isPending('m')} order by m.id desc limit $2`,
)

/** Deletes a room, and selects its picture. Values: its id. */
export const deleteRoom = statement<{ avatar: string | null }>(
  'delete-room',
  'delete from rooms where id = $1 returning avatar',
)

import { User } from '../identity/user.ts'
import { statement } from '../sql/statement.ts'
import { isPending } from './room-member.ts'

/** Values: the slug. Whoever is told of the room is asked about by its scope. */
export const findRoomBySlug = statement<{ id: string }>(
  'find-room-by-slug',
  'select id::text as id from rooms where slug = $1',
)

/** Values: the room's id and the number of a message as two. */
export const findMessageByNumber = statement<{ id: string }>(
  'find-message-by-number',
  'select id::text as id from room_messages where room_id = $1 and seq = $2 and sub_seq = $3',
)

/** Values: usernames. */
export const findPeopleByName = statement<{ id: string; username: string }>(
  'find-people-by-name',
  `select id::text as id, username from ${User.tableName} where username = any($1::text[])`,
)

/** Values: the person's id, how many at most. The invitations that they can accept, the newest first. */
export const findInvitationsOf = statement<{ id: number }>(
  'find-invitations-of',
  `select m.id from room_members m where m.user_id = $1 and ${isPending('m')} order by m.id desc limit $2`,
)

/** Values: its id. Selects the picture that it had. */
export const deleteRoom = statement<{ avatar: string | null }>(
  'delete-room',
  'delete from rooms where id = $1 returning avatar',
)

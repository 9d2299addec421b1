import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'
import { unboundedStatement } from '../sql/statement.ts'
import { Room } from './room.ts'

/** How far a person has read in a room: ids of a room's messages are in the order in which they came. */
export const RoomReadMark = defineEntity({
  name: 'RoomReadMark',
  tableName: 'room_read_marks',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
    room: () => p.manyToOne(Room).primary().deleteRule('cascade').ref(),
    /** The id of the last message they have read, or that was there when they came. */
    upTo: p.integer(),
    /** The id of the last message that was there when they came: up to it they have read nothing, though nothing is unread. */
    startsAfter: p.integer().default(0),
    readAt: moment().defaultRaw('now()'),
  },
})

/** The ids of a member and of their person, and of messages: they have read those after the one, up to the other. */
export type ReadMark = readonly [member: number, person: number, after: number, upTo: number]

/** Values: the ids of rooms, and that of the person who comes first. How far the members of each have read. */
export const findReadMarks = unboundedStatement<{ room: number; marks: ReadMark[] }>(
  `select m.room_id as room,
      json_agg(json_build_array(m.id, m.user_id, coalesce(k.starts_after, 0), coalesce(k.up_to, 0))
        order by m.user_id <> $2, m.user_id) as marks
    from room_members m left join room_read_marks k on k.user_id = m.user_id and k.room_id = m.room_id
   where m.room_id = any($1::int[]) and m.state = 'member' group by m.room_id`,
)

import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'
import { unboundedStatement } from '../sql/statement.ts'
import { Room } from './room.ts'

/** Read mark of a person in a room; ids of messages follow their order. */
export const RoomReadMark = defineEntity({
  name: 'RoomReadMark',
  tableName: 'room_read_marks',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
    room: () => p.manyToOne(Room).primary().deleteRule('cascade').ref(),
    /** The last message that they have read, or that existed when they joined. */
    upTo: p.integer(),
    /** The last message when they joined: earlier ones count neither as read nor as unread. */
    startsAfter: p.integer().default(0),
    readAt: moment().defaultRaw('now()'),
  },
})

/** A read mark: ids of member and person, and the range of messages they have read. */
export type ReadMark = readonly [member: number, person: number, after: number, upTo: number]

/** Finds the read marks of rooms' members. Values: ids of rooms, and the person who comes first. */
export const findReadMarks = unboundedStatement<{ room: number; marks: ReadMark[] }>(
  `select m.room_id as room,
      json_agg(json_build_array(m.id, m.user_id, coalesce(k.starts_after, 0), coalesce(k.up_to, 0))
        order by m.user_id <> $2, m.user_id) as marks
    from room_members m left join room_read_marks k on k.user_id = m.user_id and k.room_id = m.room_id
   where m.room_id = any($1::int[]) and m.state = 'member' group by m.room_id`,
)

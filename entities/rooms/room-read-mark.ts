import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'
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

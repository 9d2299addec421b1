import { defineEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { Room } from './room.ts'
import { RoomMember } from './room-member.ts'

/** What somebody has written in a room, as their browser has encrypted it. */
export const RoomMessage = defineEntity({
  name: 'RoomMessage',
  tableName: 'room_messages',
  uniques: [
    { properties: ['room', 'seq', 'subSeq'] },
    // A client may send one again; those without an id differ from each other.
    { properties: ['member', 'clientId'] },
  ],
  indexes: [{ properties: ['room', 'id'] }],
  properties: {
    id,
    ...timestamps,
    room: () => p.manyToOne(Room).deleteRule('cascade').ref(),
    /** The author. */
    member: () => p.manyToOne(RoomMember).deleteRule('no action').ref(),
    /** Its number, and that of a reply below it; a message that is no reply has 0. */
    seq: p.integer(),
    subSeq: p.integer().default(0),
    /** `iv|tag|ciphertext`; nothing where the message was deleted. */
    content: p.text().nullable(),
    /** The number of the key that opens the content. */
    keyEpoch: p.integer(),
    clientId: p.string().length(64).nullable(),
    editedAt: moment().nullable(),
    /** Set where only its place is left. */
    deletedAt: moment().nullable(),
  },
})

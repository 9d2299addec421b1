import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'
import { Room } from './room.ts'

/** A key of a room, wrapped by another member's browser for the public key of one member. */
export const RoomKey = defineEntity({
  name: 'RoomKey',
  tableName: 'room_keys',
  properties: {
    room: () => p.manyToOne(Room).primary().deleteRule('cascade').ref(),
    user: () => p.manyToOne(User).primary().deleteRule('cascade').index().ref(),
    epoch: p.integer().primary(),
    wrappedKey: p.text(),
  },
})

/** A key that replaced the previous one; the first key of a room has no row. */
export const RoomKeyEpoch = defineEntity({
  name: 'RoomKeyEpoch',
  tableName: 'room_key_epochs',
  properties: {
    room: () => p.manyToOne(Room).primary().deleteRule('cascade').ref(),
    epoch: p.integer().primary(),
    /** The previous key, encrypted with this one, if new members may read earlier messages. */
    previousKey: p.text().nullable(),
    startedAt: moment().defaultRaw('now()'),
  },
})

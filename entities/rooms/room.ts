import { defineEntity, p } from '@mikro-orm/core'
import { pictureIndex } from '../identity/picture.ts'
import { id, moment, timestamps } from '../sql/columns.ts'
import { everyRowForAdmins, type SqlPredicate } from '../sql/scope.ts'
import { RoomMember, roomsOfViewer, roomsToAdminister } from './room-member.ts'
import { RoomMessage } from './room-message.ts'

/** Where people meet each other and the AI user. What they write is encrypted in their browsers. */
export const Room = defineEntity({
  name: 'Room',
  tableName: 'rooms',
  indexes: [pictureIndex('rooms')],
  properties: {
    id,
    ...timestamps,
    name: p.string().length(120),
    /** Made from the first name and never changed: keys and channels are found by it. */
    slug: p.string().length(140).unique(),
    /** The storage key of the picture. */
    avatar: p.string().nullable(),
    /** Ciphertext, like the system prompt: only the members can read it. */
    roomDescription: p.text().nullable(),
    systemPrompt: p.text().nullable(),
    /** The number of the key that is in use; the first key has 0. */
    keyEpoch: p.integer().default(0),
    keyEpochSince: moment().defaultRaw('now()'),
    /** Since when somebody may have a key who should not, or lacks one. */
    rekeyRequiredSince: moment().nullable(),
    /** Whether new members are given the keys before the one in use, too. */
    sharesEarlierKeys: p.boolean().default(true),
    members: () => p.oneToMany(RoomMember).mappedBy('room'),
    messages: () => p.oneToMany(RoomMessage).mappedBy('room'),
  },
})

/** Those of which the caller is a member. */
export const joinedRooms: SqlPredicate = (room, sql) => `${room}.id = any(${roomsOfViewer(sql)})`

/** The same, and for administrators of the installation, who see that a room exists, every room. */
export const visibleRooms = everyRowForAdmins(joinedRooms)

/** Those that the caller administers as a member. */
export const administeredRooms: SqlPredicate = (room, sql) => `${room}.id = any(${roomsToAdminister(sql)})`

/** The same, and for administrators of the installation every room. */
export const removableRooms = everyRowForAdmins(administeredRooms)

import { defineEntity, p } from '@mikro-orm/core'
import { pictureIndex } from '../identity/picture.ts'
import { id, moment, timestamps } from '../sql/columns.ts'
import { everyRowForAdmins, type SqlPredicate } from '../sql/scope.ts'
import { RoomMember, roomsOfViewer, roomsToAdminister } from './room-member.ts'
import { RoomMessage } from './room-message.ts'

/** A room of people and the AI user. Its messages are encrypted in browsers. */
export const Room = defineEntity({
  name: 'Room',
  tableName: 'rooms',
  indexes: [pictureIndex('rooms')],
  properties: {
    id,
    ...timestamps,
    name: p.string().length(120),
    /** Made from the first name and never changed; keys and channels refer to it. */
    slug: p.string().length(140).unique(),
    /** The storage key of the picture. */
    avatar: p.string().nullable(),
    /** Ciphertext, like the system prompt: only the members can read it. */
    roomDescription: p.text().nullable(),
    systemPrompt: p.text().nullable(),
    /** Number of the current key; the first key has 0. */
    keyEpoch: p.integer().default(0),
    keyEpochSince: moment().defaultRaw('now()'),
    /** Number of the first key that nobody has who was removed or has left. */
    minKeyEpoch: p.integer().default(0),
    /** Time since which somebody may have a key wrongly, or lacks one. */
    rekeyRequiredSince: moment().nullable(),
    /** True if new members also get earlier keys. */
    sharesEarlierKeys: p.boolean().default(true),
    members: () => p.oneToMany(RoomMember).mappedBy('room'),
    messages: () => p.oneToMany(RoomMessage).mappedBy('room'),
  },
})

/** Rooms of which the caller is a member. */
export const joinedRooms: SqlPredicate = (room, sql) => `${room}.id = any(${roomsOfViewer(sql)})`

/** The same, and every room for administrators of the installation, who see that it exists. */
export const visibleRooms = everyRowForAdmins(joinedRooms)

/** Rooms that the caller administers as a member. */
export const administeredRooms: SqlPredicate = (room, sql) => `${room}.id = any(${roomsToAdminister(sql)})`

/** The same, and every room for administrators of the installation. */
export const removableRooms = everyRowForAdmins(administeredRooms)

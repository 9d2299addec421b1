import { z } from 'zod'
import { pictureIdentifier } from '../../entities/identity/picture.ts'
import { administeredRooms, joinedRooms, Room, removableRooms, visibleRooms } from '../../entities/rooms/room.ts'
import { memberRoles, unreadCount, viewerMark, viewerRole } from '../../entities/rooms/room-member.ts'
import { messagesInRoom } from '../../entities/rooms/room-message.ts'
import type { SqlPredicate } from '../../entities/sql/scope.ts'
import { imageBytes } from '../identity/pictures/pictures.ts'
import { attribute, defineResource, many, sortedTimestamps } from '../resource/declare.ts'

const MAX_CIPHERTEXT = 128 * 1024

/** The ciphertext of a description or system prompt. */
export const roomText = z.string().max(MAX_CIPHERTEXT)

const ciphertext = roomText.nullable()

/** Selects a value for members only, not for administrators of the installation. */
const onlyForMembers =
  (value: (room: string) => string): SqlPredicate =>
  (room, sql) =>
    sql.isUnrestricted ? `case when ${joinedRooms(room, sql)} then ${value(room)} end` : value(room)

export const rooms = defineResource({
  type: 'rooms',
  about: 'Rooms of which the caller is a member.',
  entity: Room,
  scope: visibleRooms,
  mayUpdate: administeredRooms,
  mayDelete: removableRooms,
  streams: { room: 'id' },
  attributes: {
    name: attribute(z.string().trim().min(1).max(120).describe('Not encrypted.'), { write: true, sort: true }),
    slug: attribute(z.string().describe('Unique and never changed: the name of its keys and of its channel.')),
    avatar: attribute(z.string().nullable().describe('What the picture is called below `/proxy/storage/`.'), {
      write: 'update',
      input: imageBytes.min(1).nullable().describe('A new picture as base64, or null for none.'),
      sql: onlyForMembers((room) => pictureIdentifier('room_avatars', `${room}.avatar`)),
    }),
    roomDescription: attribute(
      ciphertext.describe('Ciphertext, which names the number of its key itself: only the members can read it.'),
      {
        write: true,
        default: null,
        sql: onlyForMembers((room) => `${room}.room_description`),
      },
    ),
    systemPrompt: attribute(ciphertext.describe('Ciphertext of what a model is told about the room.'), {
      write: true,
      default: null,
      sql: onlyForMembers((room) => `${room}.system_prompt`),
    }),
    keyEpoch: attribute(z.int().describe('The number of the key in use; the first key has 0.')),
    rekeyRequired: attribute(
      z
        .boolean()
        .describe('Whether somebody has the key who should not, or lacks it: an admin or editor makes the next one.'),
      { sql: (room) => `(${room}.rekey_required_since is not null)` },
    ),
    sharesEarlierKeys: attribute(
      z
        .boolean()
        .describe(
          'Whether new members can read what was written with earlier keys; otherwise their first is that in use.',
        ),
      { write: true, default: true },
    ),
    role: attribute(z.enum(memberRoles).describe('What the caller may do. Absent for who is no member.'), {
      sql: viewerRole,
      sparse: true,
    }),
    unreadCount: attribute(
      z.int().describe('How many messages of others the caller has not read, at most 1000. Absent like the role.'),
      { sql: unreadCount, sparse: true },
    ),
    isMuted: attribute(z.boolean().describe('Whether the caller wants to hear nothing of it. Absent like the role.'), {
      sql: viewerMark('is_muted'),
      sparse: true,
    }),
    isArchived: attribute(z.boolean().describe('Whether the caller has put it aside. Absent like the role.'), {
      sql: viewerMark('is_archived'),
      sparse: true,
    }),
    ...sortedTimestamps,
  },
  relations: { members: many('room-members'), messages: many('room-messages', { total: messagesInRoom }) },
  // Messages cannot be included: there may be too many of them.
  includes: ['members', 'members.user'],
  page: { size: 50, max: 200 },
})

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
  about: 'The rooms that the caller is a member of.',
  entity: Room,
  scope: visibleRooms,
  mayUpdate: administeredRooms,
  mayDelete: removableRooms,
  streams: { room: 'id' },
  attributes: {
    name: attribute(z.string().trim().min(1).max(120).describe('The name of the room. It is not encrypted.'), {
      write: true,
      sort: true,
    }),
    slug: attribute(z.string().describe("The unique name of the room's keys and of its channel. It never changes.")),
    avatar: attribute(z.string().nullable().describe('The path of the picture below `/proxy/storage/`.'), {
      write: 'update',
      input: imageBytes.min(1).nullable().describe('A new picture in base64, or null to remove it.'),
      sql: onlyForMembers((room) => pictureIdentifier('room_avatars', `${room}.avatar`)),
    }),
    roomDescription: attribute(
      ciphertext.describe(
        'The ciphertext of the description, which contains the number of its key. Only members can decrypt it.',
      ),
      {
        write: true,
        default: null,
        sql: onlyForMembers((room) => `${room}.room_description`),
      },
    ),
    systemPrompt: attribute(ciphertext.describe('The ciphertext of the instructions that models get in the room.'), {
      write: true,
      default: null,
      sql: onlyForMembers((room) => `${room}.system_prompt`),
    }),
    keyEpoch: attribute(z.int().describe('The number of the current key. The first key has 0.')),
    rekeyRequired: attribute(
      z
        .boolean()
        .describe(
          'True if a former member has the key, or a member lacks it. An admin or editor then creates the next key.',
        ),
      { sql: (room) => `(${room}.rekey_required_since is not null)` },
    ),
    sharesEarlierKeys: attribute(
      z
        .boolean()
        .describe(
          'True if new members can read messages with earlier keys. Otherwise they begin with the current key.',
        ),
      { write: true, default: true },
    ),
    role: attribute(z.enum(memberRoles).describe('The role of the caller. Absent for callers who are no member.'), {
      sql: viewerRole,
      sparse: true,
    }),
    unreadCount: attribute(
      z
        .int()
        .describe(
          'The number of messages of others that the caller has not read, at most 1000. Absent for callers who are no member.',
        ),
      { sql: unreadCount, sparse: true },
    ),
    isMuted: attribute(
      z
        .boolean()
        .describe('True if the caller gets no notifications of the room. Absent for callers who are no member.'),
      {
        sql: viewerMark('is_muted'),
        sparse: true,
      },
    ),
    isArchived: attribute(
      z.boolean().describe('True if the caller has archived the room. Absent for callers who are no member.'),
      {
        sql: viewerMark('is_archived'),
        sparse: true,
      },
    ),
    ...sortedTimestamps,
  },
  relations: { members: many('room-members'), messages: many('room-messages', { total: messagesInRoom }) },
  // Messages cannot be included: there may be too many of them.
  includes: ['members', 'members.user'],
  page: { size: 50, max: 200 },
})

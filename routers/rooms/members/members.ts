import { z } from 'zod'
import { personPicture } from '../../../entities/identity/user.sql.ts'
import { User } from '../../../entities/identity/user.ts'
import {
  changeableMembers,
  isNotRemoved,
  memberRoles,
  memberStates,
  RoomMember,
  readUpTo,
  removableMembers,
  visibleMembers,
} from '../../../entities/rooms/room-member.ts'
import { isFormerAuthor } from '../../../entities/rooms/room-message.ts'
import type { ParameterBinder, SqlPredicate } from '../../../entities/sql/scope.ts'
import { isoTime } from '../../../entities/sql/statement.ts'
import { attribute, defineResource, one, timestamps } from '../../resource/declare.ts'
import { type IdFormat, resourceId } from '../../resource/ids.ts'
import type { RecordOf } from '../../resource/record.ts'

/** The roles of people. */
export const personRole = z.enum(['admin', 'editor', 'viewer'])

/** Ids: a membership has the id of its row, an invitation has a prefix. */
const memberIds: IdFormat = {
  schema: z
    .string()
    .regex(/^(invitation-)?[1-9]\d{0,9}$/, { abort: true })
    .refine((id) => resourceId.safeParse(id.replace('invitation-', '')).success),
  toKey: (id) => Number(id.replace('invitation-', '')),
  sql: (row) => `case when ${row}.state = 'invited' then 'invitation-' else '' end || ${row}.id`,
}

export const invitationId = (key: number): string => `invitation-${key}`
export const isInvitation = (id: string): boolean => id.startsWith('invitation-')

const selectUserColumn =
  (column: string, key: 'user_id' | 'inviter_id' = 'user_id'): SqlPredicate =>
  (member, sql) =>
    sql.selectColumn(User.tableName, column, (user) => `${user}.id = ${member}.${key}`)

/** Selects a value for invitations only, never for memberships. */
const onlyIfInvited =
  (value: SqlPredicate): SqlPredicate =>
  (member, sql) =>
    `case when ${member}.state = 'invited' then ${value(member, sql)} end`

const selectRoomColumn = (column: string) =>
  onlyIfInvited((member, sql) => sql.selectColumn('rooms', column, (room) => `${room}.id = ${member}.room_id`))

/** Selects a column for the invited person only. */
const selectForInvitee = (column: string) =>
  onlyIfInvited((member, sql) => `case when ${isOwnRow(member, sql)} then ${member}.${column} end`)

const isOwnRow = (member: string, sql: ParameterBinder) => `${member}.user_id = ${sql.param('viewer')}`

/** Selects the picture of members, and of former ones whose messages stay. */
const selectPicture: SqlPredicate = (member, sql) => {
  const user = sql.alias()
  const picture = `(select ${personPicture(user)} from ${User.tableName} ${user} where ${user}.id = ${member}.user_id)`
  return `case when ${member}.state = 'member' or ${isFormerAuthor(member, sql)} then ${picture} end`
}

const wrappedKey = z
  .string()
  .regex(/^[A-Za-z0-9+/=|]+$/, 'must be base64, its parts separated by |')
  .max(4096)
const sha256 = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be a SHA-256 in base64url without padding')

export const roomMembers = defineResource({
  type: 'room-members',
  about: "The members of the caller's rooms, and the invitations to the caller and to rooms that they administer.",
  entity: RoomMember,
  scope: visibleMembers,
  listed: isNotRemoved,
  mayUpdate: changeableMembers,
  mayDelete: removableMembers,
  ids: memberIds,
  attributes: {
    state: attribute(
      z
        .enum(memberStates)
        .describe(
          'The state of the membership. Lists omit members who were `removed` or have left, but their messages still refer to them.',
        ),
    ),
    role: attribute(z.enum(memberRoles).describe('The role of the member. Only the AI user has `assistant`.'), {
      write: true,
      input: personRole.describe('The role of the member.'),
    }),
    displayName: attribute(
      z
        .string()
        .nullable()
        .describe('The name of the member. It is null for erased accounts and for invitations by link.'),
      {
        sql: selectUserColumn('name'),
      },
    ),
    username: attribute(
      z
        .string()
        .nullable()
        .describe('The username of the member. It is null for erased accounts and for invitations by link.'),
      { sql: selectUserColumn('username') },
    ),
    avatar: attribute(
      z
        .string()
        .nullable()
        .describe(
          'The path of the picture of the member below `/proxy/storage/`. It is null for erased accounts and for invitations.',
        ),
      { sql: selectPicture },
    ),
    readUpTo: attribute(
      z
        .string()
        .nullable()
        .describe('The id of the last message that they have read. It is null before they have read one.'),
      { sql: readUpTo },
    ),
    inviterName: attribute(z.string().describe('The name of the person who invites. Only invitations have it.'), {
      sql: onlyIfInvited(selectUserColumn('name', 'inviter_id')),
      sparse: true,
    }),
    roomName: attribute(
      z.string().describe('The name of the room, which the invited person does not see yet. Only invitations have it.'),
      {
        sql: selectRoomColumn('name'),
        sparse: true,
      },
    ),
    roomSlug: attribute(z.string().describe('The slug of the room. Only invitations have it.'), {
      sql: selectRoomColumn('slug'),
      sparse: true,
    }),
    expiresAt: attribute(
      z.iso.datetime().describe('The time at which the invitation expires. Only invitations have it.'),
      {
        sql: (member) => isoTime(`${member}.expires_at`),
        sparse: true,
      },
    ),
    wrappedKey: attribute(
      wrappedKey.describe(
        'The key of the room, encrypted with the public key of the invited person, or with the secret of the link. Only the invited person reads it.',
      ),
      { write: 'create', sql: selectForInvitee('wrapped_key'), sparse: true },
    ),
    keyEpoch: attribute(z.int().min(0).describe('The number of the encrypted key, which must be the current one.'), {
      write: 'create',
      sql: selectForInvitee('key_epoch'),
      sparse: true,
    }),
    proofHash: attribute(
      sha256
        .nullable()
        .describe(
          'SHA-256 of the proof that accepting by link requires. The secret of the link stays in its fragment and is never sent.',
        ),
      { write: 'create', default: null, sql: () => 'null::text', sparse: true },
    ),
    ...timestamps,
  },
  relations: {
    room: one('rooms', { write: 'create', about: 'The room of the membership.' }),
    user: one('users', {
      write: 'create',
      default: null,
      about: 'The member or invited person. It is empty for an invitation that anybody with the link can accept.',
    }),
  },
  page: { size: 100, max: 500 },
})

export type MemberRecord = RecordOf<typeof roomMembers>

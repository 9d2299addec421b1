import { z } from 'zod'
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

const wrappedKey = z
  .string()
  .regex(/^[A-Za-z0-9+/=|]+$/, 'must be base64, its parts separated by |')
  .max(4096)
const sha256 = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be a SHA-256 in base64url without padding')

export const roomMembers = defineResource({
  type: 'room-members',
  about:
    "The members of the caller's rooms, and invitations: those of the caller, and those to rooms that they administer.",
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
        .describe('Who was `removed` or has left stands in no list, but what they wrote leads to them.'),
    ),
    role: attribute(z.enum(memberRoles).describe('What they may do; `assistant` is the AI user alone.'), {
      write: true,
      input: personRole.describe('What they may do.'),
    }),
    displayName: attribute(z.string().nullable().describe('Null for who was erased, and for whoever has the link.'), {
      sql: selectUserColumn('name'),
    }),
    username: attribute(z.string().nullable().describe('Null like the name.'), { sql: selectUserColumn('username') }),
    readUpTo: attribute(
      z.string().nullable().describe('The id of the last message that they have read; null before they read one.'),
      { sql: readUpTo },
    ),
    inviterName: attribute(z.string().describe('Of an invitation: who invites.'), {
      sql: onlyIfInvited(selectUserColumn('name', 'inviter_id')),
      sparse: true,
    }),
    roomName: attribute(z.string().describe('Of an invitation, whose room the invited person does not see yet.'), {
      sql: selectRoomColumn('name'),
      sparse: true,
    }),
    roomSlug: attribute(z.string().describe('Of an invitation.'), { sql: selectRoomColumn('slug'), sparse: true }),
    expiresAt: attribute(z.iso.datetime().describe('Of an invitation.'), {
      sql: (member) => isoTime(`${member}.expires_at`),
      sparse: true,
    }),
    wrappedKey: attribute(
      wrappedKey.describe(
        'The key of the room, encrypted for the invited person, who alone reads it: with their public key, or with the secret of the link.',
      ),
      { write: 'create', sql: selectForInvitee('wrapped_key'), sparse: true },
    ),
    keyEpoch: attribute(z.int().min(0).describe('The number of the wrapped key, which must be the one in use.'), {
      write: 'create',
      sql: selectForInvitee('key_epoch'),
      sparse: true,
    }),
    proofHash: attribute(
      sha256
        .nullable()
        .describe(
          'For a link: SHA-256 of the proof that whoever accepts has to give. The secret of the link stays in its fragment. Never sent.',
        ),
      { write: 'create', default: null, sql: () => 'null::text', sparse: true },
    ),
    ...timestamps,
  },
  relations: {
    room: one('rooms', { write: 'create', about: 'The room.' }),
    user: one('users', {
      write: 'create',
      default: null,
      about: 'Who is invited. Nobody where whoever has the link may accept.',
    }),
  },
  page: { size: 100, max: 500 },
})

export type MemberRecord = RecordOf<typeof roomMembers>

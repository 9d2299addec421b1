import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'
import type { ParameterBinder, SqlPredicate } from '../sql/scope.ts'
import { Room } from './room.ts'

/** Roles; only the AI user has `assistant`. */
export const memberRoles = ['admin', 'editor', 'viewer', 'assistant'] as const

export type MemberRole = (typeof memberRoles)[number]

/** `removed` rows keep the names of authors, and allow a return. */
export const memberStates = ['member', 'invited', 'removed'] as const

/** A membership, or an invitation to become a member. */
export const RoomMember = defineEntity({
  name: 'RoomMember',
  tableName: 'room_members',
  properties: {
    id,
    ...timestamps,
    room: () => p.manyToOne(Room).deleteRule('cascade').ref(),
    /** Null if the person was erased, or if anybody with the invitation's link may accept it. */
    user: () => p.manyToOne(User).deleteRule('set null').nullable().index().ref(),
    role: p.enum(memberRoles),
    state: p.enum(memberStates).default('member'),
    /** The first key that the member got. */
    firstKeyEpoch: p.integer().default(0),
    /** HMAC of the member's public key with a key of the room, made by the member or by whoever wrapped for them. */
    keyProof: p.string().length(44).nullable(),
    /** The number of that key. */
    keyProofEpoch: p.integer().nullable(),
    /** Time at which the member last replaced their key pair. */
    keysChangedAt: moment().nullable(),
    /** True if the member has muted or archived the room. */
    isMuted: p.boolean().default(false),
    isArchived: p.boolean().default(false),
    /** The other columns belong to invitations. Invitations end when their inviter may no longer invite. */
    inviter: () => p.manyToOne(User).deleteRule('set null').nullable().index().ref(),
    /** The key of the room, wrapped for the invited person: `iv|tag|ciphertext` or one ciphertext, each in base64. */
    wrappedKey: p.text().nullable(),
    keyEpoch: p.integer().nullable(),
    /** SHA-256 of the proof of possessing the link; the link's secret never reaches the service. */
    proofHash: p.string().length(43).nullable().unique(),
    expiresAt: moment().nullable(),
  },
  checks: [
    {
      name: 'room_members_invitation_check',
      expression: `(state = 'invited') = (num_nonnulls(wrapped_key, key_epoch, expires_at) = 3)`,
    },
  ],
  indexes: [
    {
      name: 'room_members_membership_unique',
      expression: `create unique index "room_members_membership_unique" on "room_members" ("room_id", "user_id") where state <> 'invited'`,
    },
    {
      name: 'room_members_invitation_unique',
      expression: `create unique index "room_members_invitation_unique" on "room_members" ("room_id", "user_id") where state = 'invited'`,
    },
  ],
})

/** SQL for the rooms of the caller. PostgreSQL evaluates it once per statement, and never reads other rooms. */
export const roomsOfViewer = (sql: ParameterBinder): string =>
  sql.selectArray('room_members', 'room_id', (m) => `${m}.user_id = ${sql.param('viewer')} and ${m}.state = 'member'`)

/** SQL for the rooms that the caller administers as a member. */
export const roomsToAdminister = (sql: ParameterBinder): string =>
  sql.selectArray(
    'room_members',
    'room_id',
    (m) => `${m}.user_id = ${sql.param('viewer')} and ${m}.state = 'member' and ${m}.role = 'admin'`,
  )

/** SQL: the invitation can still be accepted. */
export const isPending = (member: string) => `${member}.state = 'invited' and ${member}.expires_at > now()`

/**
 * Present and former members of the caller's rooms, invitations of the caller, and those of rooms that they administer.
 */
export const visibleMembers: SqlPredicate = (member, sql) => {
  const roomIn = (rooms: string) => `${member}.room_id = any(${rooms})`
  const own = `${member}.user_id = ${sql.param('viewer')}`
  return `(${member}.state <> 'invited' and ${roomIn(roomsOfViewer(sql))}
    or ${isPending(member)} and (${own} or ${roomIn(roomsToAdminister(sql))}))`
}

/** Lists exclude former members; only their messages still refer to them. */
export const isNotRemoved: SqlPredicate = (member) => `${member}.state <> 'removed'`

/** People who are members of a room that the caller administers. */
export const changeableMembers: SqlPredicate = (member, sql) =>
  `(${isPerson(member)} and ${member}.room_id = any(${roomsToAdminister(sql)}))`

/** The caller, and everybody in rooms that the caller administers. */
export const removableMembers: SqlPredicate = (member, sql) => {
  const mayRemove = `${member}.user_id = ${sql.param('viewer')} or ${member}.room_id = any(${roomsToAdminister(sql)})`
  return `((${isPerson(member)} or ${isPending(member)}) and (${mayRemove}))`
}

/** SQL: the row is a member and not the AI user. */
export const isPerson = (member: string) => `${member}.state = 'member' and ${member}.role <> 'assistant'`

/** SQL: the row is the caller's membership in the room. */
const isOwnMembership = (room: string, sql: ParameterBinder) => (m: string) =>
  `${m}.room_id = ${room}.id and ${m}.user_id = ${sql.param('viewer')} and ${m}.state = 'member'`

/** SQL for the caller's role in a room; null if the caller is no member. */
export const viewerRole: SqlPredicate = (room, sql) =>
  sql.selectColumn('room_members', 'role', isOwnMembership(room, sql))

/** SQL: the caller has muted or archived a room; null if the caller is no member. */
export const viewerMark =
  (column: 'is_muted' | 'is_archived'): SqlPredicate =>
  (room, sql) =>
    sql.selectColumn('room_members', column, isOwnMembership(room, sql))

/** The id of the last message that a member has read. */
export const readUpTo: SqlPredicate = (member, sql) =>
  sql.selectColumn(
    'room_read_marks',
    'up_to::text',
    (mark) => `${mark}.user_id = ${member}.user_id and ${mark}.room_id = ${member}.room_id`,
  )

/** Counting stops here. */
const MAX_UNREAD = 1000

/** SQL for the number of unread messages of others; null if the caller is no member. */
export const unreadCount: SqlPredicate = (room, sql) => {
  const [own, message, mark] = [sql.alias(), sql.alias(), sql.alias()]
  const read = `select ${mark}.up_to from room_read_marks ${mark}
    where ${mark}.user_id = ${sql.param('viewer')} and ${mark}.room_id = ${room}.id`
  const unread = `select from room_messages ${message}
    where ${message}.room_id = ${room}.id and ${message}.id > coalesce((${read}), 0)
      and ${message}.member_id <> ${own}.id and ${message}.deleted_at is null limit ${MAX_UNREAD}`
  return `(select (select count(*)::int from (${unread}) unread) from room_members ${own} where ${isOwnMembership(room, sql)(own)})`
}

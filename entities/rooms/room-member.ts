import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'
import type { ParameterBinder, SqlPredicate } from '../sql/scope.ts'
import { Room } from './room.ts'

/** What a member may do; `assistant` is the AI user alone. */
export const memberRoles = ['admin', 'editor', 'viewer', 'assistant'] as const

export type MemberRole = (typeof memberRoles)[number]

/** `removed` is kept for the names of authors, and for who comes back. */
export const memberStates = ['member', 'invited', 'removed'] as const

/** A membership, or an invitation to become a member. */
export const RoomMember = defineEntity({
  name: 'RoomMember',
  tableName: 'room_members',
  properties: {
    id,
    ...timestamps,
    room: () => p.manyToOne(Room).deleteRule('cascade').ref(),
    /** Nobody where the person was erased, or where whoever has the link of an invitation may accept it. */
    user: () => p.manyToOne(User).deleteRule('set null').nullable().index().ref(),
    role: p.enum(memberRoles),
    state: p.enum(memberStates).default('member'),
    /** The first key that a member was given. */
    firstKeyEpoch: p.integer().default(0),
    /** The member has muted the room, or put it aside. */
    isMuted: p.boolean().default(false),
    isArchived: p.boolean().default(false),
    /** The rest is of invitations alone. Whose: a person who may no longer invite takes their invitations along. */
    inviter: () => p.manyToOne(User).deleteRule('set null').nullable().index().ref(),
    /** The key of the room, wrapped for the invited person: `iv|tag|ciphertext` or one ciphertext, each in base64. */
    wrappedKey: p.text().nullable(),
    keyEpoch: p.integer().nullable(),
    /** SHA-256 of what proves that somebody has the link; the link's own secret never reaches the service. */
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

/** The rooms of which the caller is a member. PostgreSQL looks them up once per statement, and never looks at the others. */
export const roomsOfViewer = (sql: ParameterBinder): string =>
  sql.selectArray('room_members', 'room_id', (m) => `${m}.user_id = ${sql.param('viewer')} and ${m}.state = 'member'`)

/** The rooms that the caller administers as a member. */
export const roomsToAdminister = (sql: ParameterBinder): string =>
  sql.selectArray(
    'room_members',
    'room_id',
    (m) => `${m}.user_id = ${sql.param('viewer')} and ${m}.state = 'member' and ${m}.role = 'admin'`,
  )

/** An invitation, as long as it can be accepted. */
export const isPending = (member: string) => `${member}.state = 'invited' and ${member}.expires_at > now()`

/** Members of the caller's rooms, and those who were; invitations of the caller, and of rooms that they administer. */
export const visibleMembers: SqlPredicate = (member, sql) => {
  const roomIn = (rooms: string) => `${member}.room_id = any(${rooms})`
  const own = `${member}.user_id = ${sql.param('viewer')}`
  return `(${member}.state <> 'invited' and ${roomIn(roomsOfViewer(sql))}
    or ${isPending(member)} and (${own} or ${roomIn(roomsToAdminister(sql))}))`
}

/** Former members stand in no list; their messages still lead to them. */
export const isNotRemoved: SqlPredicate = (member) => `${member}.state <> 'removed'`

/** A person who is a member, of a room that the caller administers. */
export const changeableMembers: SqlPredicate = (member, sql) =>
  `(${isPerson(member)} and ${member}.room_id = any(${roomsToAdminister(sql)}))`

/** The caller themself, and of a room that they administer everybody: members are removed, invitations withdrawn. */
export const removableMembers: SqlPredicate = (member, sql) => {
  const mayRemove = `${member}.user_id = ${sql.param('viewer')} or ${member}.room_id = any(${roomsToAdminister(sql)})`
  return `((${isPerson(member)} or ${isPending(member)}) and (${mayRemove}))`
}

/** A member who is not the AI user. */
export const isPerson = (member: string) => `${member}.state = 'member' and ${member}.role <> 'assistant'`

/** The membership of the caller in a room. */
const isOwnMembership = (room: string, sql: ParameterBinder) => (m: string) =>
  `${m}.room_id = ${room}.id and ${m}.user_id = ${sql.param('viewer')} and ${m}.state = 'member'`

/** What the caller may do in a room; null for who is no member. */
export const viewerRole: SqlPredicate = (room, sql) =>
  sql.selectColumn('room_members', 'role', isOwnMembership(room, sql))

/** SQL: the caller has muted or archived a room; null for who is no member. */
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

/** More than anybody counts. */
const MAX_UNREAD = 1000

/** How many messages of others came to a room since the caller read; null for who is no member. */
export const unreadCount: SqlPredicate = (room, sql) => {
  const [own, message, mark] = [sql.alias(), sql.alias(), sql.alias()]
  const read = `select ${mark}.up_to from room_read_marks ${mark}
    where ${mark}.user_id = ${sql.param('viewer')} and ${mark}.room_id = ${room}.id`
  const unread = `select from room_messages ${message}
    where ${message}.room_id = ${room}.id and ${message}.id > coalesce((${read}), 0)
      and ${message}.member_id <> ${own}.id and ${message}.deleted_at is null limit ${MAX_UNREAD}`
  return `(select (select count(*)::int from (${unread}) unread) from room_members ${own} where ${isOwnMembership(room, sql)(own)})`
}

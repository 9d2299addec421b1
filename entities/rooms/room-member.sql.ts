import { User } from '../identity/user.ts'
import { UserKeychainValue } from '../identity/user-keychain-value.ts'
import { isoTime, statement } from '../sql/statement.ts'
import { isPending, isPerson, type MemberRole } from './room-member.ts'

/** Locks a room; all changes of the room, its members and its messages wait here. Values: the room's id. */
export const lockRoom = statement<{ slug: string; keyEpoch: number; minKeyEpoch: number; sharesEarlierKeys: boolean }>(
  'lock-room',
  `select slug, key_epoch as "keyEpoch", min_key_epoch as "minKeyEpoch", shares_earlier_keys as "sharesEarlierKeys"
  from rooms where id = $1 for no key update`,
)

export interface Membership {
  id: number
  role: MemberRole
}

/** Values: the room's and the person's id. */
export const findMembership = statement<Membership>(
  'find-membership',
  `select id, role from room_members where room_id = $1 and user_id = $2 and state = 'member'`,
)

/** Finds the rooms of people. Values: ids of people. */
export const findRoomsOfPeople = statement<{ person: number; member: number; room: number; slug: string }>(
  'find-rooms-of-people',
  `select m.user_id as person, m.id as member, m.room_id as room, r.slug
     from room_members m join rooms r on r.id = m.room_id
    where m.user_id = any($1::int[]) and m.state = 'member'`,
)

/** Finds rooms in which a person may write, and so have models answer. Values: the person's id. */
export const findRoomsToAsk = statement<RoomToAsk>(
  'find-rooms-to-ask',
  `select r.id::text as id, r.name from room_members m join rooms r on r.id = m.room_id
    where m.user_id = $1 and m.state = 'member' and m.role in ('admin', 'editor')`,
)

export interface RoomToAsk {
  id: string
  name: string
}

/** Mutes or archives a room for a person. Values: the ids of room and person, and both marks, or null to keep one. */
export const setRoomMarks = statement<{ member: number }>(
  'set-room-marks',
  `update room_members set is_muted = coalesce($3::boolean, is_muted), is_archived = coalesce($4::boolean, is_archived)
    where room_id = $1 and user_id = $2 and state = 'member' returning id as member`,
)

export interface RoomSize {
  /** Includes the AI user. */
  members: number
  people: number
  admins: number
  invitations: number
}

/** Values: the room's id. */
export const measureRoom = statement<RoomSize>(
  'measure-room',
  `select count(*) filter (where state = 'member')::int as members,
    count(*) filter (where ${isPerson('m')})::int as people,
    count(*) filter (where ${isPerson('m')} and role = 'admin')::int as admins,
    count(*) filter (where ${isPending('m')})::int as invitations
  from room_members m where room_id = $1`,
)

/** Values: the person's id. */
export const countRooms = statement<{ rooms: number }>(
  'count-rooms',
  `select count(*)::int as rooms from room_members where user_id = $1 and state = 'member'`,
)

/** Values: the room's id. */
export const deleteExpiredInvitations = statement<never>(
  'delete-expired-invitations',
  `delete from room_members where room_id = $1 and state = 'invited' and expires_at <= now()`,
)

/** Deletes expired invitations, except in locked rooms and those renewed meanwhile. Values: the batch size. */
export const deleteAllExpiredInvitations = statement<{ id: number }>(
  'delete-all-expired-invitations',
  `delete from room_members where state = 'invited' and expires_at <= now() and id = any(array(
     select m.id from room_members m join rooms r on r.id = m.room_id
      where m.state = 'invited' and m.expires_at <= now() limit $1 for no key update of r skip locked))
   returning id`,
)

/** Locks people against erasure and renaming until an invitation is committed. Values: ids of people. */
export const lockPeople = statement<never>(
  'lock-people',
  `select from ${User.tableName} where id = any($1::int[]) order by id for share`,
)

/**
 * Stores an invitation. Values: room, person, role, inviter, wrapped key, its epoch, hash of the proof, milliseconds
 * until it expires.
 */
export const putInvitation = statement<{ id: number; isNew: boolean }>(
  'put-invitation',
  `insert into room_members
    (room_id, user_id, role, state, inviter_id, wrapped_key, key_epoch, proof_hash, expires_at)
  values ($1, $2, $3, 'invited', $4, $5, $6, $7, now() + $8 * interval '1 millisecond')
  on conflict (room_id, user_id) where state = 'invited' do update
    set role = excluded.role, inviter_id = excluded.inviter_id, wrapped_key = excluded.wrapped_key,
        key_epoch = excluded.key_epoch, proof_hash = excluded.proof_hash, expires_at = excluded.expires_at,
        updated_at = now()
  returning id, xmax = 0 as "isNew"`,
)

export interface Invitation {
  id: number
  roomId: number
  /** Null if anybody with the link may accept it. */
  userId: number | null
  role: MemberRole
  wrappedKey: string
  keyEpoch: number
  /** The first key that the person will get. */
  firstKeyEpoch: number
  proofHash: string | null
  roomName: string
  inviterName: string | null
  expiresAt: string
}

/**
 * Finds an invitation; those for other people are not found, nor are links from before the caller left or was removed.
 * Values: the ids of the invitation and of the caller.
 */
export const findInvitation = statement<Invitation>(
  'find-invitation',
  `select id, room_id as "roomId", user_id as "userId", role, wrapped_key as "wrappedKey",
    key_epoch as "keyEpoch", proof_hash as "proofHash", ${isoTime('expires_at')} as "expiresAt",
    (select name from rooms r where r.id = m.room_id) as "roomName",
    (select name from ${User.tableName} u where u.id = m.inviter_id) as "inviterName",
    (select case when shares_earlier_keys then 0 else m.key_epoch end from rooms r where r.id = m.room_id) as "firstKeyEpoch"
  from room_members m where id = $1 and ${isPending('m')} and (user_id = $2
    or user_id is null and proof_hash is not null and not exists (select from room_members f
      where f.room_id = m.room_id and f.user_id = $2 and f.state = 'removed' and f.updated_at >= m.created_at))`,
)

/** Values: the ids of the room and of the person. */
export const findFormerMembership = statement<{ id: number }>(
  'find-former-membership',
  `select id from room_members where room_id = $1 and user_id = $2 and state = 'removed'`,
)

/** Restores an ended membership. Values: the new role, the first key, and its id. */
export const restoreMembership = statement<never>(
  'restore-membership',
  `update room_members
  set state = 'member', role = $1, first_key_epoch = $2, key_proof = null, key_proof_epoch = null, keys_changed_at = null,
      updated_at = now() where id = $3`,
)

/** Turns an invitation into a membership. Values: the person's id, the first key, and the invitation's id. */
export const turnIntoMembership = statement<never>(
  'turn-into-membership',
  `update room_members set state = 'member', user_id = $1, first_key_epoch = $2, inviter_id = null, wrapped_key = null,
    key_epoch = null, proof_hash = null, expires_at = null, updated_at = now() where id = $3`,
)

/**
 * Starts the read mark; earlier messages count neither as read nor as unread. Values: the ids of the person and of the
 * room.
 */
export const beginReading = statement<never>(
  'begin-reading',
  `insert into room_read_marks (user_id, room_id, starts_after, up_to)
  select $1, r.id, l.last, l.last
    from rooms r, lateral (select coalesce(max(id), 0) as last from room_messages where room_id = r.id) l where r.id = $2
  on conflict (user_id, room_id) do update
    set starts_after = excluded.starts_after, up_to = excluded.up_to, read_at = now()`,
)

/** Values: the room's id. */
export const listInvitations = statement<WithdrawnInvitation>(
  'list-invitations',
  `select id, user_id as "userId" from room_members where room_id = $1 and state = 'invited'`,
)

/** A withdrawn invitation and its invitee. */
export interface WithdrawnInvitation {
  id: number
  userId: number | null
}

/** Ends a membership, and deletes the person's read mark, keys and invitations. Values: the membership's id. */
export const endMembership = statement<WithdrawnInvitation>(
  'end-membership',
  `with gone as (
    update room_members set state = 'removed', updated_at = now() where id = $1 returning room_id, user_id
  ), marks as (
    delete from room_read_marks k using gone g where k.user_id = g.user_id and k.room_id = g.room_id
  ), wrapped as (
    delete from room_keys w using gone g where w.user_id = g.user_id and w.room_id = g.room_id
  ), keys as (
    delete from ${UserKeychainValue.tableName} v using gone g join rooms r on r.id = g.room_id
     where v.user_id = g.user_id and v.key_type in ('room_key', 'room_ai', 'room_ai_legacy')
       and (v.key = r.slug or starts_with(v.key, r.slug || ':'))
  )
  delete from room_members i using gone g
   where i.room_id = g.room_id and i.inviter_id = g.user_id and i.state = 'invited'
  returning i.id, i.user_id as "userId"`,
)

/** Withdraws a person's invitations. Values: the ids of the room and of the inviter. */
export const withdrawInvitations = statement<WithdrawnInvitation>(
  'withdraw-invitations',
  `delete from room_members where room_id = $1 and inviter_id = $2 and state = 'invited'
  returning id, user_id as "userId"`,
)

/** Deletes invitations of a person. Values: the ids of the room and of the invitee. */
export const dropInvitationsOfUser = statement<WithdrawnInvitation>(
  'drop-invitations-of-user',
  `delete from room_members where room_id = $1 and user_id = $2 and state = 'invited'
  returning id, user_id as "userId"`,
)

/** Lists everybody who sees the room or an invitation to it in a list. Values: the room's id. */
export const listAffectedPeople = statement<{ id: number; invitation: number | null }>(
  'list-affected-people',
  `select user_id as id, case when state = 'invited' then id end as invitation from room_members
  where room_id = $1 and user_id is not null and role <> 'assistant' and state <> 'removed' order by id`,
)

/**
 * Locks the rooms of a person's memberships and attachments in one order, which prevents deadlocks. Values: the
 * person's id.
 */
export const lockRoomsOfUser = statement<never>(
  'lock-rooms-of-user',
  `select from rooms where id in (
    select room_id from room_members where user_id = $1 union select room_id from attachments where uploader_id = $1
  ) order by id for no key update`,
)

/** Values: the person's id. */
export const findMemberships = statement<{ id: number; room: number }>(
  'find-memberships',
  `select id, room_id as room from room_members where user_id = $1 and state = 'member' order by room_id`,
)

/** A row that shows a person to others. */
export interface DisplayRow {
  id: number
  room: number
  isMember: boolean
  /** The invitee. */
  invited: number | null
}

/** Finds a person's memberships, and invitations of and by them. Values: the person's id. */
export const findDisplayRows = statement<DisplayRow>(
  'find-display-rows',
  `select id, room_id as room, state = 'member' as "isMember", user_id as invited from room_members
    where user_id = $1 and state <> 'removed' or inviter_id = $1 and state = 'invited' order by id`,
)

/** Values: the room's id. */
export const promoteSuccessor = statement<{ id: number; user: number }>(
  'promote-successor',
  `update room_members set role = 'admin', updated_at = now() where id = (
    select id from room_members m where room_id = $1 and ${isPerson('m')} order by role = 'editor' desc, id limit 1
  ) returning id, user_id as "user"`,
)

/** Deletes invitations of and by a person. Values: the person's id. */
export const dropAllInvitations = statement<WithdrawnInvitation & { room: number }>(
  'drop-all-invitations',
  `delete from room_members where state = 'invited' and (user_id = $1 or inviter_id = $1)
  returning id, user_id as "userId", room_id as room`,
)

/** Values: the id of a membership or an invitation. */
export const findRoomOfMember = statement<{ room: number }>(
  'find-room-of-member',
  'select room_id as room from room_members where id = $1',
)

/** Values: its id. */
export const deleteInvitation = statement<never>('delete-invitation', 'delete from room_members where id = $1')

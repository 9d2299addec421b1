import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment } from '../sql/columns.ts'
import { isoTime, statement } from '../sql/statement.ts'
import { Room } from './room.ts'
import { RoomMember } from './room-member.ts'

/** `left`: by themselves; `removed`: by an administrator of the room. */
const memberEventKinds = ['joined', 'left', 'removed'] as const
export type MemberEventKind = (typeof memberEventKinds)[number]

/** The beginning or the end of a membership, which the history of the room shows. */
export const RoomMemberEvent = defineEntity({
  name: 'RoomMemberEvent',
  tableName: 'room_member_events',
  indexes: [{ properties: ['room', 'id'] }],
  properties: {
    id,
    createdAt: moment().defaultRaw('now()'),
    room: () => p.manyToOne(Room).deleteRule('cascade').ref(),
    member: () => p.manyToOne(RoomMember).deleteRule('cascade').index().ref(),
    kind: p.enum(memberEventKinds),
  },
})

/** The newest events of a room are kept. */
const MAX_EVENTS = 500

/** Inserts an event, and deletes the oldest beyond the limit. Values: the room's and the member's id, and the kind. */
export const recordMemberEvent = statement<never>(
  'record-member-event',
  `with recorded as (
    insert into room_member_events (room_id, member_id, kind) values ($1, $2, $3)
  )
  delete from room_member_events where id in (
    select id from room_member_events where room_id = $1 order by id desc offset ${MAX_EVENTS - 1})`,
)

/** An event as the members of the room see it. */
export interface MemberEvent {
  id: string
  member: string
  /** The name of the person; null if they were erased. */
  name: string | null
  kind: MemberEventKind
  at: string
}

/** Lists the events of a room, the oldest first; nothing if the person is no member. Values: the ids of both. */
export const listMemberEvents = statement<{ events: MemberEvent[] }>(
  'list-member-events',
  `select coalesce((
      select json_agg(json_build_object('id', e.id::text, 'member', e.member_id::text, 'name', u.name, 'kind', e.kind,
          'at', ${isoTime('e.created_at')}) order by e.id)
        from room_member_events e join room_members m on m.id = e.member_id
        left join ${User.tableName} u on u.id = m.user_id
       where e.room_id = own.room_id
    ), '[]') as events
    from room_members own where own.room_id = $1 and own.user_id = $2 and own.state = 'member'`,
)

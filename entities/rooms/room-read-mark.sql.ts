import { unboundedStatement } from '../sql/statement.ts'

/** The ids of a member and of their person, and of messages: they have read those after the one, up to the other. */
export type ReadMark = readonly [member: number, person: number, after: number, upTo: number]

/** Values: the ids of rooms, and that of the person who comes first. How far the members of each have read. */
export const findReadMarks = unboundedStatement<{ room: number; marks: ReadMark[] }>(
  `select m.room_id as room,
      json_agg(json_build_array(m.id, m.user_id, coalesce(k.starts_after, 0), coalesce(k.up_to, 0))
        order by m.user_id <> $2, m.user_id) as marks
    from room_members m left join room_read_marks k on k.user_id = m.user_id and k.room_id = m.room_id
   where m.room_id = any($1::int[]) and m.state = 'member' group by m.room_id`,
)

import type pg from 'pg'

const lock = {
  name: 'lock',
  text: `select m.id from rooms r join room_members m on m.room_id = r.id
    where r.id = $1 and m.user_id = $2 for no key update of r for share of m`,
}

const insert = {
  name: 'insert',
  text: `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
    select $1, $2, n.seq, n.seq, $3, 0
      from (select coalesce((select seq from room_messages where room_id = $1 order by seq desc limit 1), 0) + 1 as seq) n
    returning id`,
}

const log = {
  name: 'log',
  text: `with counted as (
      insert into change_streams as s (stream, seq) values ($1, 1)
      on conflict (stream) do update set seq = s.seq + 1 returning s.seq
    ) insert into change_log (stream, seq, kind, subject)
      select $1, seq, 'room-messages.created', $2 from counted`,
}

/** The inserts of a message under the lock of its room, and no rules. Returns its id. */
export async function writeMessage(
  database: pg.Pool,
  { room, user, content }: { room: string; user: number | undefined; content: string },
): Promise<number> {
  const client = await database.connect()
  try {
    await client.query('begin')
    const [member] = (await client.query({ ...lock, values: [room, user] })).rows
    const [message] = (await client.query({ ...insert, values: [room, member.id, content] })).rows
    await client.query({ ...log, values: [`room:${room}`, message.id] })
    await client.query('commit')
    return message.id
  } finally {
    client.release()
  }
}

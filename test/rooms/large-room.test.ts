import { beforeAll, describe, expect, test } from 'vitest'
import { findChanges, findPosition } from '../../entities/events/change-log.sql.ts'
import { type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { createRoom } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'
import { watchStatements } from '../kit/statements.ts'

const MESSAGES = 200_000
const ROOMS = 200

const openRoom = (app: JsonApiApp) => createRoom(app, ['viewer'])
let room: Awaited<ReturnType<typeof openRoom>>
const statements = watchStatements()

const svc = shareResource(() => startJsonApi({ DATABASE_POOL: '2' }))
beforeAll(async () => {
  room = await openRoom(svc)
  await fill()
})

/** Adds one room with most of the messages, 199 more with the rest, all with the same people, and a change log of that length. */
async function fill(): Promise<void> {
  await svc.rows(`insert into rooms (name, slug) select 'R', 'r' || n from generate_series(2, $1::int) n`, [ROOMS])
  await svc.rows(
    `insert into room_members (room_id, user_id, role) select r.id, person, 'editor' from rooms r, unnest($1::int[]) person
      where r.id <> $2`,
    [[room.admin.id, room.viewer.id], room.id],
  )
  await svc.rows(
    `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
     select m.room_id, m.id, n, n, 'aXY=|dGFn|Y2lwaGVy', 0
       from room_members m, generate_series(1, case when m.room_id = $1 then $2::int else 500 end) n where m.user_id = $3`,
    [room.id, MESSAGES, room.admin.id],
  )
  await svc.rows(
    `insert into change_log (stream, seq, kind, subject) select 'room:' || $1, n, 'room-messages.created', n::text
       from generate_series(100, $2::int) n`,
    [room.id, MESSAGES],
  )
  await svc.rows(`update change_streams set seq = $1 where stream = $2`, [MESSAGES, `room:${room.id}`])
  await svc.rows('analyze')
}

/** The plan of a statement with its values, and how many rows it read. */
async function explainPlan({ statement, values }: { statement: { text: string }; values: unknown[] }): Promise<string> {
  const lines = await svc.rows<{ 'QUERY PLAN': string }>(
    `explain (analyze, timing off, summary off, costs off) ${statement.text}`,
    values,
  )
  return lines.map((line) => line['QUERY PLAN']).join('\n')
}

/** Returns the statement that a request runs over a table, without the look-up of its token. */
async function statementFor(by: { get(path: string): Promise<{ status: number }> }, path: string, table: string) {
  statements.take()
  expect((await by.get(path)).status).toBe(200)
  const found = statements.take().find(({ text }) => text.includes(`from ${table} `))
  return { statement: { text: found?.text ?? '' }, values: found?.values ?? [] }
}

/** Returns the largest number of rows that a node of a plan returned in all its loops. */
const rowsIn = (plan: string) =>
  Math.max(...[...plan.matchAll(/rows=([\d.]+) loops=(\d+)/g)].map(([, rows, loops]) => Number(rows) * Number(loops)))

describe('with hundreds of thousands of messages', () => {
  test.for(['?sort=-number', '?sort=number', '', '?sort=-number&page[size]=200'])(
    'a page of a room (%j) reads the rows of that page alone',
    async (query) => {
      const statement = await statementFor(room.viewer, `/rooms/${room.id}/messages${query}`, 'room_messages t')
      const plan = await explainPlan(statement)

      expect(plan).toMatch(/Index Scan (Backward )?using room_messages_room_id/)
      expect(plan).not.toMatch(/Seq Scan on room_messages/)
      expect(rowsIn(plan)).toBeLessThan(1000)
    },
  )

  test('a page of a room keeps its plan, however often it is requested', async () => {
    const path = `/rooms/${room.id}/messages?sort=-number`
    for (let round = 0; round < 15; round++) await Promise.all([room.viewer.get(path), room.admin.get(path)])
    const statement = await statementFor(room.viewer, path, 'room_messages t')
    const [prepared] = await svc.rows<{ name: string }>(
      'select name from pg_prepared_statements where statement = $1',
      [statement.statement.text],
    )

    const call = `explain (costs off) execute "${prepared?.name}" (${statement.values.join()})`
    const lines = await svc.rows<{ 'QUERY PLAN': string }>(call)

    expect(lines.map((line) => line['QUERY PLAN']).join('\n')).toMatch(
      /Index Scan Backward using room_messages_room_id_seq/,
    )
  })

  test('a message is found by its key, with one plan per connection', async () => {
    const { list } = await room.viewer.get(`/rooms/${room.id}/messages?sort=-number&page[size]=1`)
    const path = `/room-messages/${list[0]?.id}`
    for (let round = 0; round < 15; round++) await Promise.all([room.viewer.get(path), room.admin.get(path)])
    const statement = await statementFor(room.viewer, path, 'room_messages t')
    const plan = await explainPlan(statement)
    const look = () =>
      svc.rows<{ custom: number }>(
        'select custom_plans::int as custom from pg_prepared_statements, pg_sleep(0.3) where statement = $1',
        [statement.statement.text],
      )
    const kept = (await Promise.all([look(), look()])).flat()

    expect(plan).toMatch(/Index Scan using room_messages_pkey/)
    expect(rowsIn(plan)).toBeLessThan(1000)
    // PostgreSQL tries five plans before it keeps one.
    expect(kept.map(({ custom }) => custom <= 5)).toEqual(kept.map(() => true))
    expect(kept.length).toBeGreaterThan(0)
  })

  test('the total of a room and of all rooms is known without counting', async () => {
    const [stored] = await svc.rows<{ all: number; one: number }>(
      `select count(*)::int as all, (count(*) filter (where room_id = $1))::int as one
         from room_messages where room_id in (select room_id from room_members where user_id = $2)`,
      [room.id, room.admin.id],
    )
    const all = await room.admin.get('/room-messages?page[size]=1')
    const one = await room.admin.get(`/rooms/${room.id}/messages?page[size]=1&page[number]=${MESSAGES}`)

    expect(stored?.one).toBeGreaterThanOrEqual(MESSAGES)
    expect([all.total, one.total, one.list.length]).toEqual([stored?.all, stored?.one, 1])
  })

  test('unread messages of 200 rooms are counted in one statement up to a thousand', async () => {
    statements.take()
    const { list, status } = await room.viewer.get('/rooms?page[size]=200')
    const taken = statements.take()
    const unread = Object.groupBy(list, ({ attributes }) => String(attributes['unreadCount']))
    const plan = await explainPlan({ statement: { text: taken[1]?.text ?? '' }, values: taken[1]?.values ?? [] })

    expect([status, taken.length]).toEqual([200, 2])
    expect([unread['1000']?.length, unread['500']?.length]).toEqual([1, ROOMS - 1])
    expect(plan).toMatch(/Index (Only )?Scan using room_messages_room_id_id_index/)
    expect(plan).not.toMatch(/Seq Scan on room_messages/)
  })

  test('500 changes are one statement, which reads no other', async () => {
    const values = [`room:${room.id}`, 1000, 501]
    const { position } = await room.changes(room.viewer)
    statements.take()
    const { status, meta } = await room.viewer.get(
      `/rooms/${room.id}/actions/changes?page[after]=${position.replace(/:\d+$/, ':1000')}`,
    )
    const taken = statements.take().filter(({ text }) => text.includes('change_log'))
    const plan = await explainPlan({ statement: findChanges, values })

    expect([status, (meta['changes'] as unknown[]).length, taken.length]).toEqual([200, 500, 1])
    expect(plan).not.toMatch(/Seq Scan on change_log/)
    expect(rowsIn(plan)).toBeLessThan(600)
    expect(await explainPlan({ statement: findPosition, values: [`room:${room.id}`] })).not.toMatch(
      /Seq Scan on change_log/,
    )
  })

  test('a message is sent by as many statements as in an empty room', async () => {
    const count = async (by: Pick<typeof room, 'admin'>, id: string) => {
      statements.take()
      expect(
        (
          await by.admin.create(
            'room-messages',
            { content: 'aXY=|dGFn|Yw==' },
            { room: { data: { type: 'rooms', id } } },
          )
        ).status,
      ).toBe(201)
      return statements.take().length
    }
    const small = await createRoom(svc)

    expect(await count(room, room.id)).toBe(await count(small, small.id))
  })
})

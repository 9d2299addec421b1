// @module-tag debian

import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  listExpiredByRoom,
  listOldestExpired,
  listPendingTexts,
} from '../../entities/rooms/attachment-maintenance.sql.ts'
import {
  beginDisclosure,
  deleteOldDisclosures,
  endLostDisclosures,
  listDisclosures,
} from '../../entities/rooms/room-disclosure.sql.ts'
import { deleteKeychainsOfRoom } from '../../entities/rooms/room-key.sql.ts'
import { deleteAllExpiredInvitations } from '../../entities/rooms/room-member.sql.ts'
import type { Statement } from '../../entities/sql/statement.ts'
import { findExistingPictures, findOrphanedPictures, listPicturesByKey } from '../../entities/views/picture.sql.ts'
import { catalogue } from '../kit/catalogue.ts'
import { makeRoom, type RoomsApp, startRooms } from '../kit/rooms/rooms.ts'

let svc: RoomsApp
beforeAll(async () => {
  svc = await startRooms()
  for (const name of ['One', 'Two', 'Three']) await makeRoom(svc.ada, { name })
  await svc.rows(
    `insert into users (username, email, name) select 'u' || n, 'u' || n || '@example.org', 'U' from generate_series(1, 5000) n`,
  )
  await svc.rows(`insert into rooms (name, slug) select 'R', 's' || n from generate_series(1, 5000) n`)
  await svc.rows(
    `insert into room_members (room_id, user_id, role)
     select r.id, u.id, 'viewer' from rooms r join users u on u.username like 'u%' and u.id % 500 = r.id % 500 where r.slug like 's%'`,
  )
  await svc.rows(
    `insert into attachments (uuid, uploader_id, room_id, name, mime, file_type, bytes, client_encrypted, sealed_key)
     select gen_random_uuid(), m.user_id, m.room_id, 'a.txt', 'text/plain', 'document', 1, false, 'k' from room_members m
     union all
     select gen_random_uuid(), $1, null, 'b.txt', 'text/plain', 'document', 1, false, 'k'`,
    [svc.people.ada.id],
  )
  await svc.rows('analyze')
})
afterAll(() => svc[Symbol.asyncDispose]())

/** Number of rows of a table that the nodes of a plan read. */
const goneOver = (plan: PlanNode | undefined, table: string) =>
  nodesOf(plan)
    .filter((node) => node['Relation Name'] === table)
    .reduce(
      (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    )

async function explained(text: string, values: unknown[]): Promise<PlanNode | undefined> {
  const [answer] = await svc.rows<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `explain (analyze, format json) ${text}`,
    values,
  )
  return answer?.['QUERY PLAN'][0]?.Plan
}

/** Number of rows of a table that PostgreSQL reads for a page of a type. */
async function lookedAt(
  type: string,
  table: string,
  viewer = svc.people.ada.id,
): Promise<{ rows: number; found: number }> {
  const { statement, values } = catalogue.statementsOf(type).page({ isUnrestricted: false, sort: [], filters: [] })
  const given = values({ viewer, usage: 'main', limit: 50, offset: 0 })
  const plan = await explained(statement.text, given)
  return { rows: goneOver(plan, table), found: plan?.['Actual Rows'] ?? 0 }
}

interface PlanNode {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

const nodesOf = (node?: PlanNode): PlanNode[] => (node ? [node, ...(node.Plans ?? []).flatMap(nodesOf)] : [])

test.for([
  ['rooms', 'rooms', 3],
  ['room-members', 'room_members', 6],
  ['users', 'users', 2],
  ['attachments', 'attachments', 7],
] as const)('a page of %s scans no rows that its caller may not see', async ([type, table, found]) => {
  const looked = await lookedAt(type, table)

  expect(looked.found).toBe(found)
  // The rows of the page, of its total and of the look-ups.
  expect(looked.rows).toBeLessThan(200)
})

test('the unread messages of 200 rooms are counted in the statement that lists them', async () => {
  await svc.rows(
    `with own as (
       insert into rooms (name, slug) select 'Mine', 'mine' || n from generate_series(1, 200) n returning id
     ), me as (
       insert into room_members (room_id, user_id, role) select id, $1, 'viewer' from own
     )
     insert into room_members (room_id, user_id, role) select id, $2, 'admin' from own`,
    [svc.people.eve.id, svc.people.dan.id],
  )
  await svc.rows(
    `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
     select m.room_id, m.id, n, n, 'a|b|c', 0 from room_members m, generate_series(1, 500) n
      where m.user_id = $1 and m.role = 'admin' order by m.room_id, n`,
    [svc.people.dan.id],
  )
  await svc.rows(
    `insert into room_read_marks (user_id, room_id, up_to)
     select $1, room_id, max(id) - 7 from room_messages group by room_id`,
    [svc.people.eve.id],
  )
  await svc.rows('analyze room_messages')

  const { list } = await svc.eve.get('/rooms?page[size]=200')

  expect(list).toHaveLength(200)
  expect(new Set(list.map(({ attributes }) => attributes['unreadCount']))).toEqual(new Set([7]))
  expect((await lookedAt('rooms', 'room_messages', svc.people.eve.id)).rows).toBe(50 * 7)
})

test('the disclosures of a room are maintained without scanning other rooms', async () => {
  const [room] = await svc.rows<{ id: number }>(`select id from rooms where slug = 's1'`)
  await svc.rows(
    `insert into room_disclosures (room_id, provider, model, parts, state, created_at)
     select r.id, 'p', 'm', '[]'::jsonb, 'completed', now() - interval '2 years' from rooms r, generate_series(1, 20) n
     union all
     select $1, 'p', 'm', '[]'::jsonb, 'completed', now() from generate_series(1, 1000) n`,
    [room?.id],
  )
  await svc.rows('analyze room_disclosures')
  const looked = async (text: string, ...values: unknown[]) =>
    goneOver(await explained(text, values), 'room_disclosures')

  const { id } = svc.people.ada
  // The rows of the room alone, each found in the index and then deleted or not.
  expect(await looked(beginDisclosure.text, room?.id, id, 'p', 'm', '[]', 1000, 1000, null, 0)).toBeLessThan(2500)
  expect(await looked(listDisclosures.text, room?.id, id, 2_147_483_647, 51)).toBeLessThan(60)
  expect(await looked(endLostDisclosures.text)).toBeLessThan(10)
  expect(await looked(deleteOldDisclosures.text, 12, 500)).toBeLessThan(2000)
})

test('keys of a room and expired invitations are deleted without scanning other rows', async () => {
  await svc.rows(
    `insert into user_keychain_values (user_id, key, key_type, value)
     select m.user_id, r.slug, 'room_key', 'v' from room_members m join rooms r on r.id = m.room_id where r.slug like 's%'`,
  )
  await svc.rows(
    `insert into room_members (room_id, user_id, role, state, wrapped_key, key_epoch, expires_at)
     select m.room_id, m.user_id, 'viewer', 'invited', 'k', 0, now() - interval '1 day'
       from room_members m join rooms r on r.id = m.room_id where r.slug = 's1'`,
  )
  await svc.rows('analyze user_keychain_values, room_members')
  const [room] = await svc.rows<{ id: number; members: number }>(
    `select r.id, count(*)::int as members from rooms r join room_members m on m.room_id = r.id
      where r.slug = 's2' group by r.id`,
  )

  const keys = await explained(deleteKeychainsOfRoom.text, [room?.id])
  const invitations = await explained(deleteAllExpiredInvitations.text, [500])

  // At most the rows of the members in all rooms: 10 each, of 50,000 in all.
  expect(goneOver(keys, 'user_keychain_values')).toBeLessThanOrEqual(10 * Number(room?.members))
  expect(goneOver(invitations, 'room_members')).toBeLessThan(100)
  expect(await svc.rows(`select from room_members where state = 'invited'`)).toEqual([])
})

test('the cleanup of files and pictures uses indexes and scans no whole table', async () => {
  const keys = [Array.from({ length: 100 }, (_, index) => `avatars/${index}.webp`)]
  const looked: [Statement<unknown>, unknown[]][] = [
    [listPendingTexts, [0, 1000]],
    [listExpiredByRoom, [6, 1000]],
    [listOldestExpired, [6, 200]],
    [findOrphanedPictures, keys],
    [findExistingPictures, keys],
    [listPicturesByKey, ['avatars/', 100]],
  ]
  for (const [{ text }, values] of looked) {
    const lines = await svc.rows<{ 'QUERY PLAN': string }>(`explain (costs off) ${text}`, values)
    expect(lines.map((line) => line['QUERY PLAN']).join('\n')).not.toMatch(/Seq Scan on (?:attachments|users|rooms)/)
  }
})

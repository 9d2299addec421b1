// @module-tag debian

import { expect, test } from 'vitest'
import { cloneDatabase, runAdminStatement } from '../kit/database.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { toOne } from '../kit/json-api/client.ts'
import { waitForLocks, whileChanging } from '../kit/locks.ts'
import { openClient } from '../kit/postgres-client.ts'
import { listStoredFiles, sendAttachments, upload } from '../kit/rooms/attachments.ts'
import { createLink, invite, joinRoom, makeRoom, startRooms, withOwnPeople } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const shared = shareResource(startRooms)

test('somebody is erased although one of their rooms is deleted at the same moment', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'dan')
  const room = await makeRoom(svc.ada)
  await joinRoom(svc, room, 'dan', 'editor')

  const erased = await whileChanging(svc, `delete from rooms where id = ${room}`, () =>
    svc.admin.delete(`/users/${svc.people.dan.id}`),
  )

  expect(erased.status).toBe(200)
  expect(await svc.rows('select id from users where id = $1', [svc.people.dan.id])).toEqual([])
})

test("erasing a former member and deleting their file's message can run concurrently", async () => {
  const svc = await withOwnPeople(shared, 'ada', 'dan')
  const room = await makeRoom(svc.ada)
  const member = await joinRoom(svc, room, 'dan', 'editor')
  const { one: file } = await upload(svc, svc.people.dan.token, 'x')
  expect(await listStoredFiles(svc)).toContain(file.attributes['uuid'])
  const { one: message } = await sendAttachments(svc.dan, room, [file.id])
  await svc.ada.delete(`/room-members/${member}`)
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query(`select from attachments where id = ${file.id} for update`)

  const erasing = svc.admin.delete(`/users/${svc.people.dan.id}`)
  await waitForLocks(svc.env.DATABASE_URL, 1)
  const deleting = svc.ada.delete(`/room-messages/${message.id}`)
  await waitForLocks(svc.env.DATABASE_URL, 2)
  await client.query('rollback')

  expect([(await erasing).status, (await deleting).status]).toEqual([200, 200])
  expect(await svc.rows('select from attachments where id = $1', [file.id])).toEqual([])
  expect(await listStoredFiles(svc)).not.toContain(file.attributes['uuid'])
})

test('erasing an invitee during an invitation leaves no open link', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'dan')
  const room = await makeRoom(svc.ada)
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query('select from change_streams where stream = $1 for update', [`room:${room}`])

  const inviting = invite(svc.ada, room, svc.people.dan.id, 'editor', { proofHash: createLink().proofHash })
  await waitForLocks(svc.env.DATABASE_URL, 1)
  const erasing = svc.admin.delete(`/users/${svc.people.dan.id}`)
  await waitForLocks(svc.env.DATABASE_URL, 2)
  await client.query('rollback')

  expect([(await inviting).status, (await erasing).status]).toEqual([201, 200])
  const invitations = `select id from room_members where state = 'invited' and room_id = $1`
  expect(await svc.rows(invitations, [room])).toEqual([])
})

test.for([
  ['edited', { method: 'PATCH', attributes: { content: 'bmV3|bmV3|bmV3' } }],
  ['deleted', { method: 'DELETE' }],
] as const)('a message is not %s while its author is just being removed', async ([, { method, ...change }]) => {
  const svc = await withOwnPeople(shared, 'ada', 'dan')
  const room = await makeRoom(svc.ada)
  const member = await joinRoom(svc, room, 'dan', 'editor')
  const { one } = await svc.dan.create('room-messages', { content: 'aQ==|dA==|Yw==' }, { room: toOne('rooms', room) })
  const body = 'attributes' in change ? { data: { type: one.type, id: one.id, ...change } } : undefined

  const { status } = await whileChanging(
    svc,
    `update rooms set updated_at = now() where id = ${room};
     update room_members set state = 'removed' where id = ${member}`,
    () => svc.dan.send(method, `/room-messages/${one.id}`, body),
  )

  expect(status).toBe(404)
  expect((await svc.ada.get(`/room-messages/${one.id}`)).one.attributes).toEqual(one.attributes)
})

test('a room is deleted while one of its members marks it as read', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'dan')
  const { dan } = svc.people
  const outcomes: number[][] = []
  // Either of the two may continue first.
  for (let tries = 0; tries < 8; tries++) {
    const room = await makeRoom(svc.ada)
    await joinRoom(svc, room, 'dan', 'editor')
    const { one } = await svc.ada.create('room-messages', { content: 'aQ==|dA==|Yw==' }, { room: toOne('rooms', room) })
    await svc.rows('delete from room_read_marks where room_id = $1', [room])
    await using client = await openClient(svc.env.DATABASE_URL)
    await client.query('begin')
    await client.query('insert into room_read_marks (user_id, room_id, up_to) values ($1, $2, 1)', [dan.id, room])

    const reading = svc.dan.post(`/rooms/${room}/actions/mark-read`, { upTo: one.id })
    await waitForLocks(svc.env.DATABASE_URL, 1)
    const deleting = svc.ada.delete(`/rooms/${room}`)
    await waitForLocks(svc.env.DATABASE_URL, 2)
    await client.query('rollback')

    outcomes.push([(await reading).status, (await deleting).status])
  }
  expect(outcomes).toEqual(Array.from({ length: 8 }, () => [200, 200]))
})

test('a room can be deleted while a member renews their keys', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'cyd')
  const room = await makeRoom(svc.ada)
  await joinRoom(svc, room, 'cyd', 'editor')
  const key = (await svc.ada.get(`/rooms/${room}`)).one.attributes['slug']
  const set = [{ key, keyType: 'room_key', value: 'aXY=|dA==|Yw==' }]
  const keep = (body: object) => svc.cyd.post('/user-keychain-values/actions/batch-update', { set, ...body })
  await keep({})
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query(`select from user_keychain_values where user_id = ${svc.people.cyd.id} for update`)

  const keeping = keep({ publicKey: makePublicKey('new') })
  await waitForLocks(svc.env.DATABASE_URL, 1)
  const deleting = svc.ada.delete(`/rooms/${room}`)
  await waitForLocks(svc.env.DATABASE_URL, 2)
  await client.query('rollback')

  expect([(await keeping).status, (await deleting).status]).toEqual([200, 200])
  expect(await svc.rows('select from user_keychain_values where user_id = $1', [svc.people.cyd.id])).toEqual([])
})

test('a change that the database ends because of a deadlock may be tried again', async () => {
  await using database = await cloneDatabase()
  // The deadlock check of the service comes late, and that of the other side never.
  await runAdminStatement(`alter database ${database.name} set deadlock_timeout = '8s'`)
  await using svc = await startRooms({ DATABASE_URL: database.url })
  const room = await makeRoom(svc.ada)
  await using client = await openClient(database.url)
  await client.query(`set deadlock_timeout = '1h'`)
  await client.query('begin')
  await client.query('select from room_members for update')

  const deleting = svc.ada.delete(`/rooms/${room}`)
  await waitForLocks(svc.env.DATABASE_URL, 1)
  await client.query('select from rooms for key share')
  await client.query('rollback')

  const { status, headers } = await deleting
  expect([status, headers.get('retry-after')]).toEqual([503, '5'])
  expect((await svc.ada.delete(`/rooms/${room}`)).status).toBe(200)
})

import { expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { createPerson } from '../kit/rooms/messages.ts'
import { invite, joinRoom, makeRoom, type RoomsApp, startRooms, withOwnPeople } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const shared = shareResource(startRooms)

const readEvents = (svc: Pick<RoomsApp, 'url'>, room: string, { token }: { token?: string }) =>
  createClient({ url: svc.url, ...(token && { token }) }).roomMembers.events.query({ room })

const readKinds = async (svc: RoomsApp, room: string, by: { token?: string } = svc.people.ada) =>
  (await readEvents(svc, room, by)).map(({ kind, member, name }) => [kind, member, name])

test('a room tells who joined, who left and who was removed, in their order', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
  const { bob, cyd } = svc.people
  const room = await makeRoom(svc.ada)
  expect(await readKinds(svc, room)).toEqual([])
  const member = await joinRoom(svc, room, 'bob', 'editor')
  const other = await joinRoom(svc, room, 'cyd', 'viewer')
  await svc.ada.delete(`/room-members/${member}`)
  await svc.cyd.delete(`/room-members/${other}`)
  await joinRoom(svc, room, 'bob', 'viewer')

  const expected = [
    ['joined', member, bob.name],
    ['joined', other, cyd.name],
    ['removed', member, bob.name],
    ['left', other, cyd.name],
    ['joined', member, bob.name],
  ]
  expect(await readKinds(svc, room)).toEqual(expected)
  // Whoever joined later reads the same.
  expect(await readKinds(svc, room, bob)).toEqual(expected)
  const events = await readEvents(svc, room, bob)
  expect(events.map(({ at }) => at).toSorted()).toEqual(events.map(({ at }) => at))
})

test('the events of a room are for its members alone', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const room = await makeRoom(svc.ada)
  const member = await joinRoom(svc, room, 'bob', 'editor')
  const outsider = await createPerson(svc)

  for (const by of [outsider, svc.people.admin])
    await expect(readEvents(svc, room, by)).rejects.toMatchObject({ status: 404 })
  await expect(readEvents(svc, room, {})).rejects.toMatchObject({ status: 401 })
  await svc.ada.delete(`/room-members/${member}`)
  await expect(readEvents(svc, room, svc.people.bob)).rejects.toMatchObject({ status: 404 })
})

test('an invitation that is declined or withdrawn is no event', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const room = await makeRoom(svc.ada)
  for (const by of [svc.ada, svc.bob]) {
    const { one } = await invite(svc.ada, room, svc.people.bob.id, 'editor')
    expect((await by.delete(`/room-members/${one.id}`)).status).toBe(200)
  }

  expect(await readKinds(svc, room)).toEqual([])
})

test('an erased person leaves without a name, and a deleted room without events', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const room = await makeRoom(svc.ada)
  const member = await joinRoom(svc, room, 'bob', 'editor')

  expect((await svc.admin.delete(`/users/${svc.people.bob.id}`)).status).toBe(200)

  expect(await readKinds(svc, room)).toEqual([
    ['joined', member, null],
    ['left', member, null],
  ])
  await svc.ada.delete(`/rooms/${room}`)
  expect(await svc.rows('select from room_member_events where room_id = $1', [room])).toEqual([])
})

test('a room keeps its 500 newest events', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const room = await makeRoom(svc.ada)
  const member = await joinRoom(svc, room, 'bob', 'editor')
  await svc.rows(
    `insert into room_member_events (room_id, member_id, kind)
     select $1, $2, 'joined' from generate_series(1, 600)`,
    [room, member],
  )

  await svc.ada.delete(`/room-members/${member}`)

  const kinds = (await readKinds(svc, room)).map(([kind]) => kind)
  expect([kinds.length, kinds.at(-1)]).toEqual([500, 'removed'])
})

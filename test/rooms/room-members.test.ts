import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import {
  accept,
  invite,
  joinRoom,
  makeRoom,
  type RoomsApp,
  readMembership,
  startRooms,
  withOwnPeople,
} from '../kit/rooms/rooms.ts'

let shared: RoomsApp
beforeAll(async () => {
  shared = await startRooms()
})
afterAll(() => shared[Symbol.asyncDispose]())

describe('a membership', () => {
  test('a membership that ends deletes keys and read mark, and returns with its person', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob')
    const room = await makeRoom(svc.ada)
    const member = await joinRoom(svc, room, 'bob', 'editor')
    const { slug } = (await svc.bob.get(`/rooms/${room}`)).one.attributes
    await svc.rows(
      `insert into user_keychain_values (user_id, key, key_type, value)
       select $1, key, type, 'v' from unnest($2::text[]) key, unnest('{room_key,room_ai,room_ai_legacy}'::text[]) type`,
      [svc.people.bob.id, [slug, `${slug}:1`, 'another']],
    )

    expect((await svc.ada.delete(`/room-members/${member}`)).status).toBe(200)

    for (const path of [`/rooms/${room}`, `/room-members/${member}`, `/rooms/${room}/members`])
      expect([path, (await svc.bob.get(path)).status]).toEqual([path, 404])
    expect((await svc.bob.get('/rooms')).total).toBe(0)
    expect((await svc.bob.get('/room-members')).total).toBe(0)
    const keys = 'select distinct key from user_keychain_values where user_id = $1'
    expect(await svc.rows(keys, [svc.people.bob.id])).toEqual([{ key: 'another' }])
    expect(await svc.rows('select from room_read_marks where user_id = $1', [svc.people.bob.id])).toEqual([])
    expect((await svc.ada.get(`/room-members/${member}`)).one.attributes).toMatchObject({
      state: 'removed',
      displayName: svc.people.bob.name,
    })
    expect((await svc.ada.get(`/room-members/${member}`)).one.attributes).toHaveProperty('avatar', null)
    expect((await svc.ada.get(`/rooms/${room}?include=members`)).included).toHaveLength(2)
    expect((await svc.ada.get(`/rooms/${room}/members`)).total).toBe(2)
    expect((await svc.ada.delete(`/room-members/${member}`)).status).toBe(403)
    expect((await svc.ada.update('room-members', member, { role: 'admin' })).status).toBe(403)

    expect(await joinRoom(svc, room, 'bob', 'viewer')).toBe(member)
    expect(await readMembership(svc, room, svc.people.bob.id)).toEqual({ id: member, role: 'viewer', state: 'member' })
  })

  test('a membership that has ended shows its picture beside its messages, to members alone', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    const member = await joinRoom(svc, room, 'bob', 'editor')
    const image = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#ff0000' } })
      .png()
      .toBuffer()
    const change = { avatar: image.toString('base64') }
    expect((await svc.bob.update('users', `${svc.people.bob.id}`, change)).status).toBe(200)
    await svc.rows(
      `insert into room_messages (created_at, updated_at, room_id, member_id, seq, ordinal, content, key_epoch)
       values (now(), now(), $1, $2, 1, 1, 'aXY=|dGFn|dGV4dA==', 0)`,
      [room, member],
    )
    const look = async (avatar: unknown, token?: string) =>
      (await svc.send('GET', `/proxy/storage/${avatar}`, { token })).status

    expect((await svc.ada.delete(`/room-members/${member}`)).status).toBe(200)

    const { avatar } = (await svc.ada.get(`/room-members/${member}`)).one.attributes
    expect(avatar).toMatch(/^profile_avatars-/)
    expect(await look(avatar, svc.people.ada.token)).toBe(200)
    expect(await look(avatar, svc.people.cyd.token)).toBe(404)
    expect(await look(avatar)).toBe(401)
    expect((await svc.ada.get(`/users/${svc.people.bob.id}`)).status).toBe(404)
    const { avatar: own } = (await svc.ada.get(`/users/${svc.people.ada.id}`)).one.attributes
    expect(own).toBeNull()
    expect((await svc.ada.update('users', `${svc.people.ada.id}`, change)).status).toBe(200)
    const { avatar: ofAda } = (await svc.ada.get(`/users/${svc.people.ada.id}`)).one.attributes
    expect(await look(ofAda, svc.people.bob.token)).toBe(404)
  })

  test('a membership that has ended without a message shows no picture', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    const member = await joinRoom(svc, room, 'bob', 'editor')
    const image = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#ff0000' } })
      .png()
      .toBuffer()
    expect((await svc.bob.delete(`/room-members/${member}`)).status).toBe(200)
    await joinRoom(svc, room, 'cyd', 'viewer')

    const change = { avatar: image.toString('base64') }
    expect((await svc.bob.update('users', `${svc.people.bob.id}`, change)).status).toBe(200)

    const { avatar } = (await svc.bob.get(`/users/${svc.people.bob.id}`)).one.attributes
    expect((await svc.cyd.get(`/room-members/${member}`)).one.attributes).toHaveProperty('avatar', null)
    for (const { token } of [svc.people.ada, svc.people.cyd])
      expect((await svc.send('GET', `/proxy/storage/${avatar}`, { token })).status).toBe(404)
  })

  test('a membership in a room is found by its person, and by nobody else', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    const member = await joinRoom(svc, room, 'bob', 'editor')
    await invite(svc.ada, room, svc.people.cyd.id, 'viewer')
    const findOwn = (token: string) => createClient({ url: svc.url, token }).roomMembers.own.query({ room })

    expect(await findOwn(svc.people.bob.token)).toMatchObject({ id: member, role: 'editor', state: 'member' })
    for (const { token } of [svc.people.cyd, await svc.user({ role: 'admin' })])
      await expect(findOwn(token)).rejects.toMatchObject({ code: 'not_found', status: 404 })
  })

  test('a membership of the last administrator ends or changes only after another is appointed', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob')
    const room = await makeRoom(svc.ada)
    const own = (await readMembership(svc, room, svc.people.ada.id))?.id ?? ''
    const bob = await joinRoom(svc, room, 'bob', 'viewer')

    expect((await svc.ada.delete(`/room-members/${own}`)).status).toBe(409)
    expect((await svc.ada.update('room-members', own, { role: 'editor' })).status).toBe(409)
    expect(await readMembership(svc, room, svc.people.ada.id)).toMatchObject({ role: 'admin', state: 'member' })
    const named = await svc.ada.update('room-members', bob, { role: 'admin' })
    expect([named.status, named.one.attributes['role']]).toEqual([200, 'admin'])
    expect((await svc.ada.delete(`/room-members/${own}`)).status).toBe(200)
    expect((await svc.bob.delete(`/room-members/${bob}`)).status).toBe(200)
    expect(await svc.rows('select from rooms where id = $1', [room])).toEqual([])
    expect(await svc.rows('select from room_members where room_id = $1', [room])).toEqual([])
  })

  test('of two administrators who leave a room at the same moment, one leaves alone', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    const own = (await readMembership(svc, room, svc.people.ada.id))?.id
    const bob = await joinRoom(svc, room, 'bob', 'admin')
    await joinRoom(svc, room, 'cyd', 'viewer')

    const left = await Promise.all([svc.ada.delete(`/room-members/${own}`), svc.bob.delete(`/room-members/${bob}`)])

    expect(left.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('a membership of the AI user is changed by nobody', async () => {
    const svc = await withOwnPeople(shared, 'ada')
    const room = await makeRoom(svc.ada)
    const assistant = (await readMembership(svc, room, 1))?.id ?? ''

    expect((await svc.ada.update('room-members', assistant, { role: 'admin' })).status).toBe(403)
    expect((await svc.ada.delete(`/room-members/${assistant}`)).status).toBe(403)
  })
})

describe('the quotas', () => {
  let limited: RoomsApp
  beforeAll(async () => {
    limited = await startRooms({ ROOMS_PER_PERSON: '2', ROOM_MAX_MEMBERS: '3', ROOM_MAX_INVITATIONS: '2' })
  })
  afterAll(() => limited[Symbol.asyncDispose]())

  test('the quotas limit rooms per person, members of a room, and invitations that wait', async () => {
    const svc = await withOwnPeople(limited, 'ada', 'bob', 'cyd', 'dan', 'eve')
    const room = await makeRoom(svc.ada)
    await makeRoom(svc.ada)
    const third = await svc.ada.create('rooms', { name: 'Third' })
    expect([third.status, third.errors]).toMatchObject([
      422,
      [{ code: 'quota_reached', detail: 'A person is in at most 2 rooms.' }],
    ])
    const ids = []
    for (const name of ['bob', 'cyd', 'dan'] as const)
      ids.push(await invite(svc.ada, room, svc.people[name].id, 'viewer'))
    expect(ids.map(({ status }) => status)).toEqual([201, 201, 422])
    expect((await accept(svc.bob, ids[0]?.one.id ?? '')).status).toBe(200)
    expect((await accept(svc.cyd, ids[1]?.one.id ?? '')).errors[0]?.detail).toBe('A room has at most 3 members.')
    for (const name of ['One', 'Two']) expect((await svc.eve.create('rooms', { name })).status).toBe(201)
    const other = await makeRoom(svc.dan)
    const { one } = await invite(svc.dan, other, svc.people.eve.id, 'viewer')
    expect((await accept(svc.eve, one.id)).errors[0]?.detail).toBe('A person is in at most 2 rooms.')
  })

  test('the quotas allow changes of an invitation in a room that is full', async () => {
    const svc = await withOwnPeople(limited, 'ada', 'bob', 'cyd', 'dan')
    const room = await makeRoom(svc.ada)
    const { id } = (await invite(svc.ada, room, svc.people.bob.id, 'viewer')).one
    await invite(svc.ada, room, svc.people.cyd.id, 'viewer')

    const changed = await invite(svc.ada, room, svc.people.bob.id, 'editor')
    const another = await invite(svc.ada, room, svc.people.dan.id, 'viewer')

    expect([changed.status, changed.one?.id, changed.one?.attributes['role']]).toEqual([201, id, 'editor'])
    expect(another.status).toBe(422)
  })

  test('the quotas hold where somebody makes many rooms at the same moment', async () => {
    const svc = await withOwnPeople(limited, 'ada')

    const made = await Promise.all(Array.from({ length: 6 }, () => svc.ada.create('rooms', { name: 'R' })))

    expect(made.map(({ status }) => status).sort()).toEqual([201, 201, 422, 422, 422, 422])
  })
})

describe('erasing a person', () => {
  test('erasing a person makes memberships anonymous and hands their rooms to others', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const common = await makeRoom(svc.ada, { name: 'Shared' })
    await joinRoom(svc, common, 'cyd', 'viewer')
    await joinRoom(svc, common, 'bob', 'editor')
    const alone = await makeRoom(svc.ada, { name: 'Alone' })
    await invite(svc.ada, common, svc.people.dan.id, 'admin')
    const own = (await readMembership(svc, common, svc.people.ada.id))?.id
    const other = await makeRoom(svc.dan, { name: 'Other' })
    await invite(svc.dan, other, svc.people.ada.id, 'viewer')
    await svc.rows('insert into room_read_marks (user_id, room_id, up_to) values ($1, $2, 0)', [
      svc.people.ada.id,
      common,
    ])

    const { report } = await svc.host.admin.removeUser({ user: { id: svc.people.ada.id } })

    expect(report).toMatchObject({
      room_members: { deleted: 2, kept: 1 },
      room_read_marks: { deleted: 1, kept: 0 },
    })
    expect((await svc.bob.get(`/rooms/${common}`)).one.attributes).toMatchObject({ role: 'admin' })
    expect((await svc.bob.get(`/room-members/${own}`)).one).toMatchObject({
      attributes: { state: 'removed', displayName: null, username: null },
      relationships: { user: { data: null } },
    })
    const rooms = [common, alone, other]
    const left = await svc.rows('select name from rooms where id = any($1) order by name', [rooms])
    expect(left).toEqual([{ name: 'Other' }, { name: 'Shared' }])
    expect((await svc.admin.get(`/rooms/${alone}`)).status).toBe(404)
    const invitations = `select from room_members where state = 'invited' and room_id = any($1)`
    expect(await svc.rows(invitations, [rooms])).toEqual([])
  })
})

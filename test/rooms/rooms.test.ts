// @module-tag debian

import { expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { base } from '../kit/json-api/client.ts'
import { joinRoom, makeRoom, startRooms, withOwnPeople } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const shared = shareResource(startRooms)

test('a room begins with its creator as administrator and the AI user as assistant', async () => {
  const svc = await withOwnPeople(shared, 'ada')

  const { status, one, headers } = await svc.ada.create('rooms', {
    name: 'Chess & Go',
    roomDescription: 'aXY=|dA==|Yw==',
  })

  expect([status, headers.get('location')]).toEqual([201, `/api/svc/v1/rooms/${one.id}`])
  expect(one.attributes).toMatchObject({
    name: 'Chess & Go',
    slug: expect.stringMatching(/^chess-go-[A-Za-z0-9]{10}$/),
    avatar: null,
    roomDescription: 'aXY=|dA==|Yw==',
    systemPrompt: null,
    keyEpoch: 0,
    role: 'admin',
    unreadCount: 0,
    isMuted: false,
    isArchived: false,
  })
  const members = 'select user_id, role, state from room_members where room_id = $1 order by id'
  expect(await svc.rows(members, [one.id])).toEqual([
    { user_id: svc.people.ada.id, role: 'admin', state: 'member' },
    { user_id: 1, role: 'assistant', state: 'member' },
  ])
})

test('a room is hidden from strangers, and installation administrators see its existence alone', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const encrypted = { roomDescription: 'aXY=|dA==|Yw==', systemPrompt: 'aXY=|dA==|cA==' }
  const { one } = await svc.ada.create('rooms', { name: 'Chess', ...encrypted })

  expect((await svc.ada.get('/rooms')).list).toMatchObject([{ id: one.id }])
  expect((await svc.bob.get(`/rooms/${one.id}`)).status).toBe(404)
  expect(await svc.bob.get('/rooms')).toMatchObject({ list: [], total: 0 })
  expect((await svc.guest.get(`/rooms/${one.id}`)).status).toBe(401)
  const seen = await svc.admin.get(`/rooms/${one.id}`)
  expect(seen.one.attributes).toMatchObject({ name: 'Chess', roomDescription: null, systemPrompt: null })
  expect(Object.keys(seen.one.attributes)).not.toEqual(expect.arrayContaining(['role']))
})

test('a room may have a name whose signs each stand for several letters', async () => {
  const svc = await withOwnPeople(shared, 'ada')

  const { status, one } = await svc.ada.create('rooms', { name: '㎯'.repeat(120) })

  expect(status).toBe(201)
  expect(one.attributes['slug']).toMatch(/^rad-s2.{114}-[A-Za-z0-9]{10}$/)
})

test('a room has a picture, which its administrators change and its members alone see', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
  const room = await makeRoom(svc.ada)
  await joinRoom(svc, room, 'bob', 'viewer')
  const { default: sharp } = await import('sharp')
  const image = await sharp({ create: { width: 8, height: 4, channels: 3, background: '#ff0000' } })
    .png()
    .toBuffer()
  const avatar = image.toString('base64')
  const look = (token: string) => svc.send('GET', `/req/rooms/picture/${room}`, { token })
  const kept = async () => {
    const [row] = await svc.rows<{ avatar: string | null }>('select avatar from rooms where id = $1', [room])
    return row?.avatar ?? ''
  }

  expect((await look(svc.people.bob.token)).status).toBe(404)
  expect((await svc.bob.update('rooms', room, { avatar })).status).toBe(403)
  expect((await svc.cyd.update('rooms', room, { avatar })).status).toBe(404)
  const changed = await svc.ada.update('rooms', room, { avatar, name: 'Chess club' })
  const identifier = `room_avatars-${(await kept()).slice('avatars/'.length, -'.webp'.length)}`
  expect([changed.status, changed.one.attributes]).toMatchObject([200, { avatar: identifier, name: 'Chess club' }])
  const seen = await look(svc.people.bob.token)
  expect([seen.status, seen.headers.get('content-type')]).toEqual([200, 'image/webp'])
  expect((await look(svc.people.cyd.token)).status).toBe(404)
  for (const path of [`${base}/proxy/storage/${identifier}`, `/proxy/storage/${identifier}`]) {
    const { ada, bob, cyd, admin } = svc.people
    const answers = await Promise.all(
      [ada, bob, cyd, admin, undefined].map((by) => svc.send('GET', path, { token: by?.token })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 404, 401])
    expect(answers.map(({ headers }) => headers.get('content-type'))).toContain('image/webp')
  }
  const byAdministrator = await svc.admin.get(`/rooms/${room}`)
  expect([byAdministrator.status, byAdministrator.one.attributes]).toMatchObject([200, { avatar: null }])
  expect((await look(svc.people.admin.token)).status).toBe(404)
  expect((await svc.ada.update('rooms', room, { avatar: 'bm8=' })).status).toBe(422)

  // The person who changes the picture loses their membership before the commit.
  const setState = `update room_members set state`
  await svc.rows(`create function leave() returns trigger language plpgsql as $$ begin
    ${setState} = 'removed' where room_id = new.id and user_id = ${svc.people.ada.id}; return null; end $$`)
  await svc.rows(`create constraint trigger leave after update on rooms deferrable initially deferred
    for each row execute function leave()`)
  expect((await svc.ada.update('rooms', room, { avatar })).status).toBe(404)
  expect((await look(svc.people.bob.token)).status).toBe(200)
  await svc.rows('drop trigger leave on rooms')
  await svc.rows(`${setState} = 'member' where room_id = ${room}`)

  const first = await kept()
  expect((await svc.ada.delete(`/rooms/${room}`)).status).toBe(200)
  await expect(svc.services.files.storage.get(first)).rejects.toThrow()
})

test('a stranger who guesses a slug learns nothing about existing rooms', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const room = await makeRoom(svc.ada)
  const slug = String((await svc.ada.get(`/rooms/${room}`)).one.attributes['slug'])
  const { rooms } = createClient({ url: svc.url, token: svc.people.bob.token })
  const refusalOf = (guess: string) =>
    rooms.find.query({ slug: guess }).catch(({ code, message }: Record<string, unknown>) => ({ code, message }))

  const [existing, missing] = [await refusalOf(slug), await refusalOf(`${slug}x`)]

  expect(existing).toEqual({ code: 'not_found', message: 'There is no such room.' })
  expect(existing).toEqual(missing)
})

test('a deleted room removes its keys from every keychain, and no others', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const room = await makeRoom(svc.ada)
  await joinRoom(svc, room, 'bob', 'viewer')
  const { slug } = (await svc.ada.get(`/rooms/${room}`)).one.attributes
  const { ada, bob } = svc.people
  const kept = ['another', `${slug}x`, `x${slug}`]
  await svc.rows('update rooms set key_epoch = 2 where id = $1', [room])
  await svc.rows(
    `insert into user_keychain_values (user_id, key, key_type, value)
     select person, key, type, 'v' from unnest($1::int[]) person, unnest($2::text[]) key,
       unnest('{room_key,room_ai,room_ai_legacy,ai_conv}'::text[]) type`,
    [
      [ada.id, bob.id],
      [slug, `${slug}:1`, `${slug}:2`, ...kept],
    ],
  )

  expect((await svc.ada.delete(`/rooms/${room}`)).status).toBe(200)

  const left = await svc.rows(
    `select key, count(*)::int as entries from user_keychain_values
     where key_type <> 'ai_conv' and user_id = any($1) group by key order by key`,
    [[ada.id, bob.id]],
  )
  expect(left).toEqual(kept.map((key) => ({ key, entries: 6 })).sort((a, b) => (a.key < b.key ? -1 : 1)))
  const others = `select from user_keychain_values where key_type = 'ai_conv' and user_id = any($1)`
  expect(await svc.rows(others, [[ada.id, bob.id]])).toHaveLength(12)
})

test("a profile change is announced to the person's current rooms alone", async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const [room, left] = [await makeRoom(svc.ada), await makeRoom(svc.ada)]
  const [member, gone] = [await joinRoom(svc, room, 'bob', 'viewer'), await joinRoom(svc, left, 'bob', 'viewer')]
  await svc.bob.delete(`/room-members/${gone}`)
  const changes = [{ bio: 'Plays chess.' }, { bio: 'Plays chess.' }, { displayName: 'Robert' }, { avatar: null }]
  const streams = [room, left].map((id) => `room:${id}`)
  await svc.rows('delete from change_log where stream = any($1)', [streams])

  for (const change of changes) expect((await svc.bob.update('users', svc.people.bob.id, change)).status).toBe(200)

  const expected = { stream: `room:${room}`, kind: 'room-members.updated', subject: member }
  const log = 'select stream, kind, subject from change_log where stream = any($1)'
  expect(await svc.rows(log, [streams])).toEqual([expected, expected])
})

test("a person's profile changes are rate-limited, as all their rooms receive them", async () => {
  await using svc = await startRooms({ PROFILE_CHANGES_PER_MINUTE: '2' })
  const room = await makeRoom(svc.ada)
  const rename = async (displayName: string) =>
    (await svc.ada.update('users', svc.people.ada.id, { displayName })).status
  const makeKey = async (by: 'cyd') =>
    (await svc[by].post('/user-keychain-values/actions/batch-update', { publicKey: makePublicKey(by) })).status
  await joinRoom(svc, room, 'cyd', 'viewer')
  await svc.rows('update users set public_key = $1', [makePublicKey('other')])
  await svc.rows('delete from change_log')

  expect([await rename('A'), await rename('A'), await rename('B'), await rename('C')]).toEqual([200, 200, 200, 429])
  expect(await svc.rows(`select from change_log where kind = 'room-members.updated'`)).toHaveLength(2)
  await svc.rows('update users set public_key = $1', [makePublicKey('other')])
  expect([await makeKey('cyd'), await makeKey('cyd')]).toEqual([200, 200])
  for (const status of [200, 429]) {
    await svc.rows('update users set public_key = $1', [makePublicKey('other')])
    expect(await makeKey('cyd')).toBe(status)
  }
})

test('members come along with rooms as long as they are ten thousand at most', async () => {
  const svc = await withOwnPeople(shared, 'bob')
  await svc.rows(
    `with people as (
       insert into users (username, email, name) select 'p' || n, 'p' || n, 'P' from generate_series(1, 499) n returning id
     ), made as (insert into rooms (name, slug) select 'R', 'r' || n from generate_series(1, 21) n returning id)
     insert into room_members (room_id, user_id, role)
     select made.id, people.id, 'viewer' from made, people union all select id, $1, 'viewer' from made`,
    [svc.people.bob.id],
  )

  const refused = await svc.bob.get('/rooms?include=members.user')
  const smaller = await svc.bob.get('/rooms?include=members.user&page[size]=20')

  expect([refused.status, refused.errors]).toMatchObject([
    400,
    [{ code: 'invalid_page', source: { parameter: 'page[size]' }, detail: expect.stringContaining('10000 resources') }],
  ])
  expect([smaller.status, smaller.list.length, smaller.included.length]).toEqual([200, 20, 20 * 500 + 500])
})

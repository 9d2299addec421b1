import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findStoredKeys } from '../../entities/rooms/room-key.sql.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { sendRoomMessage } from '../kit/rooms/messages.ts'
import { joinRoom, makeRoom, type RoomsApp, rekeyRoom, startRooms, withOwnPeople } from '../kit/rooms/rooms.ts'

let shared: RoomsApp
beforeAll(async () => {
  shared = await startRooms()
})
afterAll(() => shared[Symbol.asyncDispose]())

let advising: RoomsApp
beforeAll(async () => {
  advising = await startRooms({ ROOM_REKEY: 'advise' })
})
afterAll(() => advising[Symbol.asyncDispose]())

/** A room with its second key, and a message with the first one, named by `clientId`. */
async function withSecondKey(svc: RoomsApp) {
  const room = await makeRoom(svc.ada)
  await joinRoom(svc, room, 'cyd', 'editor')
  const early = await sendRoomMessage(svc.cyd, room, { keyEpoch: 0, clientId: 'early' })
  expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
  const passGrace = () =>
    svc.rows(`update rooms set key_epoch_since = now() - interval '61 seconds' where id = $1`, [room])
  return { room, early: early.one.id, passGrace }
}

test('an earlier key is refused a minute after the next one', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'cyd')
  const { room, early, passGrace } = await withSecondKey(svc)
  const count = async () => (await svc.rows('select from room_messages where room_id = $1', [room])).length

  expect((await sendRoomMessage(svc.cyd, room, { keyEpoch: 0 })).status).toBe(201)
  await passGrace()
  const before = await count()
  const refused = await sendRoomMessage(svc.cyd, room, { keyEpoch: 0 })
  const edited = await svc.cyd.update('room-messages', early, { content: 'bmV3|bmV3|bmV3' })

  for (const { status, errors } of [refused, edited])
    expect([status, errors[0]]).toMatchObject([409, { code: 'key_epoch_outdated', meta: { keyEpoch: '1' } }])
  expect(await count()).toBe(before)
  expect((await svc.cyd.get(`/room-messages/${early}`)).one.attributes['content']).not.toBe('bmV3|bmV3|bmV3')
  expect((await sendRoomMessage(svc.cyd, room, { keyEpoch: 1 })).status).toBe(201)
  const again = await svc.cyd.update('room-messages', early, { content: 'bmV3|bmV3|bmV3', keyEpoch: 1 })
  expect([again.status, again.one.attributes]).toMatchObject([200, { keyEpoch: 1 }])
})

test('a message repeated with an earlier key is still the first one', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'cyd')
  const { room, early, passGrace } = await withSecondKey(svc)
  await passGrace()

  const again = await sendRoomMessage(svc.cyd, room, { keyEpoch: 0, clientId: 'early' })

  expect([again.status, again.one.id]).toEqual([201, early])
})

const removals = [
  ['is removed', (svc: RoomsApp, member: string) => svc.ada.delete(`/room-members/${member}`)],
  ['leaves', (svc: RoomsApp, member: string) => svc.cyd.delete(`/room-members/${member}`)],
  ['is erased', (svc: RoomsApp) => svc.admin.delete(`/users/${svc.people.cyd.id}`)],
] as const

test.each(removals)('once somebody %s, messages with their key are refused until the next one', async (_, remove) => {
  const svc = await withOwnPeople(shared, 'ada', 'cyd')
  const room = await makeRoom(svc.ada)
  const member = await joinRoom(svc, room, 'cyd', 'editor')
  const { one } = await sendRoomMessage(svc.ada, room, { keyEpoch: 0 })
  expect((await remove(svc, member)).status).toBe(200)

  const refused = await sendRoomMessage(svc.ada, room, { keyEpoch: 0 })
  const edited = await svc.ada.update('room-messages', one.id, { content: 'bmV3|bmV3|bmV3' })
  const title = expect.stringContaining('give the room a new key')
  for (const { status, errors } of [refused, edited])
    expect([status, errors[0]]).toMatchObject([409, { code: 'room_key_needed', title, meta: { keyEpoch: '1' } }])

  expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
  const outdated = await sendRoomMessage(svc.ada, room, { keyEpoch: 0 })
  expect([outdated.status, outdated.errors[0]?.code]).toEqual([409, 'key_epoch_outdated'])
  expect((await sendRoomMessage(svc.ada, room, { keyEpoch: 1 })).status).toBe(201)
})

test.each(removals)('once somebody %s, the room refuses texts with their key', async (_, remove) => {
  const svc = await withOwnPeople(shared, 'ada', 'cyd')
  const room = await makeRoom(svc.ada)
  const member = await joinRoom(svc, room, 'cyd', 'editor')
  const sealed = (keyEpoch: number) =>
    JSON.stringify({ ciphertext: 'YQ==', iv: 'YQ==', tag: 'YQ==', ...(keyEpoch > 0 && { keyEpoch }) })
  expect((await svc.ada.update('rooms', room, { roomDescription: sealed(0) })).status).toBe(200)
  expect((await remove(svc, member)).status).toBe(200)

  const texts = ['roomDescription', 'systemPrompt'].flatMap((name) => [
    { [name]: 'YQ==|YQ==|Yg==' },
    { [name]: sealed(0).replace('YQ==', 'Yg==') },
  ])
  for (const change of texts) {
    const { status, errors } = await svc.ada.update('rooms', room, change)
    expect([status, errors[0]]).toMatchObject([409, { code: 'room_key_needed', meta: { keyEpoch: '1' } }])
  }
  expect((await svc.ada.get(`/rooms/${room}`)).one.attributes).toMatchObject({
    roomDescription: sealed(0),
    systemPrompt: null,
  })
  expect((await svc.ada.update('rooms', room, { name: 'Another', systemPrompt: null })).status).toBe(200)

  expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
  const outdated = await svc.ada.update('rooms', room, { systemPrompt: sealed(0) })
  expect([outdated.status, outdated.errors[0]?.code]).toEqual([409, 'key_epoch_outdated'])
  expect((await svc.ada.update('rooms', room, { systemPrompt: sealed(1) })).status).toBe(200)
})

test('messages go on under the key in use when a member only lacks it', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'cyd')
  const room = await makeRoom(svc.ada)
  await joinRoom(svc, room, 'cyd', 'editor')
  await svc.cyd.post('/user-keychain-values/actions/batch-update', { publicKey: makePublicKey(randomUUID()) })

  expect((await svc.ada.get(`/rooms/${room}`)).one.attributes['rekeyRequired']).toBe(true)
  expect((await sendRoomMessage(svc.ada, room, { keyEpoch: 0 })).status).toBe(201)
})

test("a former member's key still serves where new keys are only advised", async () => {
  const svc = await withOwnPeople(advising, 'ada', 'cyd')
  const room = await makeRoom(svc.ada)
  await svc.ada.delete(`/room-members/${await joinRoom(svc, room, 'cyd', 'editor')}`)

  expect((await sendRoomMessage(svc.ada, room, { keyEpoch: 0 })).status).toBe(201)
  expect((await svc.ada.update('rooms', room, { roomDescription: 'YQ==|YQ==|YQ==' })).status).toBe(200)
})

test('a message with an earlier key is taken where new keys are only advised', async () => {
  const svc = await withOwnPeople(advising, 'ada', 'cyd')
  const { room, early, passGrace } = await withSecondKey(svc)
  await passGrace()

  expect((await sendRoomMessage(svc.cyd, room, { keyEpoch: 0 })).status).toBe(201)
  expect((await svc.cyd.update('room-messages', early, { content: 'bmV3|bmV3|bmV3' })).status).toBe(200)
})

test('a message with an unknown later key is refused, also as an edit', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'cyd')
  const { room, early } = await withSecondKey(svc)

  expect((await sendRoomMessage(svc.cyd, room, { keyEpoch: 2 })).status).toBe(422)
  expect((await svc.cyd.update('room-messages', early, { keyEpoch: 2 })).status).toBe(422)
})

test('a member who changes keys during a rekey gets a usable room key', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'cyd')
  const room = await makeRoom(svc.ada)
  await joinRoom(svc, room, 'cyd', 'editor')

  for (let round = 0; round < 6; round++) {
    const publicKey = makePublicKey(randomUUID())
    const [changed, rekeyed] = await Promise.all([
      svc.cyd.post('/user-keychain-values/actions/batch-update', { publicKey }),
      rekeyRoom(svc.ada, room),
    ])
    const { rekeyRequired, keyEpoch } = (await svc.ada.get(`/rooms/${room}`)).one.attributes
    const { meta } = await svc.cyd.get(`/rooms/${room}/actions/keys`)
    const keys = meta['keys'] as { keyEpoch: number; wrappedKey: string | null }[]
    const hasKey = keys.some((key) => key.keyEpoch === keyEpoch && key.wrappedKey !== null)

    expect([changed.status, [200, 409].includes(rekeyed.status)]).toEqual([200, true])
    expect(rekeyRequired).toBe(!hasKey)
  }
})

test('more than 500 keys of a member are paged by their number', async () => {
  const svc = await withOwnPeople(shared, 'ada')
  const room = await makeRoom(svc.ada)
  await svc.rows(
    `with keys as (
       insert into room_keys (room_id, user_id, epoch, wrapped_key) select $1, $2, n, 'k' from generate_series(0, 1100) n
     ) insert into room_key_epochs (room_id, epoch, previous_key) select $1, n, 'p' from generate_series(1, 1100) n`,
    [room, svc.people.ada.id],
  )
  await svc.rows('update rooms set key_epoch = 1100 where id = $1', [room])
  const read = async (after?: number) => {
    const query = after === undefined ? '' : `?page[after]=${after}`
    const { meta } = await svc.ada.get(`/rooms/${room}/actions/keys${query}`)
    return meta as unknown as { keyEpoch: number; keys: { keyEpoch: number }[]; hasMore: boolean }
  }

  const parts = [await read(), await read(499), await read(999)]

  expect(parts.map(({ keys, hasMore, keyEpoch }) => [keys.length, hasMore, keyEpoch])).toEqual([
    [500, true, 1100],
    [500, true, 1100],
    [101, false, 1100],
  ])
  const numbers = parts.flatMap(({ keys }) => keys.map(({ keyEpoch }) => keyEpoch))
  expect(numbers).toEqual(Array.from({ length: 1101 }, (_, n) => n))
  expect((await read(1100)).keys).toEqual([])
})

test('the keys of a member are found by indexes, however many there are', async () => {
  const svc = await withOwnPeople(shared, 'ada')
  await svc.rows(
    `insert into users (username, email, name) select 'many' || n, 'many' || n || '@example.org', 'U' from generate_series(1, 100) n`,
  )
  await svc.rows(`insert into rooms (name, slug) select 'Many', 'many-' || n from generate_series(1, 200) n`)
  const all = `from rooms r, users u where r.name = 'Many' and u.username like 'many%'`
  await svc.rows(`insert into room_members (room_id, user_id, role) select r.id, u.id, 'editor' ${all}`)
  await svc.rows(
    `insert into room_keys (room_id, user_id, epoch, wrapped_key) select r.id, u.id, n, 'k'
       from generate_series(1, 2) n, rooms r, users u where r.name = 'Many' and u.username like 'many%'`,
  )
  await svc.rows(
    `insert into room_key_epochs (room_id, epoch) select r.id, n from rooms r, generate_series(1, 20) n where r.name = 'Many'`,
  )
  await svc.rows('analyze')
  const [last] = await svc.rows<{ id: number }>('select max(user_id) as id from room_keys')

  const lines = await svc.rows<{ 'QUERY PLAN': string }>(`explain (costs off) ${findStoredKeys.text}`, [
    100,
    last?.id,
    -1,
    501,
  ])

  const plan = lines.map((line) => line['QUERY PLAN']).join(' ')
  expect(plan).toContain('room_keys_pkey')
  expect(plan).toContain('room_key_epochs_pkey')
  expect(plan).not.toMatch(/Seq Scan on room_key/)
})

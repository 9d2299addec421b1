import { expect, test } from 'vitest'
import { rekey } from '../kit/room-keys.ts'
import { send } from '../kit/room-messages.ts'
import { join, makeRoom, type RoomsApp, startRooms } from '../kit/rooms.ts'

/** A room that got its second key, and a message with the first, which `clientId` names. */
async function withSecondKey(svc: RoomsApp) {
  const room = await makeRoom(svc.ada)
  await join(svc, room, 'cyd', 'editor')
  const early = await send(svc.cyd, room, { keyEpoch: 0, clientId: 'early' })
  expect((await rekey(svc.ada, room)).status).toBe(200)
  const passGrace = () =>
    svc.rows(`update rooms set key_epoch_since = now() - interval '61 seconds' where id = $1`, [room])
  return { room, early: early.one.id, passGrace }
}

test('a message with an earlier key is refused a minute after the room got the next one, where that is enforced', async () => {
  await using svc = await startRooms({ ROOM_REKEY: 'enforce' })
  const { room, early, passGrace } = await withSecondKey(svc)
  const count = async () => (await svc.rows('select from room_messages')).length

  expect((await send(svc.cyd, room, { keyEpoch: 0 })).status).toBe(201)
  await passGrace()
  const before = await count()
  const refused = await send(svc.cyd, room, { keyEpoch: 0 })
  const edited = await svc.cyd.update('room-messages', early, { content: 'bmV3|bmV3|bmV3' })

  for (const { status, errors } of [refused, edited])
    expect([status, errors[0]]).toMatchObject([409, { code: 'key_epoch_outdated', meta: { keyEpoch: '1' } }])
  expect(await count()).toBe(before)
  expect((await svc.cyd.get(`/room-messages/${early}`)).one.attributes['content']).not.toBe('bmV3|bmV3|bmV3')
  expect((await send(svc.cyd, room, { keyEpoch: 1 })).status).toBe(201)
  const again = await svc.cyd.update('room-messages', early, { content: 'bmV3|bmV3|bmV3', keyEpoch: 1 })
  expect([again.status, again.one.attributes]).toMatchObject([200, { keyEpoch: 1 }])
})

test('a message with an earlier key that is sent again is still the one that was sent first', async () => {
  await using svc = await startRooms({ ROOM_REKEY: 'enforce' })
  const { room, early, passGrace } = await withSecondKey(svc)
  await passGrace()

  const again = await send(svc.cyd, room, { keyEpoch: 0, clientId: 'early' })

  expect([again.status, again.one.id]).toEqual([201, early])
})

test('a message with an earlier key is taken where new keys are only advised', async () => {
  await using svc = await startRooms()
  const { room, early, passGrace } = await withSecondKey(svc)
  await passGrace()

  expect((await send(svc.cyd, room, { keyEpoch: 0 })).status).toBe(201)
  expect((await svc.cyd.update('room-messages', early, { content: 'bmV3|bmV3|bmV3' })).status).toBe(200)
})

test('a message with a key that the room does not have yet is refused, also as an edit', async () => {
  await using svc = await startRooms()
  const { room, early } = await withSecondKey(svc)

  expect((await send(svc.cyd, room, { keyEpoch: 2 })).status).toBe(422)
  expect((await svc.cyd.update('room-messages', early, { keyEpoch: 2 })).status).toBe(422)
})

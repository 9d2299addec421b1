import { once } from 'node:events'
import { request } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { base, createApiClient, mediaType, startJsonApi } from '../kit/json-api/client.ts'
import { countWaiting, holdLock } from '../kit/locks.ts'
import { createPerson, createRoom, type RoomPerson, sendRoomMessage } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'

/** The largest number of waiting requests of one person. */
const MAX_WAITING = 500

let rooms: { id: string }[]
let busy: RoomPerson
const svc = shareResource(() => startJsonApi({ DATABASE_POOL: '5', DATABASE_PER_PERSON: '3' }))
beforeAll(async () => {
  busy = await createPerson(svc)
  rooms = await Promise.all(Array.from({ length: 8 }, async () => (await busy.create('rooms', { name: 'R' })).one))
})

const lockRooms = () =>
  holdLock(svc, 'select count(*) from (select from rooms where id = any($1::int[]) for update) r', [
    rooms.map(({ id }) => id),
  ])

test('concurrent requests of one person use at most three database connections', async () => {
  const other = await createRoom(svc)
  await using held = await lockRooms()
  const sending = rooms.map(({ id }) => sendRoomMessage(busy, id))
  await expect.poll(() => countWaiting(svc)).toBe(3)

  const [read, written] = await Promise.all([other.admin.get('/rooms'), other.send()])

  expect([read.status, written.status, await countWaiting(svc)]).toEqual([200, 201, 3])
  await held.release()
  expect((await Promise.all(sending)).map(({ status }) => status)).toEqual(rooms.map(() => 201))
})

test('excess concurrent requests of a person are refused with 429 and Retry-After', async () => {
  await using held = await lockRooms()
  const sending = rooms.slice(0, 3).map(({ id }) => sendRoomMessage(busy, id))
  await expect.poll(() => countWaiting(svc)).toBe(3)
  const refused: Response[] = []
  const reading = Array.from({ length: MAX_WAITING + 5 }, async () => {
    const answer = await svc.send('GET', `${base}/rooms/${rooms[0]?.id}`, { token: busy.token })
    if (answer.status === 429) refused.push(answer)
    return answer.status
  })

  await expect.poll(() => refused.length).toBe(5)

  expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(refused.map(() => '1'))
  expect((await createApiClient(svc, svc.people.ada.token).get('/rooms')).status).toBe(200)
  await held.release()
  await Promise.all(sending)
  expect((await Promise.all(reading)).filter((status) => status === 200)).toHaveLength(MAX_WAITING)
})

test('a request whose client goes away leaves its place', async () => {
  await using held = await lockRooms()
  const sending = rooms.slice(0, 3).map(({ id }) => sendRoomMessage(busy, id))
  await expect.poll(() => countWaiting(svc)).toBe(3)
  const headers = { authorization: `Bearer ${busy.token}`, 'content-type': mediaType }
  const leaving = request(`${svc.url}${base}/rooms`, { method: 'POST', headers }).on('error', () => {})
  leaving.end(JSON.stringify({ data: { type: 'rooms', attributes: { name: 'Left' } } }))
  await once(leaving, 'finish')
  // Once a later request is answered, this one has arrived.
  await svc.send('GET', '/health/live')

  leaving.destroy()
  await new Promise((closed) => leaving.once('close', closed))
  await svc.send('GET', '/health/live')

  await held.release()
  await Promise.all(sending)
  expect(await svc.rows(`select from rooms where name = 'Left'`)).toEqual([])
})

// @module-tag debian

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import { toOne } from '../kit/json-api/client.ts'
import { startBehindRelay } from '../kit/parts/behind-relay.ts'
import { redisDatabaseUrl } from '../kit/parts/redis.ts'
import { startRelay } from '../kit/parts/relay.ts'
import { openPusher } from '../kit/realtime/pusher.ts'
import { createChannel } from '../kit/realtime/replicas.ts'
import { sendRoomMessage } from '../kit/rooms/messages.ts'
import { type RoomsApp, startRooms, withOwnPeople } from '../kit/rooms/rooms.ts'

const seqsIn = (first: number, count: number) => Array.from({ length: count }, (_, n) => first + n)

describe.skipIf(!inject('redisUrl'))('while Redis is away', () => {
  test('changes of another replica are read from the log, each once and in order', async () => {
    const url = redisDatabaseUrl(15)
    await using relay = await startRelay(Number(new URL(url).port))
    const settings = { APP_KEY, REDIS_URL: url.replace(/:\d+\//, `:${relay.port}/`) }
    await using svc = await startRooms(settings)
    await using other = await startApp({ ...settings, DATABASE_URL: String(svc.env.DATABASE_URL) })
    const room = await createChannel(svc)
    using client = openPusher(other.url, { token: svc.people.ada.token })
    const { data } = await client.subscribe(room.channel)

    await sendRoomMessage(svc.ada, room.id)
    await client.until('change', 1)
    relay.cut()
    for (let n = 0; n < 5; n++) await sendRoomMessage(svc.ada, room.id)
    await client.until('change', 6)
    relay.mend()
    for (let n = 0; n < 5; n++) await sendRoomMessage(svc.ada, room.id)
    await client.until('change', 11)

    expect(client.dataOf('change').map(({ seq }) => seq)).toEqual(seqsIn(Number(data['seq']) + 1, 11))
  })
})

describe('what nobody published', () => {
  let shared: RoomsApp
  beforeAll(async () => {
    shared = await startRooms()
  })
  afterAll(() => shared[Symbol.asyncDispose]())

  test('is found in the log: whoever wrote it may have been killed', async () => {
    const svc = await withOwnPeople(shared, 'ada')
    const room = await createChannel(svc)
    using client = openPusher(svc.url, { token: svc.people.ada.token })
    const { data } = await client.subscribe(room.channel)

    await svc.rows(`update change_streams set seq = seq + 1 where stream = 'room:${room.id}'`)
    await svc.rows(
      `insert into change_log (stream, seq, kind, subject) select stream, seq, 'rooms.updated', '${room.id}' from change_streams where stream = 'room:${room.id}'`,
    )
    await client.until('change', 1)

    expect(client.dataOf('change')).toMatchObject([{ seq: Number(data['seq']) + 1, kind: 'rooms.updated' }])
  })

  test('and is not in the log any more, is told as a new position', async () => {
    const svc = await withOwnPeople(shared, 'ada')
    const { ada } = svc.people
    using client = openPusher(svc.url, { token: ada.token })
    const { data } = await client.subscribe(`private-User.${ada.id}`)

    await svc.rows(
      `insert into change_streams (stream, seq) values ('user:${ada.id}', 7) on conflict (stream) do update set seq = 7`,
    )
    await client.until('position', 1)

    expect(client.dataOf('position')).toEqual([{ epoch: data['epoch'], seq: 7 }])
  })

  test('is told in another epoch, once the database was restored', async () => {
    const svc = await withOwnPeople(shared, 'ada')
    const { ada } = svc.people
    using client = openPusher(svc.url, { token: ada.token })
    const { data } = await client.subscribe(`private-User.${ada.id}`)

    await svc.host.changeLog.restored()
    await client.until('position', 1)

    expect(client.dataOf('position')[0]?.['epoch']).not.toBe(data['epoch'])
  })
})

test('while the database is away connections stay, and go on once it is back', async () => {
  await using behind = await startBehindRelay()
  const { svc, relay } = behind
  const { one } = await svc.ada.create('rooms', { name: 'Chess' })
  using client = openPusher(svc.url, { token: svc.people.ada.token })
  await client.subscribe(`private-Rooms.${one.attributes['slug']}`)

  relay.cut()
  expect((await svc.ada.get('/rooms')).status).toBe(503)
  relay.mend()
  const post = () =>
    svc.ada.create('room-messages', { content: 'aXY=|dGFn|Y2lwaGVy' }, { room: toOne('rooms', one.id) })
  await expect.poll(async () => (await post()).status, { timeout: 60_000 }).toBe(201)
  await client.until('change', 1)

  expect(client.state()).toBe('connected')
  expect(client.errors).toEqual([])
})

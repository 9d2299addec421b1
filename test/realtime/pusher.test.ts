import { describe, expect, test } from 'vitest'
import { createApiClient, toOne } from '../kit/json-api/client.ts'
import { openEcho, openPusher, type Websocket } from '../kit/realtime/pusher.ts'
import { createChannel } from '../kit/realtime/replicas.ts'
import { joinRoom, startRooms } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startRooms)

const text = 'aXY=|dGFn|Y2lwaGVy'

const post = (room: string, who: 'ada' | 'bob' = 'ada') =>
  svc[who].create('room-messages', { content: text }, { room: toOne('rooms', room) })

describe('an unmodified pusher-js', () => {
  test('receives changes of a room in the older packet and our own event', async () => {
    const room = await createChannel(svc)
    using client = openPusher(svc.url, { token: svc.people.ada.token })

    const { data } = await client.subscribe(room.channel)
    const { one } = await post(room.id)
    await client.until('change', 1)

    const seq = Number(data['seq']) + 1
    expect(data).toEqual({ epoch: expect.stringMatching(/^[0-9a-f]{12}$/), seq: expect.any(Number) })
    expect(client.dataOf('change')).toEqual([
      {
        epoch: data['epoch'],
        seq,
        kind: 'room-messages.created',
        subject: one.id,
        at: expect.any(String),
        record: expect.objectContaining({ id: one.id }),
      },
    ])
    expect(client.dataOf('App\\Events\\RoomMessageEvent')).toEqual([
      { data: { type: 'message', data: { slug: room.slug, message_id: '1.000' } }, seq },
    ])
  })

  test('is told by a code that its person has too many connections', async () => {
    await using own = await startRooms({ REALTIME_CONNECTIONS_PER_PERSON: '1' })
    const { token } = own.people.ada
    using first = openPusher(own.url, { token })
    await first.subscribe('private-AllUsers')
    using second = openPusher(own.url, { token })

    second.pusher.subscribe('private-AllUsers')
    await second.untilState('disconnected')

    expect(second.errors).toContainEqual(
      expect.objectContaining({ data: { code: 4004, message: 'You have too many connections.' } }),
    )
    expect(first.state()).toBe('connected')
  })
})

describe('an unmodified laravel-echo', () => {
  test('configured by the transfer block receives messages and typing of others', async () => {
    const room = await createChannel(svc)
    await joinRoom(svc, room.id, 'bob', 'editor')
    const transfer = (await svc.ada.get('/configs/transfer')).one.attributes as { values: { websocket: Websocket } }
    using ada = openEcho(svc.url, transfer.values.websocket, svc.people.ada.token)
    using bob = openEcho(svc.url, transfer.values.websocket, svc.people.bob.token)
    const [heard, typed, own]: unknown[][] = [[], [], []]
    const ready = [ada, bob].map(({ echo }) => {
      const channel = echo.private(`Rooms.${room.slug}`)
      return new Promise<typeof channel>((done) => channel.subscribed(() => done(channel)))
    })
    const [adas, bobs] = await Promise.all(ready)
    bobs?.listen('RoomMessageEvent', (packet: unknown) => heard?.push(packet))
    bobs?.listenForWhisper('typing', (data: unknown) => typed?.push(data))
    adas?.listenForWhisper('typing', (data: unknown) => own?.push(data))

    adas?.whisper('typing', { user: 'ada', typing: true })
    await post(room.id)

    await expect.poll(() => [heard?.length, typed?.length]).toEqual([1, 1])
    expect(heard).toEqual([
      { data: { type: 'message', data: { slug: room.slug, message_id: '1.000' } }, seq: expect.any(Number) },
    ])
    expect([typed, own]).toEqual([[{ user: 'ada', typing: true }], []])
  })
})

// This test is the last, as no person can be added after it.
test('the person with the largest id receives events of their own channel', async () => {
  const largest = 2 ** 31 - 1
  await svc.rows(`select setval(pg_get_serial_sequence('users', 'id'), $1, false)`, [largest])
  const { id, token } = await svc.user({ abilities: ['read', 'write'] })
  using client = openPusher(svc.url, { token })
  await client.subscribe(`private-User.${id}`)

  const { one } = await createApiClient(svc, token).create('rooms', { name: 'Chess' })
  await client.until('change', 1)

  expect(id).toBe(largest)
  expect(client.dataOf('change')).toMatchObject([{ kind: 'rooms.created', subject: one.id }])
  const refused = client.subscribe(`private-User.${largest + 1}`)
  await expect(refused).rejects.toMatchObject({ status: 404 })
})

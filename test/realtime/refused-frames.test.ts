import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createChannel } from '../kit/realtime/replicas.ts'
import { openSocket, subscribe } from '../kit/realtime/socket.ts'
import { joinRoom, type RoomsApp, startRooms } from '../kit/rooms/rooms.ts'

let svc: RoomsApp
let room: Awaited<ReturnType<typeof createChannel>>
beforeAll(async () => {
  svc = await startRooms({ REALTIME_CHANNELS_PER_CONNECTION: '3' })
  await svc.rows(
    `with rules as (insert into announcements (title, view, type, is_forced, is_global)
                    values ('Rules', 'rules', 'policy', true, false) returning id)
     insert into announcement_targets (announcement_id, user_id) select id, $1 from rules`,
    [svc.people.cyd.id],
  )
  room = await createChannel(svc)
  await joinRoom(svc, room.id, 'bob', 'viewer')
})
afterAll(() => svc[Symbol.asyncDispose]())

type TestSocket = Awaited<ReturnType<typeof openSocket>>
const tokenOf = (who: 'ada' | 'bob') => svc.people[who].token
const own = () => `private-User.${svc.people.ada.id}`

describe('a frame is refused', () => {
  const typing = (channel: string, data: unknown = { typing: true }) => ({ event: 'client-typing', channel, data })

  test.for<[what: string, frame: () => unknown, code: number]>([
    ['that is no JSON', () => '{"event":', 4200],
    ['that is no object', () => '[]', 4200],
    ['without an event', () => ({ channel: own() }), 4200],
    ['whose event is no text', () => ({ event: 1 }), 4200],
    ['of an event that there is not', () => ({ event: 'pusher:dance' }), 4200],
    ['of an event of ours', () => ({ event: 'change', channel: room.channel, data: '{}' }), 4200],
    ['of an event that is called like a part of every object', () => ({ event: '__proto__' }), 4200],
    [
      'of an event that would make a client event of its data',
      () => ({ event: 'constructor', data: { type: 'client event', event: 'change', channel: room.channel } }),
      4200,
    ],
    ['that nests too deeply', () => `{"event":"pusher:ping","data":${'['.repeat(60)}${']'.repeat(60)}}`, 4200],
    ['that subscribes to nothing', () => ({ event: 'pusher:subscribe', data: {} }), 4200],
    [
      'that subscribes to a name with other signs',
      () => ({ event: 'pusher:subscribe', data: { channel: 'private-Rooms.ä' } }),
      4200,
    ],
    [
      'that subscribes to a name too long',
      () => ({ event: 'pusher:subscribe', data: { channel: 'a'.repeat(165) } }),
      4200,
    ],
    ['that unsubscribes from nothing', () => ({ event: 'pusher:unsubscribe' }), 4200],
    ['of a client event to no channel', () => ({ event: 'client-typing', data: {} }), 4301],
    ['of a client event to a channel that is not subscribed', () => typing('private-AllUsers'), 4301],
    ['of a client event to a room of others', () => typing('private-Rooms.chess-abc'), 4301],
    [
      'of a client event with a name too long',
      () => ({ ...typing(room.channel), event: `client-${'a'.repeat(200)}` }),
      4301,
    ],
    ['of a client event with too much in it', () => typing(room.channel, 'a'.repeat(10_239)), 4301],
  ])('%s, and the connection goes on', async ([, frame, code]) => {
    using socket = await openSocket(svc.url)
    await subscribe(svc.url, socket, tokenOf('ada'), room.channel)

    await socket.settle(frame())

    expect(socket.errors()).toEqual([code])
    expect(socket.closeCode()).toBeUndefined()
  })

  test('that is binary, and the connection goes on', async () => {
    using socket = await openSocket(svc.url)
    socket.ws.send(Buffer.from('{"event":"pusher:ping"}'))
    await socket.settle()

    expect(socket.errors()).toEqual([4200])
  })

  test('that is larger than any, and the connection ends', async () => {
    using socket = await openSocket(svc.url)
    await socket.settle('a'.repeat(20_000))

    expect(socket.closeCode()).toBe(1009)
  })

  test('of a client event to everybody, which nobody hears', async () => {
    using ada = await openSocket(svc.url)
    using bob = await openSocket(svc.url)
    for (const [socket, who] of [
      [ada, 'ada'],
      [bob, 'bob'],
    ] as const)
      await subscribe(svc.url, socket, tokenOf(who), 'private-AllUsers')

    await ada.settle(typing('private-AllUsers'))
    await bob.settle()

    expect(ada.errors()).toEqual([4301])
    expect(bob.frames.filter(({ event }) => event === 'client-typing')).toEqual([])
  })

  describe('of a client event by somebody who may only listen', () => {
    const typed = ({ frames }: TestSocket) => frames.filter(({ event }) => event === 'client-typing')

    test('as their token may not write', async () => {
      const reader = await svc.user({ abilities: ['read'] })
      const channel = `private-User.${reader.id}`
      using one = await openSocket(svc.url)
      using other = await openSocket(svc.url)
      for (const socket of [one, other]) await subscribe(svc.url, socket, reader.token, channel)

      await one.settle(typing(channel))
      await other.settle()

      expect([one.errors(), typed(other)]).toEqual([[4301], []])
      expect(JSON.stringify(one.frames)).toContain("lacks the ability 'write'")
    })

    test('until they accept what they must', async () => {
      const { id, token } = svc.people.cyd
      const channel = `private-User.${id}`
      using one = await openSocket(svc.url)
      using other = await openSocket(svc.url)
      for (const socket of [one, other]) await subscribe(svc.url, socket, token, channel)

      one.send(typing(channel))
      await expect.poll(() => one.errors()).toEqual([4301])
      await other.settle()
      expect(typed(other)).toEqual([])
      expect(JSON.stringify(one.frames)).toContain('accept it first')

      await svc.rows(
        'insert into announcement_receipts (user_id, announcement_id, accepted_at) select $1, id, now() from announcements',
        [id],
      )
      await one.settle(typing(channel))
      await expect.poll(() => typed(other).length).toBe(1)
      expect(one.errors()).toEqual([4301])
    })
  })

  test('where client events exceed the rate limit: others receive ten, the sender none', async () => {
    using ada = await openSocket(svc.url)
    using bob = await openSocket(svc.url)
    await subscribe(svc.url, ada, tokenOf('ada'), room.channel)
    await subscribe(svc.url, bob, tokenOf('bob'), room.channel)

    // All frames arrive at one moment for the rate limit, however long the service takes.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    for (let n = 0; n < 20; n++) ada.send(typing(room.channel, { n }))

    const typed = (socket: TestSocket) => socket.frames.filter(({ event }) => event === 'client-typing')
    await expect.poll(() => [typed(bob).length, ada.errors()]).toEqual([10, Array(10).fill(4301)])
    clock.mockRestore()
    expect(typed(bob)).toEqual(
      Array.from({ length: 10 }, (_, n) => ({ ...typing(room.channel, { n }), user_id: `${svc.people.ada.id}` })),
    )
    await ada.settle()
    expect(typed(ada)).toEqual([])
  })

  test.for<[what: string, send: (socket: TestSocket) => void]>([
    ['frames', (socket) => socket.send({ event: 'pusher:ping' })],
    ['pings', ({ ws }) => ws.ping()],
    ['pongs', ({ ws }) => ws.pong()],
  ])('where %s come without end, and the connection ends for good', async ([, send]) => {
    using socket = await openSocket(svc.url)
    for (let n = 0; n < 200; n++) send(socket)

    await expect.poll(() => socket.closeCode()).toBe(4009)
  })
})

import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { createChannel } from '../kit/realtime/replicas.ts'
import { authorize, openSocket, subscribe } from '../kit/realtime/socket.ts'
import { joinRoom, startRooms } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const ORIGIN = 'https://app.example.org'

let room: Awaited<ReturnType<typeof createChannel>>
const svc = shareResource(() => startRooms({ REALTIME_CHANNELS_PER_CONNECTION: '3', CORS_ORIGINS: ORIGIN }))
beforeAll(async () => {
  room = await createChannel(svc)
  await joinRoom(svc, room.id, 'bob', 'viewer')
})

type TestSocket = Awaited<ReturnType<typeof openSocket>>
const tokenOf = (who: 'ada' | 'bob' | 'cyd') => svc.people[who].token
const own = () => `private-User.${svc.people.ada.id}`

describe('a handshake is refused', () => {
  test.for<[what: string, path: string, origin: string | undefined, code: number]>([
    ['with a wrong key', '/app/other', undefined, 4001],
    ['with a key of another case', '/app/SVC', undefined, 4001],
    ['with a wrong key behind the path of the block', '/ws/transfer/app/other', undefined, 4001],
    ['of a version before 5', '/app/svc?protocol=4', undefined, 4007],
    ['of a version after 7', '/app/svc?protocol=8', undefined, 4007],
    ['of a version that is no number', '/app/svc?protocol=seven', undefined, 4006],
    ['of a version that is empty', '/app/svc?protocol=', undefined, 4006],
    ['from a page of another origin', '/app/svc', 'https://evil.example.org', 4009],
    ['from a page without an origin of its own', '/app/svc', 'null', 4009],
    ['from a page of our host over another scheme', '/app/svc', 'https://127.0.0.1', 4009],
  ])('%s, in a frame and by the close code', async ([, path, origin, code]) => {
    using socket = await openSocket(svc.url, { path, options: origin ? { origin } : {} })

    await expect.poll(() => socket.closeCode()).toBe(code)
    expect(socket.frames).toEqual([{ event: 'pusher:error', data: { code, message: expect.any(String) } }])
  })

  test.for([
    ['at an address where nothing listens', '/socket'],
    ['without a key', '/app/'],
    ['with a path behind the key', '/app/svc/more'],
    ['at the path of a page', '/'],
  ])('%s, with 404', async ([, path]) => {
    await expect(openSocket(svc.url, { path: String(path) })).rejects.toThrow('404')
  })

  test('with 404 and without Retry-After, as it is permanent', async () => {
    const refused = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { connection: 'upgrade', upgrade: 'websocket' }
      get(`${svc.url}/socket`, { headers }, resolve).on('error', reject)
    })

    expect(refused.statusCode).toBe(404)
    expect(refused.headers).not.toHaveProperty('retry-after')
  })

  test('and its socket closed, also where the client keeps its end open', async () => {
    const { hostname, port, host } = new URL(svc.url)
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
    socket.on('error', () => {})
    socket.write(`GET /socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
    await once(socket.resume(), 'end')

    const isClosed = () => {
      socket.write('more')
      return socket.closed
    }
    await expect.poll(isClosed).toBe(true)
  })

  test.for([
    ['without a version', '/app/svc', undefined],
    ['behind the path of the block', '/ws/transfer/app/svc?protocol=7&client=js&version=8.6.0&flash=false', undefined],
    ['of version 5', '/app/svc?protocol=5', undefined],
    ['from a page that the settings name', '/app/svc', ORIGIN],
  ])('not %s', async ([, path, origin]) => {
    using socket = await openSocket(svc.url, { path: String(path), options: origin ? { origin } : {} })

    expect(socket.frames).toEqual([
      {
        event: 'pusher:connection_established',
        data: { socket_id: expect.stringMatching(/^[1-9]\d{0,9}\.[1-9]\d{0,9}$/), activity_timeout: 30 },
      },
    ])
  })
})

describe('a signature is refused', () => {
  test.for<[what: string, who: 'ada' | 'bob' | 'cyd', channel: () => string, socketId: string, status: number]>([
    ['for a room of others', 'cyd', () => room.channel, '1.1', 404],
    ['for who is here in a room of others', 'cyd', () => `presence-Rooms.${room.slug}`, '1.1', 404],
    ['for a room that does not exist', 'ada', () => 'private-Rooms.nothing-here', '1.1', 404],
    ['for another person', 'bob', own, '1.1', 403],
    ['for a channel that is not private', 'ada', () => `Rooms.${room.slug}`, '1.1', 404],
    ['for a channel of no kind', 'ada', () => 'private-Everything', '1.1', 404],
    ['for a name that goes on behind a channel', 'ada', () => `${own()}0x`, '1.1', 404],
    ['for a name that is too long', 'ada', () => `private-Rooms.${'a'.repeat(200)}`, '1.1', 422],
    ['for no channel', 'ada', () => '', '1.1', 404],
    ['for a connection that is none', 'ada', own, 'one', 422],
    ['for text that is signed along with the connection', 'ada', own, '1.1:private-Rooms.x', 422],
  ])('%s', async ([, who, channel, socketId, status]) => {
    expect((await authorize(svc.url, tokenOf(who), socketId, channel())).status).toBe(status)
  })

  test('to a guest, in the words that front ends know', async () => {
    const body = new URLSearchParams({ socket_id: '1.1', channel_name: own() })
    const guest = await fetch(`${svc.url}/broadcasting/auth`, { method: 'POST', body })
    const noToken = await fetch(`${svc.url}/api/broadcasting/auth`, { method: 'POST', body })

    expect([guest.status, noToken.status]).toEqual([403, 401])
  })

  test('to a revoked token at once, even just after it was signed', async () => {
    const person = await svc.user({ abilities: ['read'] })
    const sign = () => authorize(svc.url, person.token, '1.1', `private-User.${person.id}`)
    const before = await sign()
    const [token] = await svc.host.tokens.listFor({ user: { id: person.id } })

    await svc.host.tokens.revokeFor({ user: { id: person.id }, tokenId: token?.id ?? 0 })

    expect([before.status, (await sign()).status]).toEqual([200, 401])
  })
})

describe('a subscription is refused', () => {
  type Auth = { auth?: string; channel_data?: string }
  const forged = (data: string | undefined, change: object) =>
    JSON.stringify({ ...(JSON.parse(data ?? '{}') as object), ...change })

  test.for<[what: string, spoil: (auth: Auth, socket: TestSocket) => Promise<Auth> | Auth]>([
    ['without a signature', () => ({})],
    ['with an empty signature', (auth) => ({ ...auth, auth: '' })],
    [
      'with a wrong signature',
      (auth) => ({ ...auth, auth: String(auth.auth).replace(/.$/, (it) => (it === '0' ? '1' : '0')) }),
    ],
    ['with a shorter signature', (auth) => ({ ...auth, auth: String(auth.auth).slice(0, -1) })],
    ['with a longer signature', (auth) => ({ ...auth, auth: `${auth.auth}0` })],
    ['with the signature of another key', (auth) => ({ ...auth, auth: String(auth.auth).replace('svc:', 'abc:') })],
    [
      'with the signature of another connection',
      async () => (await authorize(svc.url, tokenOf('ada'), '1.1', own())).body,
    ],
    [
      'with the signature of another channel',
      async (_, { id }) => (await authorize(svc.url, tokenOf('ada'), id, room.channel)).body,
    ],
    ['without whom it was signed for', ({ auth }) => ({ auth: String(auth) })],
    [
      'for somebody else than it was signed for',
      (auth) => ({ ...auth, channel_data: forged(auth.channel_data, { user_id: '1' }) }),
    ],
    [
      'for another token than it was signed for',
      (auth) => ({ ...auth, channel_data: forged(auth.channel_data, { token: 1 }) }),
    ],
    ['with what is no JSON', (auth) => ({ ...auth, channel_data: '{' })],
  ])('%s', async ([, spoil]) => {
    using socket = await openSocket(svc.url)
    const { body } = await authorize(svc.url, tokenOf('ada'), socket.id, own())

    await socket.settle({ event: 'pusher:subscribe', data: { ...(await spoil(body, socket)), channel: own() } })

    expect(socket.errors()).toEqual([4009])
    expect(socket.frames.filter(({ channel }) => channel)).toEqual([
      {
        event: 'pusher:subscription_error',
        channel: own(),
        data: { type: 'AuthError', error: expect.any(String), status: 401 },
      },
    ])
  })

  test('to a channel with a subscription, and beyond the maximum per connection', async () => {
    using socket = await openSocket(svc.url)
    const channels = [own(), room.channel, 'private-AllUsers', `presence-Rooms.${room.slug}`]
    for (const channel of channels) await subscribe(svc.url, socket, tokenOf('ada'), channel)
    await socket.settle({ event: 'pusher:subscribe', data: { channel: own(), auth: 'svc:' } })

    const refused = socket.frames.filter(({ event }) => event === 'pusher:subscription_error')
    expect(refused.map(({ channel, data }) => [channel, (data as { status: number }).status])).toEqual([
      [channels[3], 429],
      [own(), 409],
    ])
  })

  test('on the connection of somebody else', async () => {
    using socket = await openSocket(svc.url)
    await subscribe(svc.url, socket, tokenOf('ada'), room.channel)
    await subscribe(svc.url, socket, tokenOf('bob'), 'private-AllUsers')

    expect(socket.errors()).toEqual([4009])
  })
})

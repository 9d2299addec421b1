import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { startApp } from '../kit/app.ts'
import { authorize, openSocket, subscribe } from '../kit/realtime/socket.ts'
import { shareResource } from '../kit/share-resource.ts'
import { watchStatements } from '../kit/statements.ts'

const PEOPLE = 30
const ROOMS = 20

const statements = watchStatements()

const svc = shareResource(() =>
  startApp({ REALTIME_HANDSHAKES_PER_SECOND: '40', REALTIME_CONNECTIONS_PER_PERSON: '2' }),
)

test('where everybody subscribes to all their rooms, a few statements per person suffice', async () => {
  const people = await Promise.all(Array.from({ length: PEOPLE }, () => svc.user({ abilities: ['read'] })))
  await svc.rows(`insert into rooms (name, slug) select 'Room', 'room-' || n from generate_series(1, $1) n`, [ROOMS])
  await svc.rows(
    `insert into room_members (room_id, user_id, role) select r.id, u.id, 'editor' from rooms r, users u where u.id = any($1)`,
    [people.map(({ id }) => id)],
  )
  using sockets = new DisposableStack()
  const opened = await Promise.all(people.map(() => openSocket(svc.url)))
  for (const socket of opened) sockets.use(socket)
  statements.take()
  const begun = performance.now()

  const channels = Array.from({ length: ROOMS }, (_, n) => `private-Rooms.room-${n + 1}`)
  await Promise.all(
    opened.map(async (socket, n) => {
      const token = people[n]?.token ?? ''
      await Promise.all(channels.map((channel) => subscribe(svc.url, socket, token, channel)))
    }),
  )

  const subscribed = opened.flatMap(({ frames }) => frames.filter(({ event }) => event.endsWith('succeeded')))
  expect(subscribed).toHaveLength(PEOPLE * ROOMS)
  const names = statements.take()
  const others = names.filter(({ name }) => name !== 'find-token-owners')
  // On a busy machine no two requests come at the same moment.
  expect(names.length - others.length).toBeLessThanOrEqual(PEOPLE * ROOMS)
  // The service also checks for expired rows and missed notices more than twice a second.
  const seconds = (performance.now() - begun) / 1000
  expect(others.length).toBeLessThan(4 * PEOPLE + 3 * seconds)
  expect((await authorize(svc.url, people[0]?.token ?? '', '1.1', 'private-Rooms.room-21')).status).toBe(404)
})

test('more handshakes than a second allows wait for their turn, and none is refused', async () => {
  using sockets = new DisposableStack()

  const opened = await Promise.all(Array.from({ length: 60 }, () => openSocket(svc.url)))
  for (const socket of opened) sockets.use(socket)

  expect(opened.every(({ frames }) => frames[0]?.event === 'pusher:connection_established')).toBe(true)
  expect(new Set(opened.map(({ id }) => id)).size).toBe(60)
})

test('few handshakes a second are as few as the setting says', async () => {
  await using svc = await startApp({ REALTIME_HANDSHAKES_PER_SECOND: '4' })
  let now = performance.now()
  using _clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  let opened = 0

  const sockets = Array.from({ length: 5 }, async () => {
    const socket = await openSocket(svc.url)
    opened++
    return socket
  })

  // The first one does not wait.
  await expect.poll(() => opened).toBe(1)
  for (let next = 2; next <= 5; next++) {
    now += 250
    await expect.poll(() => opened).toBe(next)
  }
  for (const socket of await Promise.all(sockets)) socket[Symbol.dispose]()
})

test('a person has a bounded number of connections, and the next is closed permanently', async () => {
  const [one, other] = [await svc.user(), await svc.user()]
  using sockets = new DisposableStack()
  const open = async ({ token }: { token: string }) => {
    const socket = sockets.use(await openSocket(svc.url))
    const { body } = await authorize(svc.url, token, socket.id, 'private-AllUsers')
    await socket.settle({ event: 'pusher:subscribe', data: { ...body, channel: 'private-AllUsers' } })
    return socket
  }

  const [first, second, third] = [await open(one), await open(one), await open(one)]
  const foreign = await open(other)
  await expect.poll(() => third.closeCode()).toBe(4004)
  expect([first, second, foreign].map((socket) => socket.closeCode())).toEqual([undefined, undefined, undefined])

  second.ws.close()
  const again = async () => {
    const socket = await open(one)
    await socket.settle()
    return socket.closeCode()
  }
  await expect.poll(again).toBeUndefined()
})

test('a full process refuses more connections so that they come back', async () => {
  await using svc = await startApp({ REVERB_APP_MAX_CONNECTIONS: '1' })
  using first = await openSocket(svc.url)
  using second = await openSocket(svc.url)

  await expect.poll(() => second.closeCode()).toBe(4100)
  expect(first.closeCode()).toBeUndefined()
})

test('a silent connection is pinged, and one that does not answer is closed', async () => {
  // The answering side is also slow at times.
  await using svc = await startApp({ REVERB_APP_PING_INTERVAL: '4s' })
  using alive = await openSocket(svc.url)
  using dead = await openSocket(svc.url, { options: { autoPong: false } })

  await expect.poll(() => dead.closeCode()).toBe(4201)
  expect(alive.closeCode()).toBeUndefined()
})

test('a stopping service sends its clients away in batches, and accepts none', async () => {
  const svc = await startApp({ REALTIME_HANDSHAKES_PER_SECOND: '100', SHUTDOWN_TIMEOUT: '30s' })
  const closed: number[] = []
  using sockets = new DisposableStack()
  for (let n = 0; n < 40; n++) {
    const socket = sockets.use(await openSocket(svc.url))
    socket.ws.on('close', (code) => closed.push(code))
  }

  await svc[Symbol.asyncDispose]()

  await expect.poll(() => closed.length).toBe(40)
  expect(new Set(closed)).toEqual(new Set([4100]))
})

test('a stopping service closes pending handshakes, and their clients come back', async () => {
  const svc = await startApp({ REALTIME_HANDSHAKES_PER_SECOND: '1', SHUTDOWN_TIMEOUT: '5s' })
  const { hostname, port, host } = new URL(svc.url)
  const answers: string[] = []
  const sockets = Array.from({ length: 15 }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.on('data', (bytes) => answers.push(String(bytes)))
    socket.write(`GET /app/svc HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
    return socket
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  await fetch(`${svc.url}/health/live`)

  await svc[Symbol.asyncDispose]()

  await expect.poll(() => sockets.every(({ closed }) => closed)).toBe(true)
  const refused = answers.filter((answer) => answer.startsWith('HTTP/1.1 503'))
  expect(refused.length).toBeGreaterThan(0)
  for (const answer of refused) expect(answer).toContain('\r\nRetry-After: 5\r\n')
})

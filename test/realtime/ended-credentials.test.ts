import { expect, test } from 'vitest'
import { openBrowser, signIn } from '../kit/browser.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { createChannel, startPair } from '../kit/realtime/replicas.ts'
import { openSocket, subscribe } from '../kit/realtime/socket.ts'
import { sendRoomMessage } from '../kit/rooms/messages.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'
import { shareResource } from '../kit/share-resource.ts'

const pair = shareResource(() => startPair({}, 3))

type TestSocket = Awaited<ReturnType<typeof openSocket>>

const seqsOf = ({ frames }: TestSocket) =>
  frames.flatMap(({ event, data }) => (event === 'change' ? [(data as { seq: number }).seq] : []))

/** A room with a member, whose sockets and event streams are open on every replica. */
async function begin(stack: DisposableStack, subscribeAs: Subscribing) {
  const { svc, urls } = pair
  const room = await createChannel(svc)
  await svc.rows(`insert into room_members (room_id, user_id, role) values ($1, $2, 'viewer')`, [
    room.id,
    subscribeAs.id,
  ])
  const sockets = await Promise.all(urls.map((url) => openSocket(url)))
  const bystanders = await Promise.all(urls.map((url) => openSocket(url)))
  for (const [n, url] of urls.entries()) {
    await subscribeAs.socket(url, stack.use(sockets[n] as TestSocket), room.channel)
    await subscribe(url, stack.use(bystanders[n] as TestSocket), svc.people.ada.token, room.channel)
  }
  const input = { id: room.id }
  const streams = await Promise.all(
    urls.map((url) => RawSubscription.open({ url, path: 'rooms.changes', input, headers: subscribeAs.headers })),
  )
  for (const stream of streams) {
    stack.defer(() => stream.close())
    await stream.waitForPosition()
  }
  return { room, sockets, bystanders, streams }
}

interface Subscribing {
  id: number
  headers: Record<string, string>
  socket(url: string, socket: TestSocket, channel: string): Promise<void>
}

async function withToken() {
  const person = await pair.svc.user({ abilities: ['read', 'user'] })
  return {
    ...person,
    headers: { authorization: `Bearer ${person.token}` },
    socket: (url: string, socket: TestSocket, channel: string) => subscribe(url, socket, person.token, channel),
  }
}

let sessions = 0

async function withSession() {
  const { browser, id, username } = await signIn(pair.svc, `sid${++sessions}`)
  const cookie = [...browser.cookies].map((one) => one.join('=')).join('; ')
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const socket = async (url: string, socket: TestSocket, channel: string) => {
    const body = new URLSearchParams({ socket_id: socket.id, channel_name: channel })
    const answer = await fetch(`${url}/broadcasting/auth`, { method: 'POST', headers, body })
    await socket.settle({ event: 'pusher:subscribe', data: { ...((await answer.json()) as object), channel } })
    const isIn = () => socket.frames.some(({ event }) => event.endsWith('subscription_succeeded'))
    await expect.poll(isIn).toBe(true)
  }
  return { browser, id, username, headers, socket }
}

/** Ends a person's sessions or tokens, then changes the room on each replica: no change may reach them. */
async function expectSilence(subscribing: Subscribing, end: () => Promise<unknown>): Promise<void> {
  const { svc, other, urls } = pair
  using stack = new DisposableStack()
  const { room, sockets, bystanders, streams } = await begin(stack, subscribing)
  await sendRoomMessage(svc.ada, room.id)
  for (const stream of streams) await expect.poll(() => stream.seqs.length).toBe(1)
  for (const socket of sockets) await expect.poll(() => seqsOf(socket).length).toBe(1)

  await end()
  const adas = [svc, other].map((replica) => createApiClient(replica, svc.people.ada.token))
  for (const ada of [...adas, ...adas]) expect((await sendRoomMessage(ada, room.id)).status).toBe(201)

  for (const bystander of bystanders) await expect.poll(() => seqsOf(bystander).length).toBe(5)
  for (const socket of sockets) {
    expect(seqsOf(socket)).toHaveLength(1)
    await expect.poll(() => socket.closeCode()).toBe(4009)
  }
  for (const stream of streams) {
    await stream.ended
    expect(stream.seqs).toHaveLength(1)
    expect(stream.problem).toMatchObject({ code: 'UNAUTHORIZED' })
  }
  expect(urls).toHaveLength(bystanders.length)
}

test('a revoked token gets nothing more on any replica', async () => {
  const person = await withToken()
  const [token] = await pair.svc.host.tokens.listFor({ user: { id: person.id } })

  await expectSilence(person, () =>
    pair.svc.host.tokens.revokeFor({ user: { id: person.id }, tokenId: token?.id ?? 0 }),
  )
})

test('an ended session gets nothing more on any replica', async () => {
  const person = await withSession()

  await expectSilence(person, async () => {
    expect((await person.browser.send('POST', '/trpc/sessions.logoutEverywhere', { body: {} })).status).toBe(200)
  })
})

test('a session that another one ends gets nothing more on any replica', async () => {
  const person = await withSession()
  const elsewhere = openBrowser(pair.other.url)
  // Only the first replica has the accounts file.
  for (const [name, value] of (await signInAgain(person.username)).cookies) elsewhere.cookies.set(name, value)

  await expectSilence(person, async () => {
    expect((await elsewhere.send('POST', '/trpc/sessions.endOthers', { body: {} })).status).toBe(200)
  })
})

async function signInAgain(username: string) {
  const browser = openBrowser(pair.svc.url)
  await browser.login(username)
  return browser
}

test('a disabled person receives nothing on any replica until they are enabled', async () => {
  const { svc, other } = pair
  const admin = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
  const byAdmin = createApiClient(other, admin.token)
  const person = await withToken()

  await expectSilence(person, async () => {
    const { status, one } = await byAdmin.update('users', person.id, { disabled: true })
    expect([status, one.attributes['disabled']]).toEqual([200, true])
  })

  for (const replica of [svc, other]) {
    expect((await createApiClient(replica, person.token).get('/users/me')).status).toBe(401)
    expect((await createApiClient(replica).get('/users/me')).status).toBe(401)
  }
  await byAdmin.update('users', person.id, { disabled: false })
  const { one } = await createApiClient(svc, person.token).get('/users/me')
  expect(one.attributes['username']).toBe(person.username)
  expect((await createApiClient(svc, person.token).get('/rooms')).list).toHaveLength(1)
})

import { describe, expect, test } from 'vitest'
import { signIn } from '../kit/browser.ts'
import { readReplicaPart } from '../kit/health.ts'
import { createChannel, startPair } from '../kit/realtime/replicas.ts'
import { authorize, openSocket, subscribe } from '../kit/realtime/socket.ts'
import { sendRoomMessage } from '../kit/rooms/messages.ts'
import { joinRoom, readMembership } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const pair = shareResource(startPair)

type TestSocket = Awaited<ReturnType<typeof openSocket>>

/** Connections of somebody to each replica, all subscribed to a channel. */
async function listen(token: string, channel: string, stack: DisposableStack): Promise<TestSocket[]> {
  const sockets = await Promise.all(pair.urls.map((url) => openSocket(url)))
  for (const [n, socket] of sockets.entries()) {
    stack.use(socket)
    await subscribe(pair.urls[n] ?? '', socket, token, channel)
  }
  return sockets
}

const seqsOf = ({ frames }: TestSocket) =>
  frames.flatMap(({ event, data }) => (event === 'change' ? [(data as { seq: number }).seq] : []))
const seqsIn = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n)
function beginOf({ frames }: TestSocket): number {
  const subscribed = frames.find(({ event }) => event === 'pusher_internal:subscription_succeeded')
  return (subscribed?.data as { seq: number } | undefined)?.seq ?? 0
}

describe('a subscription ends on every replica', () => {
  test('when its member is removed, and the others receive everything in order', async () => {
    const { svc } = pair
    using stack = new DisposableStack()
    const room = await createChannel(svc)
    await joinRoom(svc, room.id, 'bob', 'editor')
    const adas = await listen(svc.people.ada.token, room.channel, stack)
    const bobs = await listen(svc.people.bob.token, room.channel, stack)
    const { id = '' } = (await readMembership(svc, room.id, svc.people.bob.id)) ?? {}

    const posts = Array.from({ length: 30 }, () => sendRoomMessage(svc.ada, room.id))
    const removal = svc.ada.delete(`/room-members/${id}`)
    await Promise.all([...posts, removal])
    await Promise.all(Array.from({ length: 5 }, () => sendRoomMessage(svc.ada, room.id)))

    const log = await svc.rows<{ seq: number; kind: string; subject: string }>(
      `select seq::int, kind, subject from change_log where stream = 'room:${room.id}' order by seq`,
    )
    const [last, removed] = [
      log.at(-1)?.seq ?? 0,
      log.find((row) => row.kind === 'room-members.deleted' && row.subject === id)?.seq ?? 0,
    ]
    for (const socket of adas) {
      await expect.poll(() => seqsOf(socket).at(-1)).toBe(last)
      expect(seqsOf(socket)).toEqual(seqsIn(beginOf(socket) + 1, last))
    }
    for (const socket of bobs) {
      const isOver = () => socket.frames.some(({ event }) => event === 'pusher:subscription_error')
      await expect.poll(isOver).toBe(true)
      await socket.settle()
      expect(seqsOf(socket)).toEqual(seqsIn(beginOf(socket) + 1, removed - 1))
      expect(socket.frames.at(-2)).toMatchObject({ event: 'pusher:subscription_error', channel: room.channel })
    }
  })

  test('with the room, after its last change', async () => {
    const { svc } = pair
    using stack = new DisposableStack()
    const room = await createChannel(svc)
    const sockets = await listen(svc.people.ada.token, room.channel, stack)

    await svc.ada.delete(`/rooms/${room.id}`)

    for (const { frames } of sockets) {
      await expect.poll(() => frames.at(-1)?.event).toBe('pusher:subscription_error')
      expect(frames.at(-2)).toMatchObject({ event: 'change', data: { kind: 'rooms.deleted', subject: room.id } })
    }
    const open = () => readReplicaPart(svc, 'realtime')
    await expect.poll(open).toMatch(/ to 0 channels/)
  })
})

test('a cancelled and repeated subscription is active once, and ends when they leave', async () => {
  const { svc } = pair
  const room = await createChannel(svc)
  using socket = await openSocket(svc.url)
  for (const channel of [room.channel, `presence-Rooms.${room.slug}`]) {
    const { body } = await authorize(svc.url, svc.people.ada.token, socket.id, channel)
    const [come, leave] = [
      { event: 'pusher:subscribe', data: { ...body, channel } },
      { event: 'pusher:unsubscribe', data: { channel } },
    ]
    for (const frame of [come, leave, come, leave, come]) socket.send(frame)
    const answers = () => socket.frames.filter((frame) => frame.channel === channel)
    await expect.poll(() => answers().length).toBeGreaterThan(0)
    await socket.settle()
    expect(answers().map(({ event }) => event)).toEqual(['pusher_internal:subscription_succeeded'])
    socket.send(leave)
  }
  const before = seqsOf(socket)
  await sendRoomMessage(svc.ada, room.id)
  await socket.settle()

  expect(seqsOf(socket)).toEqual(before)
  const open = () => readReplicaPart(svc, 'realtime')
  await expect.poll(open).toMatch(/ to 0 channels/)
})

describe('a signature that somebody still has', () => {
  test('is refused after their removal, and accepted when they return', async () => {
    const { svc } = pair
    const room = await createChannel(svc)
    await joinRoom(svc, room.id, 'cyd', 'viewer')
    using socket = await openSocket(svc.url)
    const { body } = await authorize(svc.url, svc.people.cyd.token, socket.id, room.channel)
    const { id = '' } = (await readMembership(svc, room.id, svc.people.cyd.id)) ?? {}
    const answers = () => socket.frames.flatMap(({ event, channel }) => (channel === room.channel ? [event] : []))

    await svc.ada.delete(`/room-members/${id}`)
    socket.send({ event: 'pusher:subscribe', data: { ...body, channel: room.channel } })
    await expect.poll(answers).toEqual(['pusher:subscription_error'])
    await joinRoom(svc, room.id, 'cyd', 'viewer')
    socket.send({ event: 'pusher:subscribe', data: { ...body, channel: room.channel } })

    await expect.poll(() => answers()[1]).toBe('pusher_internal:subscription_succeeded')
  })

  test('opens nothing once their token is revoked', async () => {
    const { svc } = pair
    const person = await svc.user({ abilities: ['read'] })
    using socket = await openSocket(svc.url)
    const channel = `private-User.${person.id}`
    const { body } = await authorize(svc.url, person.token, socket.id, channel)
    await svc.rows('delete from access_tokens where user_id = $1', [person.id])

    socket.send({ event: 'pusher:subscribe', data: { ...body, channel } })

    await expect.poll(() => socket.frames.at(-1)?.event).toBe('pusher:subscription_error')
  })
})

describe('a connection ends for good on every replica', () => {
  /** Opens two connections of a new person and ends them. */
  async function expectEnd(end: (person: { id: number; token: string }) => Promise<unknown>) {
    using stack = new DisposableStack()
    const person = await pair.svc.user({ abilities: ['read'] })
    const sockets = await listen(person.token, `private-User.${person.id}`, stack)
    const bystanders = await listen(pair.svc.people.ada.token, 'private-AllUsers', stack)

    await end(person)

    for (const socket of sockets) await expect.poll(() => socket.closeCode()).toBe(4009)
    expect(bystanders.map((socket) => socket.closeCode())).toEqual([undefined, undefined])
  }

  test('when the token is revoked by which it was signed', () =>
    expectEnd(async ({ id }) => {
      const [token] = await pair.svc.host.tokens.listFor({ user: { id } })
      await pair.svc.host.tokens.revokeFor({ user: { id }, tokenId: token?.id ?? 0 })
    }))

  test('when the token has run out', () =>
    expectEnd(({ id }) =>
      pair.svc.rows("update access_tokens set expires_at = now() - interval '1 second' where user_id = $1", [id]),
    ))

  test('when the person is erased', () => expectEnd(({ id }) => pair.svc.host.admin.removeUser({ user: { id } })))

  test('when the session has ended by which it was signed, and only then', async () => {
    const { svc } = pair
    const { browser, id } = await signIn(svc, 'sid')
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
    const channel = `private-User.${id}`
    using stack = new DisposableStack()
    const sockets = await Promise.all(pair.urls.map((url) => openSocket(url)))
    for (const [n, socket] of sockets.entries()) {
      stack.use(socket)
      const answer = await fetch(`${pair.urls[n]}/broadcasting/auth`, {
        method: 'POST',
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ socket_id: socket.id, channel_name: channel }),
      })
      const signed = (await answer.json()) as object
      await socket.settle({ event: 'pusher:subscribe', data: { ...signed, channel } })
    }
    const isSubscribed = ({ frames }: TestSocket) =>
      frames.some(({ event }) => event.endsWith('subscription_succeeded'))
    await expect.poll(() => sockets.every(isSubscribed)).toBe(true)

    await browser.send('POST', '/logout')

    for (const socket of sockets) await expect.poll(() => socket.closeCode()).toBe(4009)
  })
})

import { subscribe as observe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { Position } from '../../routers/ports/change-streams.ts'
import { startApp } from '../kit/app.ts'
import { openSocket, subscribe } from '../kit/realtime/socket.ts'
import { shareResource } from '../kit/share-resource.ts'

const SLOW = { timeout: 60_000, interval: 10 }

const svc = shareResource(startApp)

type TestSocket = Awaited<ReturnType<typeof openSocket>>

const seqsOf = ({ frames }: TestSocket) =>
  frames.flatMap(({ event, data }) => (event === 'change' ? [(data as { seq: number }).seq] : []))
const typingsOf = ({ frames }: TestSocket) => frames.filter(({ event }) => event === 'client-typing').length

/** A room with two members, one of whom reads nothing, and a function that publishes its next change. */
async function open(slug: string, stack: DisposableStack) {
  const [sleeper, reader] = [await svc.user(), await svc.user({ abilities: ['read', 'write'] })]
  const [room] = await svc.rows<{ id: number }>(`insert into rooms (name, slug) values ('Room', $1) returning id`, [
    slug,
  ])
  await svc.rows(`insert into room_members (room_id, user_id, role) select $1, unnest($2::int[]), 'editor'`, [
    room?.id,
    [sleeper.id, reader.id],
  ])
  const channel = `private-Rooms.${slug}`
  const connect = async ({ token }: { token: string }) => {
    const socket = stack.use(await openSocket(svc.url))
    await subscribe(svc.url, socket, token, channel)
    return socket
  }
  const { socket: asleep, side } = await withServerSide(() => openSocket(svc.url))
  await subscribe(svc.url, stack.use(asleep), sleeper.token, channel)
  const awake = await connect(reader)
  const [epoch] = awake.frames.flatMap(({ event, data }) =>
    event.endsWith('succeeded') ? [(data as Position).epoch] : [],
  )
  const change = {
    epoch: String(epoch),
    stream: `room:${room?.id}`,
    kind: 'rooms.updated',
    subject: 'x'.repeat(1000),
    at: new Date().toISOString(),
    number: null,
    status: null,
  }
  let seq = 0
  const publish = async (record?: object) => {
    seq += 1
    svc.services.changes.bus.publish([{ ...change, seq, record }])
    if (seq % 50 === 0) await new Promise(setImmediate)
    return seq
  }
  const speaker = await connect(reader)
  return { asleep, side, awake, publish, type: () => speaker.send({ event: 'client-typing', channel, data: {} }) }
}

/** A connection with the service's end of it. */
async function withServerSide(connect: () => Promise<TestSocket>) {
  const sides: Socket[] = []
  const note = (message: unknown) => sides.push((message as { socket: Socket }).socket)
  observe('net.server.socket', note)
  const socket = await connect()
  unsubscribe('net.server.socket', note)
  return { socket, side: sides[0] as Socket }
}

test('a client that reads slowly misses what does not last, and nothing else', async () => {
  using stack = new DisposableStack()
  const { asleep, side, awake, publish, type } = await open('room-1', stack)
  asleep.ws.pause()
  let last = 0
  while (side.writableLength < 100_000) last = await publish()

  type()
  await expect.poll(() => typingsOf(awake), SLOW).toBe(1)
  asleep.ws.resume()
  await expect.poll(() => seqsOf(asleep).at(-1), SLOW).toBe(last)
  type()
  await expect.poll(() => typingsOf(awake), SLOW).toBe(2)
  await asleep.settle()

  expect(typingsOf(asleep)).toBe(1)
  expect(seqsOf(asleep)).toEqual(Array.from({ length: last }, (_, n) => n + 1))
  expect(asleep.closeCode()).toBeUndefined()
})

test('a client that reads slowly gets later changes without their rows', async () => {
  using stack = new DisposableStack()
  const { asleep, side, awake, publish } = await open('room-3', stack)
  const carryingOf = ({ frames }: TestSocket) =>
    frames.flatMap(({ event, data }) => (event === 'change' ? ['record' in (data as object)] : []))
  asleep.ws.pause()
  let last = 0
  while (side.writableLength < 100_000) last = await publish({ id: '1' })

  await publish({ id: '1' })
  await expect.poll(() => carryingOf(awake), SLOW).toEqual(Array.from({ length: last + 1 }, () => true))
  asleep.ws.resume()

  await expect.poll(() => carryingOf(asleep).length, SLOW).toBe(last + 1)
  expect([carryingOf(asleep).at(0), carryingOf(asleep).at(-1)]).toEqual([true, false])
})

test('a client that reads nothing is disconnected, and delays nobody else', async () => {
  using stack = new DisposableStack()
  const { asleep, awake, publish } = await open('room-2', stack)
  asleep.ws.pause()
  const count = 20_000
  while ((await publish()) < count);

  await expect.poll(() => seqsOf(awake).length, SLOW).toBe(count)
  asleep.ws.resume()
  await expect.poll(() => asleep.closeCode(), SLOW).toBeDefined()
  expect(awake.closeCode()).toBeUndefined()
  expect(asleep.frames.length).toBeLessThan(count)
})

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { follow, type PassingEvent, roomStream } from '../../../facades/client/live/index.ts'
import { repeats } from '../../kit/ai/provider.ts'
import { redisDatabaseUrl } from '../../kit/parts/redis.ts'
import { describeWith } from '../../kit/parts/with-parts.ts'
import { openSocket, subscribe } from '../../kit/realtime/socket.ts'
import {
  createAiRoom,
  KEY,
  listDisclosures,
  openContent,
  type RoomAiApp,
  requestRoomAnswer,
  startRoomAi,
} from '../../kit/rooms/ai.ts'
import { startMortalReplica } from '../../kit/rooms/mortal-replica.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const SLOW = { timeout: 90_000, interval: 50 }

interface Progress {
  number: number
  isWhole: boolean
  parts: { type: string; text: string }[]
}

describeWith('redis')('what is told in passing between two replicas', () => {
  /** The surviving replica, in this process. */
  let app: RoomAiApp
  let shared: Record<string, string>

  beforeAll(async () => {
    shared = { APP_KEY: randomBytes(32).toString('base64'), REDIS_URL: redisDatabaseUrl(9) }
    app = await startRoomAi(shared, { runsTasks: true })
    app.provider.behave = repeats('piece')
  })
  afterAll(() => app[Symbol.asyncDispose]())

  /** A room with a member who asks and one who reads. */
  const newRoom = async () => {
    const room = await createAiRoom(app, ['editor'])
    const { slug } = (await room.admin.get(`/rooms/${room.id}`)).one.attributes
    return { ...room, client: room.admin, reader: room.editor, channel: `private-Rooms.${slug}` }
  }

  /** Records the transient events of a replica, by a socket and by server-sent events. */
  const listen = async (url: string, { id, reader, channel }: Awaited<ReturnType<typeof newRoom>>) => {
    const socket = await openSocket(url)
    await subscribe(url, socket, reader.token, channel)
    const byEvents: PassingEvent[] = []
    const stream = follow({
      ...roomStream({ url, headers: { authorization: `Bearer ${reader.token}` } }, id),
      read: () => {},
      apply: () => {},
      passed: (event) => byEvents.push(event),
    })
    const bySocket = () =>
      socket.frames.flatMap(({ event, data }) => (event === 'passing' ? [data as PassingEvent] : []))
    const progress = (events: readonly PassingEvent[]) =>
      Promise.all(events.map(async ({ content }) => (await openContent(content, KEY)) as unknown as Progress))
    return {
      socket,
      bySocket: () => progress(bySocket()),
      byEvents: () => progress(byEvents),
      [Symbol.dispose]: () => {
        stream.stop()
        socket[Symbol.dispose]()
      },
    }
  }

  /** Ordered pieces, of which the first contains the whole text so far. */
  const expectPieces = async (readProgress: () => Promise<Progress[]>) => {
    await expect.poll(async () => (await readProgress()).length, SLOW).toBeGreaterThan(3)
    const pieces = await readProgress()
    const numbers = pieces.map(({ number }) => number)
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
    expect(new Set(numbers).size).toBe(numbers.length)
    for (const { parts } of pieces) expect(parts.map(({ text }) => text).join('')).toMatch(/^(piece )+$/)
  }

  test('an answer grows at another replica, which reports its loss after a kill', async () => {
    await using mortal = await startMortalReplica(app, shared)
    const room = await newRoom()
    using there = await listen(app.svc.url, room)
    await requestRoomAnswer(mortal.as(room.client.token), room.id, 'Count')
    await expectPieces(there.bySocket)
    await expectPieces(there.byEvents)

    mortal.service.kill('SIGKILL')
    const state = async () => (await listDisclosures(room.reader, room.id))[0]?.state
    await expect.poll(state, SLOW).toBe('lost')
    const isTold = () =>
      there.socket.frames.some(
        ({ event, data }) => event === 'change' && (data as { kind: string }).kind === 'room-disclosures.updated',
      )
    await expect.poll(isTold, SLOW).toBe(true)
  })

  test('a reader whose replica is killed gets the whole answer from the other', async () => {
    await using mortal = await startMortalReplica(app, shared)
    const room = await newRoom()
    using before = await listen(mortal.url, room)
    const { meta } = await requestRoomAnswer(room.client, room.id, 'Count on')
    await expectPieces(before.bySocket)
    const [heard] = (await before.bySocket()).slice(-1)

    mortal.service.kill('SIGKILL')
    await mortal.service.ended
    using after = await listen(app.svc.url, room)
    const whole = async () => (await after.byEvents()).find(({ isWhole }) => isWhole)
    await expect.poll(async () => (await whole())?.number ?? 0, SLOW).toBeGreaterThan(heard?.number ?? 0)
    await expectPieces(after.bySocket)
    await room.client.post(`${room.path}/cancel-answer`, { disclosure: meta['disclosure'] })
  })

  test('typing at one replica is seen at the other, even after a kill', async () => {
    await using mortal = await startMortalReplica(app, shared)
    const room = await newRoom()
    using there = await listen(app.svc.url, room)
    const writer = await openSocket(mortal.url)
    await subscribe(mortal.url, writer, room.client.token, room.channel)
    const type = (socket: typeof writer, user: string) =>
      socket.send({ event: 'client-typing', channel: room.channel, data: { user } })
    const typed = () =>
      there.socket.frames.flatMap(({ event, data }) =>
        event === 'client-typing' ? [(data as { user: string }).user] : [],
      )
    type(writer, 'there')
    await expect.poll(typed, SLOW).toEqual(['there'])

    mortal.service.kill('SIGKILL')
    await mortal.service.ended
    using moved = await openSocket(app.svc.url)
    await subscribe(app.svc.url, moved, room.client.token, room.channel)
    type(moved, 'here')
    await expect.poll(typed, SLOW).toEqual(['there', 'here'])
  })
})

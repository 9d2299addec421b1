import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { cloneDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import { createApiClient, startJsonApi } from '../kit/json-api/client.ts'
import { startHaproxy } from '../kit/parts/haproxy.ts'
import { startOwnRedis } from '../kit/parts/redis.ts'
import { startFlakyRelay } from '../kit/parts/relay.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { FrontEnd, readRoom } from '../kit/realtime/front-end.ts'
import { openPusher } from '../kit/realtime/pusher.ts'
import { addMember, createPerson, type RoomPerson, sendRoomMessage } from '../kit/rooms/messages.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 15 * 60_000 })

const ROOMS = 10
const SLOW = { timeout: 120_000, interval: 200 }

/** Two replicas behind a load balancer behind a bad network, and a third one that tests ask directly. */
async function openWorld() {
  await using resources = new AsyncDisposableStack()
  const [database, folder] = [resources.use(await cloneDatabase()), resources.use(await createDataFolder())]
  const redis = resources.use(await startOwnRedis())
  const shared = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    APP_KEY,
    SUBSCRIPTIONS_HEARTBEAT: '1s',
    // Nobody makes the new key that a removal asks for: this drill is about events.
    ROOM_REKEY: 'advise',
  }
  const svc = resources.use(await startJsonApi({ ...shared, DATABASE_POOL: '5' }))
  const ports = [await findFreePort(), await findFreePort()]
  const start = async (index: number) => {
    const settings = { ...shared, DATA_DIR: folder.path, HOST: '127.0.0.1', PORT: String(ports[index]) }
    const replica = startProcess(settings)
    await replica.ready()
    return replica
  }
  const replicas = [await start(0), await start(1)]
  resources.defer(async () => {
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()))
  })
  const balancer = resources.use(await startHaproxy(ports))
  await vi.waitFor(async () => expect(await balancer.up()).toBe(2), SLOW)
  const network = resources.use(await startFlakyRelay(Number(new URL(balancer.url).port)))
  const kept = resources.move()
  return {
    svc,
    redis,
    balancer,
    network,
    async killOne(index: number) {
      replicas[index]?.kill('SIGKILL')
      await replicas[index]?.ended
      replicas[index] = await start(index)
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

type World = Awaited<ReturnType<typeof openWorld>>

interface WorldRoom {
  id: string
  slug: string
}

/** The failures to cause, in turn. */
const faults: ((world: World, round: number) => Promise<void>)[] = [
  async ({ network }) => network.cut(0.5),
  async ({ network }) => network.hang(0.3),
  (world, round) => world.killOne(round % 2),
  async ({ redis }) => {
    await redis.stop()
    await pause(1500)
    await redis.start()
  },
]

/** Sends so many messages to all rooms. */
async function write(world: World, person: RoomPerson, rooms: WorldRoom[], count: number): Promise<void> {
  const { create } = createApiClient({ ...world.svc, send: sendOver(world.balancer.url) }, person.token)
  for (let n = 0; n < count; n++) await sendUntilStored(create, rooms[n % rooms.length]?.id ?? '')
}

/** Sends again while the service, or the way to it, fails; throws if a message is refused. */
async function sendUntilStored(create: RoomPerson['create'], room: string): Promise<void> {
  for (;;) {
    const { status = 503 } = (await sendRoomMessage({ create }, room).catch(() => undefined)) ?? {}
    if (status === 201) return
    if (status < 500) throw new Error(`A message was refused with ${status}`)
    await pause(50)
  }
}

/** Sends through another address than that of the service. */
const sendOver =
  (url: string): World['svc']['send'] =>
  (method, path, { token, headers, body } = {}) =>
    fetch(url + path, {
      method,
      headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    })

/** For each room a front end over server-sent events and one over pusher-js, as one person. */
function openFrontEnds({ network: { url } }: World, { token }: RoomPerson, rooms: WorldRoom[]) {
  const { pusher } = openPusher(url, { token, activityTimeout: 2000 })
  const frontEnds = rooms.map(({ id: room, slug }) => [
    new FrontEnd({ url, token, room }),
    new FrontEnd({ url, token, room, over: { pusher, channel: `private-Rooms.${slug}` } }),
  ])
  return {
    of: (from: number, to = ROOMS) => frontEnds.slice(from, to).flat(),
    close() {
      for (const frontEnd of frontEnds.flat()) frontEnd.stop()
      pusher.disconnect()
    },
  }
}

describeWith('redis', 'haproxy')('two replicas behind a load balancer', () => {
  test('lose no event, and deliver none to removed people, through all failures', async () => {
    await using world = await openWorld()
    const { svc } = world
    const [ada, bob] = [await createPerson(svc), await createPerson(svc)]
    const rooms: WorldRoom[] = []
    for (let n = 0; n < ROOMS; n++) {
      const { one } = await ada.create('rooms', { name: `Room ${n}` })
      await addMember(svc, one.id, 'viewer', bob)
      rooms.push({ id: one.id, slug: String(one.attributes['slug']) })
    }
    const [adas, bobs] = [openFrontEnds(world, ada, rooms), openFrontEnds(world, bob, rooms)]

    const count = 1000
    let isWriting = true
    const writing = (async () => {
      await write(world, ada, rooms, count / 2)
      await remove(svc, ada, bob, rooms.slice(0, ROOMS / 2))
      await write(world, ada, rooms, count / 2)
      isWriting = false
    })()
    for (let round = 0; isWriting || round < faults.length; round++) {
      await faults[round % faults.length]?.(world, round)
      await pause(500)
    }
    await writing

    for (const frontEnd of [...adas.of(0), ...bobs.of(ROOMS / 2)]) await expectFresh(svc.url, ada, frontEnd)
    for (const frontEnd of bobs.of(0, ROOMS / 2)) await expectRemoved(svc, frontEnd)
    adas.close()
    bobs.close()
  })
})

async function remove(svc: World['svc'], by: RoomPerson, person: RoomPerson, rooms: WorldRoom[]): Promise<void> {
  for (const { id } of rooms) {
    const [member] = await svc.rows<{ id: number }>('select id from room_members where room_id = $1 and user_id = $2', [
      id,
      person.id,
    ])
    const { status } = await by.delete(`/room-members/${member?.id}`)
    expect(status).toBe(200)
  }
}

const textOf = (sight: Map<string, unknown>) =>
  JSON.stringify([...sight].toSorted(([one], [other]) => one.localeCompare(other)))

async function expectFresh(url: string, { token }: RoomPerson, frontEnd: FrontEnd): Promise<void> {
  const fresh = textOf(await readRoom({ url, token, room: frontEnd.room }))
  await vi.waitFor(() => expect(textOf(frontEnd.sight) === fresh).toBe(true), SLOW)
}

async function expectRemoved(svc: World['svc'], frontEnd: FrontEnd): Promise<void> {
  await vi.waitFor(() => expect(frontEnd.endedBy).toBe('not_found'), SLOW)
  const [removal] = await svc.rows<{ seq: number }>(
    `select seq::int from change_log where stream = $1 and kind = 'room-members.deleted'`,
    [`room:${frontEnd.room}`],
  )
  expect(frontEnd.receivedSeqs.filter((seq) => seq >= Number(removal?.seq))).toEqual([])
}

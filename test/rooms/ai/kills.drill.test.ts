import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest'
import { answers, repeats } from '../../kit/ai/provider.ts'
import { redisDatabaseUrl } from '../../kit/parts/redis.ts'
import { openSocket, subscribe } from '../../kit/realtime/socket.ts'
import {
  createAiRoom,
  listDisclosures,
  openContent,
  type RoomAiApp,
  requestRoomAnswer,
  startRoomAi,
  waitForAnswer,
} from '../../kit/rooms/ai.ts'
import { startMortalReplica } from '../../kit/rooms/mortal-replica.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

const SLOW = { timeout: 90_000, interval: 50 }

/** The surviving replica, in this process. */
let app: RoomAiApp
let shared: Record<string, string>
let mortal: Awaited<ReturnType<typeof startMortalReplica>>

beforeAll(async () => {
  shared = {
    APP_KEY: randomBytes(32).toString('base64'),
    ...(inject('redisUrl') && { REDIS_URL: redisDatabaseUrl(9) }),
  }
  app = await startRoomAi(shared, { runsTasks: true })
})
afterAll(() => app[Symbol.asyncDispose]())
afterEach(() => mortal[Symbol.asyncDispose]())

/** Creates a room with an earlier answer, and records the last status on its channel. */
async function roomAndChannel() {
  const there = await createAiRoom(app, ['editor'])
  const { slug } = (await there.admin.get(`/rooms/${there.id}`)).one.attributes
  const socket = await openSocket(app.svc.url)
  await subscribe(app.svc.url, socket, there.admin.token, `private-Rooms.${slug}`)
  app.provider.behave = answers('First.')
  await requestRoomAnswer(there.admin, there.id, 'Hello')
  const first = await waitForAnswer(there.admin, there.id)
  const statuses = () =>
    socket.frames
      .map(({ data }) => (data as { data?: { type: string; data: object } } | undefined)?.data)
      .flatMap((event) => (event?.type === 'status' ? [event.data] : []))
  return { ...there, first: String(first.answer), statuses, [Symbol.dispose]: () => socket[Symbol.dispose]() }
}

type There = Awaited<ReturnType<typeof roomAndChannel>>

const usageOf = ({ id }: There) =>
  app.svc.rows<{ outcome: string }>('select outcome from usage_records where room_id = $1 order by id', [id])

const textOf = async ({ admin, first }: There) =>
  (await openContent((await admin.get(`/room-messages/${first}`)).one.attributes['content'])).text

test('an answer of a killed replica ends within its lease and is billed', async () => {
  mortal = await startMortalReplica(app, shared)
  using there = await roomAndChannel()
  app.provider.behave = repeats('CANARY-ANSWER')
  const count = app.provider.requests.length
  await requestRoomAnswer(mortal.as(there.editor.token), there.id, 'CANARY-PROMPT', { thread: there.first })
  await requestRoomAnswer(mortal.as(there.admin.token), there.id, 'CANARY-PROMPT', { replaces: there.first })
  await vi.waitFor(() => expect(app.provider.requests).toHaveLength(count + 2), SLOW)

  mortal.service.kill('SIGKILL')

  const lost = () => listDisclosures(there.admin, there.id)
  const state = { state: 'lost', error: 'unavailable' }
  await vi.waitFor(async () => expect(await lost()).toMatchObject([state, state, { state: 'completed' }]), SLOW)
  const error = 'The service is not available. Try again later.'
  const over = { isGenerating: false, error }
  await vi.waitFor(() => expect(there.statuses().slice(-2)).toMatchObject([over, over]), SLOW)
  await vi.waitFor(async () => expect(await app.svc.rows('select from usage_holds')).toEqual([]), SLOW)
  expect((await usageOf(there)).map(({ outcome }) => outcome)).toEqual(['completed', 'lost', 'lost'])
  expect(await textOf(there)).toBe('First.')
  expect((await there.admin.get(`/rooms/${there.id}/messages`)).list).toHaveLength(1)
  const outputs = mortal.service.output.out + mortal.service.output.err + app.svc.log.join('')
  expect(outputs).not.toMatch(/CANARY/)
})

/** Statements at the start and end of an answer, and whether the database receives them. */
const moments: [string, RegExp, boolean, string[]][] = [
  ['before it has written down what it discloses', /begin-disclosure/, false, ['completed']],
  ['after it has written down what it discloses', /begin-disclosure/, true, ['completed']],
  ['before it has replaced the message', /set content/, false, ['lost', 'completed']],
  ['before the message and its end are committed', /end-disclosure/, true, ['lost', 'completed']],
]

test.each(moments)('a replica that is killed %s leaves a message that is whole', async (_, word, passOn, states) => {
  mortal = await startMortalReplica(app, shared)
  using there = await roomAndChannel()
  app.provider.behave = answers('Second.')
  mortal.killAt(word, passOn)
  await requestRoomAnswer(mortal.as(there.admin.token), there.id, 'Hello', { replaces: there.first }).catch(() => {})
  await mortal.service.ended

  const lapse = (table: string) =>
    app.svc.rows(`update ${table} set lease_until = now() - interval '1 s' where lease_until is not null`)
  await vi.waitFor(async () => {
    await Promise.all([lapse('room_disclosures'), lapse('usage_holds')])
    await app.svc.host.rooms.endLostAnswers()
    expect((await listDisclosures(there.admin, there.id)).map(({ state }) => state)).toEqual(states)
    expect(await app.svc.rows('select from usage_holds')).toEqual([])
  }, SLOW)
  expect(await textOf(there)).toBe('First.')
  await vi.waitFor(() => expect(there.statuses().at(-1)).toMatchObject({ isGenerating: false }), SLOW)
  expect((await usageOf(there)).length).toBeLessThan(3)
})

test('an answer of another process is cancelled by its asker and by administrators', async () => {
  mortal = await startMortalReplica(app, shared)
  using there = await roomAndChannel()
  app.provider.behave = repeats('more')
  for (const by of [there.editor, there.admin]) {
    const before = app.provider.requests.length
    const { meta } = await requestRoomAnswer(mortal.as(there.editor.token), there.id, 'Hello')
    await vi.waitFor(() => expect(app.provider.requests).toHaveLength(before + 1), SLOW)
    const going = app.provider.requests[before]
    await by.post(`${there.path}/cancel-answer`, { disclosure: meta['disclosure'] })
    expect(await waitForAnswer(there.admin, there.id)).toMatchObject({ state: 'cancelled' })
    await vi.waitFor(() => expect(going?.abortedAt).toBeDefined(), SLOW)
  }

  await requestRoomAnswer(mortal.as(there.editor.token), there.id, 'Hello')
  await mortal.service.stop()
  expect(await waitForAnswer(there.admin, there.id)).toMatchObject({ state: 'lost', error: 'unavailable' })
  await vi.waitFor(async () => expect((await usageOf(there)).length).toBe(4), SLOW)
})

import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { beginStream, buildChunk, type ProviderRequest } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { openBrowser, signIn } from '../../kit/browser.ts'
import { APP_KEY } from '../../kit/identity/sessions.ts'
import { createApiClient } from '../../kit/json-api/client.ts'
import { redisDatabaseUrl } from '../../kit/parts/redis.ts'
import { openClient } from '../../kit/postgres-client.ts'
import { openSocket, subscribe } from '../../kit/realtime/socket.ts'
import {
  createAiRoom,
  KEY,
  listDisclosures,
  type RoomAiApp,
  requestRoomAnswer,
  startRoomAi,
  waitForAnswer,
} from '../../kit/rooms/ai.ts'

const SLOW = { timeout: 60_000, interval: 20 }

let app: RoomAiApp
/** Another replica, which ends the answers. */
let other: TestApp

beforeAll(async () => {
  const shared = { APP_KEY, ...(inject('redisUrl') && { REDIS_URL: redisDatabaseUrl(9) }) }
  app = await startRoomAi(shared)
  const { DATABASE_URL, AI_CONFIG } = app.svc.env
  other = await startApp({ ...shared, DATABASE_URL: String(DATABASE_URL), AI_CONFIG: String(AI_CONFIG) })
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

/** Streams until the client disconnects; resolves with the request once part of the answer has arrived. */
function whileItAnswers(): Promise<ProviderRequest> {
  const { promise, resolve } = Promise.withResolvers<ProviderRequest>()
  app.provider.behave = async (request: ProviderRequest, response: ServerResponse) => {
    beginStream(response)
    for (let count = 0; !request.abortedAt; count++) {
      response.write(buildChunk({ delta: { content: 'more ' } }))
      if (count === 5) resolve(request)
      await pause(10)
    }
  }
  return promise
}

/** Starts an answer in a room; returns the room, its channel at another replica, and the answer's row. */
async function underWay() {
  const there = await createAiRoom(app, ['editor'])
  const { slug } = (await there.admin.get(`/rooms/${there.id}`)).one.attributes
  const socket = await openSocket(other.url)
  await subscribe(other.url, socket, there.admin.token, `private-Rooms.${slug}`)
  const answering = whileItAnswers()
  const { meta } = await requestRoomAnswer(there.editor, there.id, 'Hello')
  return {
    ...there,
    response: await answering,
    disclosure: String(meta['disclosure']),
    /** Clients of the administrator and the editor at the other replica. */
    away: { admin: createApiClient(other, there.admin.token), editor: createApiClient(other, there.editor.token) },
    lastStatus: () => statusesOf(socket).at(-1),
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  }
}

const statusesOf = ({ frames }: Awaited<ReturnType<typeof openSocket>>) =>
  frames
    .map(({ data }) => (data as { data?: { type: string; data: object } } | undefined)?.data)
    .filter((event) => event?.type === 'status')
    .map((event) => event?.data)

type UnderWay = Awaited<ReturnType<typeof underWay>>

const usageOf = async (room: string) => {
  await app.svc.services.ai.usageLedger.flush()
  return app.svc.rows<{ outcome: string; user_id: number | null; output_tokens: number }>(
    'select outcome, user_id, output_tokens from usage_records where room_id = $1',
    [room],
  )
}

const membershipOf = async ({ id, editor }: UnderWay) => {
  const [found] = await app.svc.rows<{ id: number }>(
    `select id from room_members where room_id = $1 and user_id = $2 and state = 'member'`,
    [id, editor.id],
  )
  return found?.id ?? 0
}

const revoke = async ({ editor }: UnderWay) =>
  other.host.tokens.revokeFor({ user: { id: editor.id }, tokenId: Number(editor.token.split('_')[1]) })

const refused = { state: 'failed', error: 'not_permitted' }
const cancelled = { state: 'cancelled', error: null }

const endings: [string, (at: UnderWay) => Promise<unknown>, object][] = [
  ['is removed from the room', async (at) => at.away.admin.delete(`/room-members/${await membershipOf(at)}`), refused],
  [
    'may only read in the room',
    async (at) => at.away.admin.update('room-members', await membershipOf(at), { role: 'viewer' }),
    refused,
  ],
  ['leaves the room', async (at) => at.away.editor.delete(`/room-members/${await membershipOf(at)}`), refused],
  ['has their token revoked', revoke, refused],
  ['is erased', ({ editor }) => other.host.admin.removeUser({ user: { id: editor.id } }), refused],
  ['cancels it', ({ away, path, disclosure }) => away.editor.post(`${path}/cancel-answer`, { disclosure }), cancelled],
  [
    'has it cancelled by who administers the room',
    ({ away, path, disclosure }) => away.admin.post(`${path}/cancel-answer`, { disclosure }),
    cancelled,
  ],
]

describe('an answer ends at once, is billed partially and announced to its room', () => {
  test.each(endings)('when its asker %s at another replica', async (_, end, expected) => {
    using at = await underWay()
    await vi.waitFor(() => expect(at.lastStatus()).toMatchObject({ isGenerating: true }), SLOW)

    await end(at)

    expect(await waitForAnswer(at.admin, at.id)).toMatchObject({ ...expected, answer: null })
    await vi.waitFor(() => expect(at.response.abortedAt).toBeDefined(), SLOW)
    await vi.waitFor(() => expect(at.lastStatus()).toMatchObject({ isGenerating: false }), SLOW)
    await expect.poll(() => usageOf(at.id)).toMatchObject([{ outcome: 'aborted' }])
    expect((await usageOf(at.id))[0]?.output_tokens).toBeGreaterThan(4)
    await expect.poll(() => app.svc.rows('select from usage_holds')).toEqual([])
    expect((await at.admin.get(`/rooms/${at.id}/messages`)).list).toEqual([])
  })

  test('when its asker signs out at another replica', async () => {
    const { browser } = await signIn(app.svc, 'olga')
    const { body } = await browser.send('POST', '/req/room/createRoom', { body: { room_name: 'Chess' } })
    const { id, slug } = body['roomData'] as { id: number; slug: string }
    const payload = { model: 'mock-1', stream: false, messages: [{ role: 'user', content: { text: 'Hello' } }] }
    const answering = whileItAnswers()
    await browser.send('POST', `/req/room/streamAI/${slug}`, { body: { payload, broadcast: true, slug, key: KEY } })
    const response = await answering
    const away = openBrowser(other.url)
    for (const [name, value] of browser.cookies) away.cookies.set(name, value)

    await away.send('POST', '/logout')

    await vi.waitFor(() => expect(response.abortedAt).toBeDefined(), SLOW)
    const stated = () => app.svc.rows('select state, error from room_disclosures where room_id = $1', [id])
    await vi.waitFor(async () => expect(await stated()).toEqual([refused]), SLOW)
    await expect.poll(() => usageOf(String(id))).toMatchObject([{ outcome: 'aborted' }])
  })
})

test('whoever ends lost answers waits for no room in which somebody writes', async () => {
  using at = await underWay()
  await using writer = await openClient(String(app.svc.env.DATABASE_URL))
  await writer.query('begin')
  await writer.query(`select from rooms where id = ${at.id} for no key update`)
  const lapse = () =>
    app.svc.rows(`update room_disclosures set lease_until = now() - interval '1 s' where lease_until is not null`)
  await lapse()

  expect(await other.host.rooms.endLostAnswers()).toEqual({ ended: 0 })
  // The last statement of a finished answer, under the lock of the room.
  await writer.query(`update room_disclosures set error = null where id = ${at.disclosure}`)
  await writer.query('commit')

  await vi.waitFor(async () => {
    // The answering process may have renewed the lease.
    await lapse()
    await other.host.rooms.endLostAnswers()
    const [disclosure] = await listDisclosures(at.admin, at.id)
    expect(disclosure).toMatchObject({ state: 'lost', answer: null })
  }, SLOW)
  await vi.waitFor(() => expect(at.response.abortedAt).toBeDefined(), SLOW)
})

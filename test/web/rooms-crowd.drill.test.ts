import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { resolveAccountsPath } from '../../server/login/accounts.ts'
import { cloneDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import { startJsonApi } from '../kit/json-api/client.ts'
import { startHaproxy } from '../kit/parts/haproxy.ts'
import { startOwnRedis } from '../kit/parts/redis.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { addMember, createPerson } from '../kit/rooms/messages.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'
import { addCopies, gatherInRoom, type RoomsPage } from '../kit/web/rooms.ts'

vi.setConfig({ testTimeout: 15 * 60_000 })

const [WRITERS, MEMBERS, HISTORY] = [20, 200, 5000]
const [A_SECOND, SECONDS] = [10, 20]
/** Messages that are in a page at most. */
const SHOWN = 150
const SLOW = { timeout: 120_000, interval: 500 }

/** Two replicas behind a load balancer, and a third one that tests ask directly. */
async function openWorld() {
  await using resources = new AsyncDisposableStack()
  const [database, folder] = [resources.use(await cloneDatabase()), resources.use(await createDataFolder())]
  const redis = resources.use(await startOwnRedis())
  const ports = [await findFreePort(), await findFreePort()]
  const balancer = resources.use(await startHaproxy(ports))
  const shared = { DATABASE_URL: database.url, REDIS_URL: redis.url, APP_KEY, BASE_URL: balancer.url }
  const svc = resources.use(await startJsonApi({ ...shared, DATABASE_POOL: '5' }))
  const replicas = ports.map((port) => {
    const settings = { ...shared, DATA_DIR: folder.path, HOST: '127.0.0.1', PORT: String(port) }
    return resources.use(startProcess({ ...settings, ACCOUNTS_FILE: resolveAccountsPath(svc.env) }))
  })
  await Promise.all(replicas.map((replica) => replica.ready()))
  await vi.waitFor(async () => expect(await balancer.up()).toBe(2), SLOW)
  const kept = resources.move()
  return { svc, balancer, replicas, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** The ids of the messages that a page shows, from top to bottom. */
const shownIn = ({ page }: RoomsPage): Promise<string[]> =>
  page.locator('article[id]').evaluateAll((all) => all.map(({ id }) => id.replace('message-', '')))

type World = Awaited<ReturnType<typeof openWorld>>

/** Three people in a room, each with a browser. */
async function openBrowsers({ svc, balancer }: World, resources: AsyncDisposableStack) {
  const behindBalancer = { ...svc, url: balancer.url }
  const { people: pages } = resources.use(await gatherInRoom(behindBalancer, 'Square', ['adaa', 'benn', 'cydd']))
  const [ada, ...others] = pages
  await ada.say('One of many')
  for (const other of others) await other.findMessage('One of many').waitFor()
  return { ada, others, pages }
}

/** Adds many members and a long history; returns functions that write and seal a message. */
async function fillRoom({ svc }: World) {
  const [room] = await svc.rows<{ id: string; content: string }>(
    'select room_id::text as id, content from room_messages order by id limit 1',
  )
  const { id = '', content = '' } = room ?? {}
  await addCopies(svc, 'Square', HISTORY)
  const joining = Array.from({ length: MEMBERS }, async () => addMember(svc, id, 'editor', await createPerson(svc)))
  const tokens = (await Promise.all(joining)).map(({ token }) => token)
  const compose = () => ({ room: id, clientId: randomUUID(), content, keyEpoch: 0, thread: null, attachments: [] })
  return { tokens, compose }
}

/** Sends a message with retries, like a browser. Returns whether it succeeded. */
async function send({ balancer }: World, token: string, message: object): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(message) }
  for (let attempt = 0; attempt < 60; attempt++) {
    const answer = await fetch(`${balancer.url}/trpc/roomMessages.create`, init).catch(() => undefined)
    await answer?.arrayBuffer().catch(() => undefined)
    if (answer?.ok) return true
    await pause(500)
  }
  return false
}

describeWith(
  'chromium',
  'redis',
  'haproxy',
)('a crowd in a room', () => {
  test('twenty people write during a kill, and three browsers show all in order', async () => {
    await using world = await openWorld()
    await using resources = new AsyncDisposableStack()
    const { ada, others, pages } = await openBrowsers(world, resources)
    const { tokens, compose } = await fillRoom(world)

    const sending: Promise<boolean>[] = []
    for (let n = 0; n < A_SECOND * SECONDS; n++) {
      sending.push(send(world, tokens[n % WRITERS] ?? '', compose()))
      if (n === (A_SECOND * SECONDS) / 2) world.replicas[0]?.kill('SIGKILL')
      await pause(1000 / A_SECOND)
    }
    expect(await Promise.all(sending)).not.toContain(false)

    const stored = await world.svc.rows<{ id: string }>('select id::text as id from room_messages order by seq')
    expect(stored.length).toBe(1 + HISTORY + A_SECOND * SECONDS)
    const last = stored.slice(-SHOWN).map((each) => each.id)
    for (const each of pages) await expect.poll(() => shownIn(each), SLOW).toEqual(last)
    await ada.say('The end of it')
    for (const other of others) await other.findMessage('The end of it').waitFor({ timeout: 60_000 })
    expect(pages.flatMap(({ complaints }) => complaints).filter((text) => /Content Security/.test(text))).toEqual([])
  })
})

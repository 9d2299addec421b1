import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { resolveAccountsPath } from '../../server/login/accounts.ts'
import { buildQuestion } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, PASSWORD } from '../kit/browser.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import {
  addCatalogue,
  base,
  type Catalogue,
  type JsonApiApp,
  mediaType,
  startJsonApi,
  toOne,
} from '../kit/json-api/client.ts'
import { countWaiting, holdLock } from '../kit/locks.ts'
import { startFlakyRelay } from '../kit/parts/relay.ts'
import { CIPHERTEXT, createPerson, createRoom, addMember as joinRoom } from '../kit/rooms/messages.ts'
import { createDataFolder, root, startProcess } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const limits = { DATABASE_IDLE_TIMEOUT: '2s', DATABASE_LOCK_TIMEOUT: '30s', APP_KEY }

let svc: JsonApiApp
let catalogue: Catalogue
let settings: Record<string, string>
let stop: () => Promise<void>

beforeAll(async () => {
  await using resources = new AsyncDisposableStack()
  const folder = resources.use(await createDataFolder())
  svc = resources.use(await startJsonApi(limits))
  catalogue = await addCatalogue(svc)
  await svc.host.limits.set({ name: 'ada', for: 'user:ada', cap: 1000, unit: 'requests', per: 'day' } as never)
  settings = { ...limits, DATABASE_URL: String(svc.env.DATABASE_URL), DATA_DIR: folder.path, PORT: '0' }
  settings['ACCOUNTS_FILE'] = resolveAccountsPath(svc.env)
  const kept = resources.move()
  stop = () => kept.disposeAsync()
})
afterAll(() => stop())

/** Suspends a process. */
async function freeze({ child }: ReturnType<typeof startProcess>): Promise<void> {
  child.kill('SIGSTOP')
  await expect.poll(() => readFile(`/proc/${child.pid}/stat`, 'utf8')).toMatch(/^\d+ \(.*\) T /)
}

const request = (method: string, path: string, token: string, body?: object) => (url: string) =>
  fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': path.startsWith(base) ? mediaType : 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  })

const messageTo = (room: string, token: string) =>
  request('POST', `${base}/room-messages`, token, {
    data: { type: 'room-messages', attributes: { content: CIPHERTEXT }, relationships: { room: toOne('rooms', room) } },
  })

type Request = ReturnType<typeof request>

interface Scene {
  /** The lock that the frozen process waits for and then holds. */
  lock: readonly [text: string, values: readonly unknown[]]
  frozen: Request
  other: Request
}

const rowOf = (stream: string) => ['select from change_streams where stream = $1 for update', [stream]] as const

const scenes: [string, () => Promise<Scene>][] = [
  [
    'a room',
    async () => {
      const { id, admin } = await createRoom(svc)
      const lock = ['select from rooms where id = $1 for update', [id]] as const
      return { lock, frozen: messageTo(id, admin.token), other: messageTo(id, admin.token) }
    },
  ],
  [
    'the changes of a room',
    async () => {
      const { id, admin, send } = await createRoom(svc)
      const { one } = await send()
      const mark = request('POST', `${base}/rooms/${id}/actions/mark-read`, admin.token, { upTo: one.id })
      return { lock: rowOf(`room:${id}`), frozen: messageTo(id, admin.token), other: mark }
    },
  ],
  [
    'a person',
    async () => {
      const { id, token } = await createPerson(svc)
      const change = (bio: string) =>
        request('PATCH', `${base}/users/${id}`, token, { data: { type: 'users', id: `${id}`, attributes: { bio } } })
      return { lock: ['select from users where id = $1 for update', [id]], frozen: change('one'), other: change('two') }
    },
  ],
  [
    'the catalogue',
    async () => {
      const id = catalogue.provider.open
      const rename = (name: string) =>
        request('PATCH', `${base}/ai-providers/${id}`, svc.people.admin.token, {
          data: { type: 'ai-providers', id, attributes: { name } },
        })
      return { lock: rowOf('all'), frozen: rename('One'), other: rename('Two') }
    },
  ],
  [
    'the head of the audit log',
    async () => {
      const id = catalogue.provider.inner
      const rename = (name: string) =>
        request('PATCH', `${base}/ai-providers/${id}`, svc.people.admin.token, {
          data: { type: 'ai-providers', id, attributes: { name } },
        })
      await addAccount(svc, 'grace')
      const { id: person } = await createPerson(svc)
      await rename('One')(svc.url)
      const lock = ['select from audit_heads for update', []] as const
      const appoint = request('PATCH', `${base}/users/${person}`, svc.people.admin.token, {
        data: { type: 'users', id: `${person}`, attributes: { role: 'admin' } },
      })
      // A sign-in does not wait; an administrator's action waits for the end of the audit log's chain.
      const other: Request = async (url) => {
        const signedIn = await signInAs('grace')(url)
        return signedIn.ok ? appoint(url) : signedIn
      }
      return { lock, frozen: rename('Two'), other }
    },
  ],
]

/** Signs in from a browser without cookies. */
const signInAs =
  (account: string): Request =>
  (url) =>
    fetch(`${url}/req/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ account, password: PASSWORD }),
    })

describe('a replica that freezes with a lock lets the other one go on:', () => {
  let replica: ReturnType<typeof startProcess>
  let url: string
  beforeAll(async () => {
    replica = startProcess(settings)
    url = await replica.ready()
  })
  afterAll(() => replica[Symbol.asyncDispose]())

  test.for(scenes)('%s', async ([, open]) => {
    const { lock, frozen, other } = await open()
    await using held = await holdLock(svc, ...lock)
    const answer = frozen(url)
    const waiting = await held.waitForWaiter()

    await freeze(replica)
    await held.passTo(waiting)
    const { status } = await other(svc.url)

    replica.kill('SIGCONT')
    const late = await answer
    expect([status, late.status, late.headers.get('retry-after')]).toEqual([expect.toSatisfy(isOk), 503, '5'])
    expect((await other(url)).status).toSatisfy(isOk)
  })

  test('the counter of a limit, by a command', async () => {
    const sendQuestion = request('POST', '/api/ai-req', svc.people.ada.token, buildQuestion('Hello', 'external'))
    expect((await sendQuestion(svc.url)).status).toBe(200)
    await expect.poll(() => svc.rows('select id from usage_holds')).toEqual([])
    await using held = await holdLock(svc, 'select from usage_counters order by id limit 1 for update')
    const argv = [process.execPath, join(root, 'cli/svc.ts'), 'limits', 'top-up', 'ada', '--amount', '10']
    await using command = startProcess(settings, argv)
    const waiting = await held.waitForWaiter()

    await freeze(command)
    await held.passTo(waiting)

    expect((await sendQuestion(svc.url)).status).toBe(200)
    command.kill('SIGCONT')
    expect(await command.ended).not.toBe(0)
  })
})

const isOk = (status: number) => status >= 200 && status < 300

test('a replica that freezes with a row lock does not block the other', async () => {
  const { id, admin } = await createRoom(svc)
  const database = new URL(String(svc.env.DATABASE_URL))
  await using relay = await startFlakyRelay(Number(database.port))
  database.host = new URL(relay.url).host
  await using replica = startProcess({ ...settings, DATABASE_URL: database.href })
  const url = await replica.ready()
  await using held = await holdLock(svc, 'select from rooms where id = $1 for update', [id])
  const answer = messageTo(id, admin.token)(url)
  const waiting = await held.waitForWaiter()

  relay.hang(1)
  await held.passTo(waiting)

  expect((await messageTo(id, admin.token)(svc.url)).status).toBe(201)
  // PostgreSQL ends connections that are silent for half a minute.
  expect((await answer).status).toBe(503)
  expect((await messageTo(id, admin.token)(url)).status).toBe(201)
})

describe('while many wait for one lock', () => {
  test('everybody else is served, and readiness stays', async () => {
    const room = await createRoom(svc)
    const writers = await Promise.all(Array.from({ length: 16 }, () => joinRoom(svc, room.id, 'editor')))
    const [{ token }, elsewhere] = [await createPerson(svc), await createRoom(svc)]
    await using held = await holdLock(svc, 'select from rooms where id = $1 for update', [room.id])
    const writing = writers.map((writer) => messageTo(room.id, writer.token)(svc.url))
    await held.waitForWaiter()

    const others = await Promise.all([
      request('GET', `${base}/rooms`, token)(svc.url),
      messageTo(elsewhere.id, elsewhere.admin.token)(svc.url),
      request('GET', `${base}/rooms/${room.id}/messages`, room.admin.token)(svc.url),
      fetch(`${svc.url}/health/ready`),
    ])

    expect(others.map(({ status }) => status)).toEqual([200, 201, 200, 200])
    await expect.poll(() => countWaiting(svc)).toBe(2)
    await held.release()
    expect((await Promise.all(writing)).map(({ status }) => status)).toEqual(writers.map(() => 201))
  })
})

describe('a service with short limits', () => {
  let short: TestApp
  beforeAll(async () => {
    const own = { DATABASE_POOL: '2', DATABASE_LOCK_TIMEOUT: '2s', DATABASE_IDLE_TIMEOUT: '1s' }
    short = await startApp({ APP_KEY, DATABASE_URL: String(svc.env.DATABASE_URL), ...own })
  })
  afterAll(() => short[Symbol.asyncDispose]())

  test('refuses whoever waits too long with 503 and when to try again', async () => {
    const { id } = await createRoom(svc)
    const writers = await Promise.all([1, 2, 3].map(() => joinRoom(svc, id, 'editor')))
    await using held = await holdLock(svc, 'select from rooms where id = $1 for update', [id])

    const answers = await Promise.all(writers.map(({ token }) => messageTo(id, token)(short.url)))

    for (const answer of answers) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
      expect(await answer.json()).toMatchObject({ errors: [{ code: 'busy' }] })
    }
    await held.release()
  })

  test('is not ready while all of its connections are in use', async () => {
    const rooms = [await createRoom(svc), await createRoom(svc)]
    await using held = await holdLock(
      svc,
      'select from (select count(*) from (select from rooms where id = any($1::int[]) for update) r) c',
      [rooms.map(({ id }) => id)],
    )
    const writing = rooms.map(({ id, admin }) => messageTo(id, admin.token)(short.url))
    await expect.poll(() => countWaiting(svc)).toBe(2)

    const ready = await fetch(`${short.url}/health/ready`)

    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: 'unavailable', message: 'The database does not answer, or all connections are in use.' },
    ])
    await held.release()
    await Promise.all(writing)
    await expect.poll(async () => (await fetch(`${short.url}/health/ready`)).status).toBe(200)
  })
})

import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, buildFirstKeys, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { advanceClock } from '../kit/clock.ts'
import {
  ANY_HANDLE,
  CHROME,
  signInWithAgent as comeAs,
  endOtherSessions,
  endSession,
  FIREFOX,
  GUEST,
  type ListedSession,
  readOwnHandle,
  readSessionList,
  readStandings,
  requestSessions,
  SIGNED_IN,
} from '../kit/identity/sessions.ts'

const MINUTE = 60_000

const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

afterEach(() => void vi.useRealTimers())

const shared = await startApp()
afterAll(() => shared[Symbol.asyncDispose]())

let account: string
let accounts = 0
beforeEach(async () => {
  account = `ada-${++accounts}`
  await addAccount(shared, account)
})

/** Reads when the newest session of the person was used last, as it is stored. */
async function readStoredUse(svc: TestApp): Promise<number> {
  const query = `select (extract(epoch from max(renewed_at)) * 1000)::float8 as at from sessions s join users u on u.id = s.user_id where u.username = $1`
  const [row] = await svc.rows<{ at: number }>(query, [account])
  return row?.at ?? 0
}

const come = (svc: TestApp, userAgent = FIREFOX) => comeAs(svc, userAgent, account)

test('the sessions of a person are listed by time and device, without their secrets', async () => {
  const svc = shared
  const there = await come(svc, CHROME)
  const here = await come(svc, FIREFOX)

  const { status, body, text, headers } = await requestSessions(here)

  const times = { handle: ANY_HANDLE, beganAt: moment, lastUsedAt: moment }
  expect([status, body]).toEqual([
    200,
    {
      result: {
        data: [
          { ...times, browser: 'Firefox', system: 'Linux', isCurrent: true },
          { ...times, browser: 'Chrome', system: 'Windows', isCurrent: false },
        ],
      },
    },
  ])
  expect(headers.get('cache-control')).toBe('no-store')
  const { data } = (await here.send('GET', '/trpc/sessions.current')).body['result'] as {
    data: { csrfToken: string }
  }
  const ids = [here, there].map(({ session }) => session?.split('.', 1)[0] ?? '')
  for (const secret of [...ids, data.csrfToken]) {
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(text).not.toContain(secret)
    expect(svc.log.join()).not.toContain(secret)
  }
  expect((await readSessionList(there)).map(({ isCurrent, system }) => [system, isCurrent])).toEqual([
    ['Linux', false],
    ['Windows', true],
  ])
})

test('the sessions of a person are over as soon as another session ends them', async () => {
  const svc = shared
  const [here, there, elsewhere] = [await come(svc), await come(svc, CHROME), await come(svc)]
  const which = await readOwnHandle(there)

  const { status, body } = await endSession(here, which)

  expect([status, body]).toEqual([200, { result: { data: {} } }])
  expect(await readStandings(here, there, elsewhere)).toEqual([SIGNED_IN, GUEST, SIGNED_IN])
  expect(await readSessionList(here)).toHaveLength(2)
  expect((await endSession(here, which)).status).toBe(404)
})

test("the sessions of a person end at one's request, which continues under another id", async () => {
  const svc = shared
  const [here, there, elsewhere] = [await come(svc), await come(svc), await come(svc)]
  const before = here.copy()
  const beganAt = (await readSessionList(here)).find(({ isCurrent }) => isCurrent)?.beganAt

  const { status, body } = await endOtherSessions(here)

  expect([status, body]).toEqual([200, { result: {} }])
  expect(await readStandings(here, there, elsewhere, before)).toEqual([SIGNED_IN, GUEST, GUEST, GUEST])
  expect(await readSessionList(here)).toEqual([
    { handle: ANY_HANDLE, beganAt, lastUsedAt: moment, browser: 'Firefox', system: 'Linux', isCurrent: true },
  ])
})

test('the sessions of a person are signed out of when they end themselves', async () => {
  const svc = shared
  const [here, there] = [await come(svc), await come(svc)]

  const { status, body, headers } = await endSession(here, await readOwnHandle(here))

  expect([status, body]).toEqual([200, { result: { data: { redirectUri: '/login' } } }])
  expect(headers.get('clear-site-data')).toBe('"cache", "storage"')
  expect(here.session).toBeUndefined()
  expect(await readSessionList(there)).toHaveLength(1)
})

test('the sessions of a person are one through registration, new sign-ins and new keys', async () => {
  const svc = shared
  const { browser } = await signIn(svc, 'newcomer', { known: false })
  const seen: string[] = []

  for (const step of [
    () => browser.send('POST', '/handshake', { body: buildFirstKeys() }),
    () => browser.login('newcomer'),
    async () => {
      await browser.send('POST', '/req/profile/reset')
      return browser.send('POST', '/handshake', { body: buildFirstKeys('second') })
    },
  ]) {
    expect((await step()).status).toBe(200)
    const [{ handle: current, isCurrent }, ...others] = (await readSessionList(browser)) as [ListedSession]
    expect([isCurrent, others]).toEqual([true, []])
    seen.push(current)
  }

  expect(new Set(seen).size).toBe(3)
})

test.for([
  ['signed out', (_: TestApp, there: TestBrowser) => there.send('POST', '/logout')],
  [
    'signed out everywhere',
    (_: TestApp, there: TestBrowser) => there.send('POST', '/trpc/sessions.logoutEverywhere', { body: {} }),
  ],
  ['got another role', (svc: TestApp) => svc.host.admin.setRole({ user: { username: account }, role: 'admin' })],
] as const)('the sessions of a person are not listed once somebody has %s', async ([, leave]) => {
  const svc = shared
  const there = await come(svc, CHROME)

  await leave(svc, there)

  expect(await readSessionList(await come(svc))).toEqual([
    expect.objectContaining({ browser: 'Firefox', isCurrent: true }),
  ])
  expect(await there.standing()).toBe(GUEST)
})

test('the sessions of a person are not listed once their time is over', async () => {
  const svc = shared
  await come(svc, CHROME)

  advanceClock(121 * MINUTE)

  expect(await readSessionList(await come(svc))).toHaveLength(1)
})

test('the sessions of a person stay listed while they are used', async () => {
  const svc = shared
  const here = await come(svc)

  for (let use = 0; use < 3; use++) {
    advanceClock(80 * MINUTE)
    await here.send('GET', '/api/svc/v1/users/me')
    // The use is stored after the response.
    await expect.poll(() => readStoredUse(svc)).toBeGreaterThan(Date.now() - MINUTE)
  }

  expect(await readSessionList(here)).toHaveLength(1)
})

test('the sessions of a person are listed with the last used first', async () => {
  const svc = shared
  const there = await come(svc, CHROME)
  const here = await come(svc, FIREFOX)

  advanceClock(61_000)
  await there.send('GET', '/api/svc/v1/users/me')
  advanceClock(61_000)
  const listed = await readSessionList(await come(svc))

  expect(listed.map(({ browser }) => browser)).toEqual(['Firefox', 'Chrome', 'Firefox'])
  const [, chrome, firefox] = listed
  expect(Date.parse(chrome!.lastUsedAt) - Date.parse(firefox!.lastUsedAt)).toBeGreaterThan(60_000)
  expect(Date.parse(chrome!.lastUsedAt) - Date.parse(chrome!.beganAt)).toBeGreaterThan(60_000)
  expect(await here.standing()).toBe(SIGNED_IN)
})

test('the sessions of a person that begin at the same moment are all listed', async () => {
  const svc = shared
  const browsers = await Promise.all(Array.from({ length: 8 }, () => come(svc)))

  const listed = await readSessionList(browsers[0]!)

  expect(new Set(listed.map(({ handle }) => handle)).size).toBe(8)
})

test('the sessions of a person are deleted and counted when the person is removed', async () => {
  const svc = shared
  await come(svc)
  await come(svc, CHROME)
  const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>('select id from users where username = $1', [account])

  const { report } = await svc.host.admin.removeUser({ user: { username: account } })

  expect(report['sessions']).toEqual({ deleted: 2, kept: 0 })
  expect(await svc.rows('select * from sessions where user_id = $1', [id])).toEqual([])
})

test('the sessions of a person who is registering end when that person is removed', async () => {
  const svc = shared
  const newcomer = `newcomer-${account}`
  const { browser: late } = await signIn(svc, newcomer, { known: false })
  const { browser } = await signIn(svc, newcomer, { known: false })
  await browser.send('POST', '/handshake', { body: buildFirstKeys() })
  const mine = `select * from sessions s where subject->>'username' = $1 or exists (select from users u where u.id = s.user_id and username = $1)`
  expect(await svc.rows(mine, [newcomer])).toHaveLength(2)
  expect(await readStandings(late, browser)).toEqual(['internal_registering_user', SIGNED_IN])

  await svc.host.admin.removeUser({ user: { username: newcomer } })

  expect(await readStandings(late, browser)).toEqual([GUEST, GUEST])
  expect(await svc.rows(mine, [newcomer])).toEqual([])
})

test('the sessions of others are neither seen nor ended', async () => {
  const svc = shared
  const ada = await come(svc)
  const { browser: bob } = await signIn(svc, 'bob')
  const hers = await readOwnHandle(ada)

  const { status, body } = await endSession(bob, hers)
  await endOtherSessions(bob)

  expect((await readSessionList(bob)).map(({ handle }) => handle)).not.toContain(hers)
  expect([status, body]).toMatchObject([404, { error: { message: 'You have no such session.' } }])
  expect(await readStandings(ada, bob)).toEqual([SIGNED_IN, SIGNED_IN])
})

test('the sessions of a person are closed to guests, tokens, registrants and foreign pages', async () => {
  const svc = shared
  const { browser, token } = await signIn(svc, 'bea')
  const { browser: newcomer } = await signIn(svc, 'carol', { known: false })
  const body = { handle: await readOwnHandle(browser) }
  const requests = [
    ['GET', '/trpc/sessions.list', {}],
    ['POST', '/trpc/sessions.end', { body }],
    ['POST', '/trpc/sessions.endOthers', { body: {} }],
  ] as const

  for (const [method, path, sending] of requests) {
    expect((await openBrowser(svc.url).send(method, path, sending)).status, path).toBe(401)
    expect((await svc.send(method, path, { token, ...sending })).status, path).toBe(403)
    expect((await newcomer.send(method, path, sending)).status, path).toBe(403)
    const foreign = await browser.send(method, path, { ...sending, headers: { 'sec-fetch-site': 'cross-site' } })
    expect(foreign.status, path).toBe(method === 'GET' ? 200 : 403)
  }
  expect(await readStandings(browser)).toEqual([SIGNED_IN])
})

test.for([
  ['none', undefined],
  ['a number', 7],
  ['a list', ['x']],
  ['a long text', 'x'.repeat(65)],
])('the sessions of others are not ended by %s', async ([, which]) => {
  const svc = shared

  const { status, body } = await endSession(await come(svc), which)

  expect([status, body]).toMatchObject([400, { error: { data: { issues: [{ path: ['handle'] }] } } }])
})

test.for([['the id itself'], ['a wildcard'], ['nothing']])(
  'the sessions of others are not found by %s',
  async ([what]) => {
    const svc = shared
    const [here, there] = [await come(svc), await come(svc)]
    const given = { 'the id itself': there.session?.split('.', 1)[0], 'a wildcard': '%', nothing: '' }[what!]

    expect((await endSession(here, given)).status).toBe(404)
    expect(await there.standing()).toBe(SIGNED_IN)
  },
)

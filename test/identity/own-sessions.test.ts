import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  deleteExpiredSessions,
  endOldestRegistrations,
  endOldestSessions,
  findSessions,
  listSessions,
} from '../../entities/identity/session.sql.ts'
import type { Statement } from '../../entities/sql/statement.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, firstKeys, openBrowser, PASSWORD, signIn, type TestBrowser } from '../kit/browser.ts'
import { cloneDatabase } from '../kit/database.ts'

interface Listed {
  handle: string
  beganAt: string
  lastUsedAt: string
  browser: string | null
  system: string | null
  isCurrent: boolean
}

const user = 'internal_authenticated'
const guest = 'internal'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36'

const handle = expect.stringMatching(/^[\w-]{43}$/)
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

afterEach(() => void vi.useRealTimers())

/** Moves the clock by which ages are told, and no timer. */
const later = (ms: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })
}

/** Signs in to an account there is. */
async function come(svc: TestApp, userAgent = FIREFOX, account = 'ada') {
  const browser = openBrowser(svc.url)
  const headers = { 'sec-fetch-site': 'same-origin', 'user-agent': userAgent }
  const { status } = await browser.send('POST', '/req/login', { body: { account, password: PASSWORD }, headers })
  expect(status).toBe(200)
  return browser
}

const ask = (browser: TestBrowser) => browser.send('GET', '/req/profile/sessions')

async function list(browser: TestBrowser): Promise<Listed[]> {
  const { status, body } = await ask(browser)
  expect([status, body]).toEqual([200, { success: true, sessions: expect.any(Array) }])
  return body['sessions'] as Listed[]
}

const end = (browser: TestBrowser, which: unknown) =>
  browser.send('POST', '/req/profile/end-session', { body: { handle: which } })

const endOthers = (browser: TestBrowser) => browser.send('POST', '/req/profile/end-other-sessions')

const standings = (...browsers: TestBrowser[]) => Promise.all(browsers.map((browser) => browser.standing()))

/** What a session is called in its own list. */
const handleOf = async (browser: TestBrowser) => (await list(browser)).find(({ isCurrent }) => isCurrent)?.handle ?? ''

async function start(settings: Record<string, string> = {}) {
  const svc = await startApp(settings)
  await addAccount(svc, 'ada')
  return svc
}

describe('the sessions of a person', () => {
  test('are listed by when and with what they are used, and by nothing that opens them', async () => {
    await using svc = await start()
    const there = await come(svc, CHROME)
    const here = await come(svc, FIREFOX)

    const { status, body, text, headers } = await ask(here)

    const times = { handle, beganAt: moment, lastUsedAt: moment }
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        sessions: [
          { ...times, browser: 'Firefox', system: 'Linux', isCurrent: true },
          { ...times, browser: 'Chrome', system: 'Windows', isCurrent: false },
        ],
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
    expect((await list(there)).map(({ isCurrent, system }) => [system, isCurrent])).toEqual([
      ['Linux', false],
      ['Windows', true],
    ])
  })

  test('are over as soon as one of the others ends them', async () => {
    await using svc = await start()
    const [here, there, elsewhere] = [await come(svc), await come(svc, CHROME), await come(svc)]
    const which = await handleOf(there)

    const { status, body } = await end(here, which)

    expect([status, body]).toEqual([200, { success: true }])
    expect(await standings(here, there, elsewhere)).toEqual([user, guest, user])
    expect(await list(here)).toHaveLength(2)
    expect((await end(here, which)).status).toBe(404)
  })

  test('are over all but one when that one ends the others, which goes on under another id', async () => {
    await using svc = await start()
    const [here, there, elsewhere] = [await come(svc), await come(svc), await come(svc)]
    const before = here.copy()
    const beganAt = (await list(here)).find(({ isCurrent }) => isCurrent)?.beganAt

    const { status, body, headers } = await endOthers(here)

    expect([status, body]).toEqual([200, { success: true }])
    expect(headers.get('x-csrf-token')).toMatch(/^[\w-]{43}$/)
    expect(await standings(here, there, elsewhere, before)).toEqual([user, guest, guest, guest])
    expect(await list(here)).toEqual([
      { handle, beganAt, lastUsedAt: moment, browser: 'Firefox', system: 'Linux', isCurrent: true },
    ])
  })

  test('are signed out of when they end themselves', async () => {
    await using svc = await start()
    const [here, there] = [await come(svc), await come(svc)]

    const { status, body, headers } = await end(here, await handleOf(here))

    expect([status, body]).toEqual([200, { success: true, redirectUri: '/login' }])
    expect(headers.get('clear-site-data')).toBe('"cache", "storage"')
    expect(here.session).toBeUndefined()
    expect(await list(there)).toHaveLength(1)
  })

  test('are one while somebody registers, signs in again and makes new keys in one browser', async () => {
    await using svc = await start()
    const { browser } = await signIn(svc, 'newcomer', { known: false })
    const seen: string[] = []

    for (const step of [
      () => browser.send('POST', '/handshake', { body: firstKeys() }),
      () => browser.login('newcomer'),
      async () => {
        await browser.send('POST', '/req/profile/reset')
        return browser.send('POST', '/handshake', { body: firstKeys('second') })
      },
    ]) {
      expect((await step()).status).toBe(200)
      const [{ handle: current, isCurrent }, ...others] = (await list(browser)) as [Listed]
      expect([isCurrent, others]).toEqual([true, []])
      seen.push(current)
    }

    expect(new Set(seen).size).toBe(3)
  })

  test.for([
    ['signed out', (_: TestApp, there: TestBrowser) => there.send('POST', '/logout')],
    ['signed out everywhere', (_: TestApp, there: TestBrowser) => there.send('POST', '/req/profile/logout-everywhere')],
    ['got another role', (svc: TestApp) => svc.host.admin.setRole({ user: { username: 'ada' }, role: 'admin' })],
  ] as const)('are not listed once somebody has %s', async ([, leave]) => {
    await using svc = await start()
    const there = await come(svc, CHROME)

    await leave(svc, there)

    expect(await list(await come(svc))).toEqual([expect.objectContaining({ browser: 'Firefox', isCurrent: true })])
    expect(await there.standing()).toBe(guest)
  })

  test('are not listed once their time is over', async () => {
    await using svc = await start({ SESSION_LIFETIME: '2s' })
    await come(svc, CHROME)

    await pause(2200)

    expect(await list(await come(svc))).toHaveLength(1)
  })

  test('stay listed while they are used', async () => {
    await using svc = await start({ SESSION_LIFETIME: '4s' })
    const here = await come(svc)

    for (let use = 0; use < 5; use++) {
      await pause(1100)
      await here.send('GET', '/api/svc/v1/users/me')
    }

    expect(await list(here)).toHaveLength(1)
  })

  test('are listed with the last used first', async () => {
    await using svc = await start()
    const there = await come(svc, CHROME)
    const here = await come(svc, FIREFOX)

    later(61_000)
    await there.send('GET', '/api/svc/v1/users/me')
    later(61_000)
    const listed = await list(await come(svc))

    expect(listed.map(({ browser }) => browser)).toEqual(['Firefox', 'Chrome', 'Firefox'])
    const [, chrome, firefox] = listed
    expect(Date.parse(chrome!.lastUsedAt) - Date.parse(firefox!.lastUsedAt)).toBeGreaterThan(60_000)
    expect(Date.parse(chrome!.lastUsedAt) - Date.parse(chrome!.beganAt)).toBeGreaterThan(60_000)
    expect(await here.standing()).toBe(user)
  })

  test('are all listed when they begin at the same moment', async () => {
    await using svc = await start()
    const browsers = await Promise.all(Array.from({ length: 8 }, () => come(svc)))

    const listed = await list(browsers[0]!)

    expect(new Set(listed.map(({ handle }) => handle)).size).toBe(8)
  })

  test('leave nothing in the database when the person is removed, whose removal counts them', async () => {
    await using svc = await start()
    await come(svc)
    await come(svc, CHROME)

    const { report } = await svc.host.admin.removeUser({ user: { username: 'ada' } })

    expect(report['sessions']).toEqual({ deleted: 2, kept: 0 })
    expect(await svc.rows('select * from sessions')).toEqual([])
  })

  test('of somebody who is registering are over when that person is removed', async () => {
    await using svc = await start()
    const { browser: late } = await signIn(svc, 'newcomer', { known: false })
    const { browser } = await signIn(svc, 'newcomer', { known: false })
    await browser.send('POST', '/handshake', { body: firstKeys() })
    expect(await standings(late, browser)).toEqual(['internal_registering_user', user])

    await svc.host.admin.removeUser({ user: { username: 'newcomer' } })

    expect(await standings(late, browser)).toEqual([guest, guest])
    expect(await svc.rows('select * from sessions')).toEqual([])
  })
})

/** What browsers call themselves, and by which names their people know them. */
const agents: [name: string, userAgent: string][] = [
  ['Firefox on Linux', FIREFOX],
  ['Firefox on Android', 'Mozilla/5.0 (Android 15; Mobile; rv:142.0) Gecko/142.0 Firefox/142.0'],
  [
    'Firefox on iOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/142.0 Mobile/15E148 Safari/605.1.15',
  ],
  ['Chrome on Windows', CHROME],
  [
    'Chrome on Android',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Mobile Safari/537.36',
  ],
  [
    'Chrome on ChromeOS',
    'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36',
  ],
  [
    'Edge on Windows',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0',
  ],
  [
    'Opera on macOS',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36 OPR/121.0.0.0',
  ],
  [
    'Samsung Internet on Android',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
  ],
  [
    'Safari on macOS',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  ],
  [
    'Safari on iOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  ],
  ['null on null', 'curl/8.14.1'],
  ['null on null', ''],
  ['null on null', '<script>alert(1)</script>'],
  ['null on null', 'x'.repeat(5000)],
]

describe('a browser', () => {
  test('is told by the name that people know, whatever else it calls itself', async () => {
    await using svc = await start()

    for (const [name, userAgent] of agents) {
      const [current] = await list(await come(svc, userAgent))
      expect(`${current?.browser} on ${current?.system}`, userAgent).toBe(name)
    }
  })

  test('is remembered by the beginning of what it calls itself, and by nothing else', async () => {
    await using svc = await start()
    const browser = await come(svc, 'x'.repeat(5000))

    const rows = await svc.rows('select * from sessions where hash = $1', [await handleOf(browser)])

    expect(rows).toEqual([expect.objectContaining({ user_agent: 'x'.repeat(200) })])
    expect(JSON.stringify(rows)).not.toContain('127.0.0.1')
  })
})

describe('the sessions of others', () => {
  test('are neither seen nor ended', async () => {
    await using svc = await start()
    const ada = await come(svc)
    const { browser: bob } = await signIn(svc, 'bob')
    const hers = await handleOf(ada)

    const { status, body } = await end(bob, hers)
    await endOthers(bob)

    expect((await list(bob)).map(({ handle }) => handle)).not.toContain(hers)
    expect([status, body]).toEqual([404, { success: false, message: 'You have no such session.' }])
    expect(await standings(ada, bob)).toEqual([user, user])
  })

  test('and the own ones are nothing for guests, tokens, people who are registering, and pages of others', async () => {
    await using svc = await start()
    const { browser, token } = await signIn(svc, 'bob')
    const { browser: newcomer } = await signIn(svc, 'carol', { known: false })
    const body = { handle: await handleOf(browser) }
    const requests = [
      ['GET', '/req/profile/sessions', {}],
      ['POST', '/req/profile/end-session', { body }],
      ['POST', '/req/profile/end-other-sessions', {}],
    ] as const

    for (const [method, path, sending] of requests) {
      expect((await openBrowser(svc.url).send(method, path, sending)).status, path).toBe(401)
      expect((await svc.send(method, path, { token, ...sending })).status, path).toBe(403)
      expect((await newcomer.send(method, path, sending)).status, path).toBe(403)
      const foreign = await browser.send(method, path, { ...sending, headers: { 'sec-fetch-site': 'cross-site' } })
      expect(foreign.status, path).toBe(method === 'GET' ? 200 : 403)
    }
    expect(await standings(browser)).toEqual([user])
  })

  test.for([
    ['none', undefined],
    ['a number', 7],
    ['a list', ['x']],
    ['a long text', 'x'.repeat(65)],
  ])('are not ended by %s', async ([, which]) => {
    await using svc = await start()

    const { status, body } = await end(await come(svc), which)

    expect([status, body]).toEqual([422, expect.objectContaining({ errors: { handle: [expect.any(String)] } })])
  })

  test.for([['the id itself'], ['a wildcard'], ['nothing']])('are not found by %s', async ([what]) => {
    await using svc = await start()
    const [here, there] = [await come(svc), await come(svc)]
    const given = { 'the id itself': there.session?.split('.', 1)[0], 'a wildcard': '%', nothing: '' }[what!]

    expect((await end(here, given)).status).toBe(404)
    expect(await there.standing()).toBe(user)
  })
})

describe('on two replicas', () => {
  test('sessions are seen from both, and end on both at once', async () => {
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, APP_KEY: 'aVzdCBrZXkgb2YgdGhlIHNlcnZpY2U6IGxvbmcgZW5vdWdo' }
    await using first = await start(settings)
    await using second = await startApp({ ...settings, DATA_DIR: first.folder })
    const here = await come(first, FIREFOX)
    const there = await come(second, CHROME)
    const elsewhere = await come(second, CHROME)
    const acrossOf = (browser: TestBrowser, url: string) => {
      const across = openBrowser(url)
      across.cookies.set('svc_session', browser.session!)
      return across
    }

    expect(await list(here)).toEqual(await list(acrossOf(here, second.url)))
    expect(await list(here)).toHaveLength(3)
    await end(here, await handleOf(there))

    expect(await standings(here, there, acrossOf(there, first.url), elsewhere)).toEqual([user, guest, guest, user])
    await endOthers(here)
    expect(await standings(here, acrossOf(here, second.url), elsewhere, acrossOf(elsewhere, first.url))).toEqual([
      user,
      user,
      guest,
      guest,
    ])
    expect(await list(acrossOf(here, second.url))).toHaveLength(1)
  })
})

describe('the table of sessions', () => {
  const fill = (svc: TestApp, owner: string) =>
    svc.rows(
      `insert into sessions (hash, method, signed_in_at, renewed_at, csrf_token, user_id, subject)
       select 'old ' || n, 'password', now(), now() - n * interval '1 second', '', ${owner} from generate_series(1, 100) n`,
    )
  const oldOnes = async (svc: TestApp) =>
    (await svc.rows<{ hash: string }>(`select hash from sessions where hash like 'old %'`)).map(({ hash }) => hash)

  test.for([
    ['a person', { known: true }, `(select id from users where username = 'ada'), null`],
    ['somebody who is registering', { known: false }, `null, '{"username": "ada"}'`],
  ] as const)(
    'holds at most a hundred of %s: the one not used for longest ends, and nobody else’s',
    async ([, options, owner]) => {
      await using svc = await startApp()
      const { browser: bob } = await signIn(svc, 'bob', options)
      await addAccount(svc, 'ada', options)
      await fill(svc, owner)

      const { browser } = await signIn(svc, 'ada', { known: false })

      const left = await oldOnes(svc)
      expect(left).toHaveLength(99)
      expect(left).not.toContain('old 100')
      expect(await standings(browser, bob)).not.toContain(guest)
    },
  )

  test('expired sessions are deleted from the table although nobody signs in, and the others stay', async () => {
    await using svc = await start({ SESSION_LIFETIME: '1s' })
    await fill(svc, `null, jsonb_build_object('username', n::text)`)
    await svc.rows(`update sessions set renewed_at = now() + interval '1 day' where hash = 'old 7'`)

    await vi.waitFor(async () => expect(await oldOnes(svc)).toEqual(['old 7']), { timeout: 20_000, interval: 100 })
  })

  test('is read by its indexes however much it holds', async () => {
    await using svc = await start()
    await svc.rows(`insert into sessions (hash, method, signed_in_at, renewed_at, csrf_token, subject)
      select 'more ' || n, 'password', now(), now(), '', jsonb_build_object('username', 'u' || n) from generate_series(1, 20000) n`)
    await svc.rows('analyze sessions')
    const client = new pg.Client({ connectionString: svc.env.DATABASE_URL })
    await client.connect()
    await client.query('set plan_cache_mode = force_generic_plan')
    const planOf = async ({ name, text }: Statement<unknown>, values: string) => {
      await client.query(`prepare "${name}" as ${text}`)
      const { rows } = await client.query(`explain execute "${name}" (${values})`)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    }

    const plans = [
      await planOf(findSessions, `'{more 7}'`),
      await planOf(listSessions, '2, now()'),
      await planOf(endOldestSessions, '2, 100'),
      await planOf(endOldestRegistrations, `'u7', 100`),
      await planOf(deleteExpiredSessions, 'now(), 100'),
    ]
    await client.end()

    for (const plan of plans) expect(plan).not.toContain('Seq Scan on sessions')
  })
})

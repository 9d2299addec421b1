import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addAccount, firstKeys, openBrowser, PASSWORD, signIn, type TestBrowser } from '../kit/browser.ts'
import { run } from '../kit/command-line.ts'
import { cloneDatabase } from '../kit/database.ts'
import { watchStatements } from '../kit/statements.ts'
import { whileEnding } from '../kit/while-changing.ts'

const statements = watchStatements()

const user = 'internal_authenticated'
const guest = 'internal'

afterEach(() => void vi.useRealTimers())

/** What cookies are signed with, so replicas share it. */
const APP_KEY = 'aVzdCBrZXkgb2YgdGhlIHNlcnZpY2U6IGxvbmcgZW5vdWdo'

const cookieOf = (headers: Headers) => headers.getSetCookie().find((line) => line.startsWith('svc_session=')) ?? ''

/** Moves the clock by which ages are told, and no timer. */
const later = (ms: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })
}

describe('the cookie of a session', () => {
  test('is out of reach of scripts and other sites, lives for 120 minutes, and is plain only in development', async () => {
    await using svc = await startApp()
    await addAccount(svc, 'ada')

    const { headers } = await openBrowser(svc.url).login('ada')

    expect(cookieOf(headers)).toMatch(
      /^svc_session=[\w-]{43}\.[^;]{43}; Max-Age=7200; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('goes over encrypted connections only where the service is reached by one', async () => {
    await using svc = await startApp({ BASE_URL: 'https://svc.example.org' })
    await addAccount(svc, 'ada')

    const { headers } = await openBrowser(svc.url).login('ada')

    expect(cookieOf(headers)).toMatch(/; Secure;/)
  })

  test('is sent again once a minute, not with every answer', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)
    const ask = async () => cookieOf((await browser.send('GET', '/api/svc/v1/users/me')).headers)

    expect(await ask()).toBe('')
    later(61_000)
    expect(await ask()).toContain(`svc_session=${browser.session}; Max-Age=7200; Path=/`)
    expect(await ask()).toBe('')
  })

  test.for([
    ['nothing', ''],
    ['somebody else', 'A'.repeat(43)],
    ['a path', '../../etc/passwd'],
    ['a long text', 'x'.repeat(6000)],
    ['a member of every object', '__proto__'],
  ])('that names %s makes nobody', async ([, value]) => {
    await using svc = await startApp()

    const browser = openBrowser(svc.url)
    browser.cookies.set('svc_session', value!)

    expect(await browser.standing()).toBe(guest)
  })

  test('whose session has ended is left alone: another answer may have set the next one meanwhile', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)
    const late = browser.copy()
    await browser.login('ada')

    const { headers } = await late.send('GET', '/check-session')

    expect(headers.getSetCookie()).toEqual([])
  })

  test('is neither looked up nor sent where somebody calls with a token alone', async () => {
    await using svc = await startApp()
    const { token } = await svc.user()
    statements.taken()

    const { status, headers } = await svc.send('GET', '/api/svc/v1/users/me', { token })

    expect([status, headers.getSetCookie()]).toEqual([200, []])
    expect(statements.taken().filter(({ text }) => text.includes('sessions'))).toEqual([])
  })
})

describe('the id of a session', () => {
  test('is never one that was there before somebody signed in', async () => {
    await using svc = await startApp()
    const planted = 'planted'.padEnd(43, 'x')
    const victim = openBrowser(svc.url)
    victim.cookies.set('svc_session', planted)
    await addAccount(svc, 'ada')

    await victim.login('ada')

    expect(victim.session).not.toBe(planted)
    const attacker = openBrowser(svc.url)
    attacker.cookies.set('svc_session', planted)
    expect(await attacker.standing()).toBe(guest)
  })

  test('is another one after each login, after registration and after logout, and the old one opens nothing', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc, 'ada', { known: false })
    const steps: [string, () => Promise<unknown>][] = [
      ['login', () => browser.login('ada')],
      ['registration', () => browser.send('POST', '/handshake', { body: firstKeys() })],
      ['login of a user', () => browser.login('ada')],
      ['logout', () => browser.send('POST', '/logout')],
    ]

    for (const [name, step] of steps) {
      const before = browser.copy()
      await step()
      expect(browser.session, name).not.toBe(before.session)
      expect(await before.standing(), name).toBe(guest)
    }
    expect(browser.session).toBeUndefined()
  })

  test('cannot be read in the database', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)
    const [id = '', signature = ''] = browser.session?.split('.') ?? []

    const rows = JSON.stringify(await svc.rows('select * from sessions'))

    expect(rows).toContain('"method":"password"')
    expect(rows).not.toContain(id)
    expect(rows).not.toContain(signature)
  })
})

describe('the time of a session', () => {
  test('runs anew with every use, and out without any', async () => {
    await using svc = await startApp({ SESSION_LIFETIME: '4s' })
    const { browser } = await signIn(svc)

    for (let use = 0; use < 5; use++) {
      await pause(1100)
      expect(await browser.standing()).toBe(user)
    }
    await pause(4500)

    expect(await browser.standing()).toBe(guest)
  })

  test('goes on while somebody only asks how much is left', async () => {
    await using svc = await startApp({ SESSION_LIFETIME: '2s' })
    const { browser } = await signIn(svc)
    const check = async () => (await browser.send('GET', '/check-session')).body

    expect(await check()).toMatchObject({ expired: false, remaining: expect.any(Number) })

    await vi.waitFor(async () => expect(await check()).toEqual({ expired: true }), { timeout: 20_000, interval: 200 })
  })

  test('is told in seconds, and is over for who has none', async () => {
    await using svc = await startApp({ SESSION_LIFETIME: '120' })
    const { browser, token } = await signIn(svc)

    later(30 * 60_000)
    const { body } = await browser.send('GET', '/check-session')

    expect(body).toEqual({ expired: false, remaining: expect.any(Number) })
    expect(body['remaining']).toBeGreaterThan(85 * 60)
    expect(body['remaining']).toBeLessThanOrEqual(90 * 60)
    expect(await (await svc.send('GET', '/check-session')).json()).toEqual({ expired: true })
    expect(await (await svc.send('GET', '/check-session', { token })).json()).toEqual({ expired: true })
  })

  test('costs a request one read, of the session with its person', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)
    statements.taken()

    await browser.send('GET', '/api/svc/v1/users/me')

    const [lookup, ...others] = statements.taken()
    expect(lookup).toMatchObject({ name: 'find-sessions', text: expect.stringMatching(/from sessions .* join users/s) })
    expect(others.map(({ text }) => text)).toEqual([expect.stringContaining('from users')])
  })

  test('does not begin again when the session ends while it is renewed', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)
    const other = browser.copy()
    later(61_000)

    const { headers } = await whileEnding(svc, () => browser.send('GET', '/api/svc/v1/users/me'))

    expect(headers.getSetCookie()).toEqual([])
    expect(await svc.rows('select * from sessions')).toEqual([])
    expect(await other.standing()).toBe(guest)
  })

  test('is over for a session that another one ends while it goes on under another id', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)

    const { status } = await whileEnding(svc, () => browser.send('POST', '/req/profile/end-other-sessions'))

    expect(status).toBe(401)
    expect(await svc.rows('select * from sessions')).toEqual([])
  })

  test('outlasts a restart of the service', async () => {
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, APP_KEY }
    const before = await startApp(settings)
    const { browser } = await signIn(before)
    await before[Symbol.asyncDispose]()

    await using after = await startApp(settings)
    const there = openBrowser(after.url)
    there.cookies.set('svc_session', browser.session!)

    expect(await there.standing()).toBe(user)
  })
})

describe('signing out', () => {
  test('ends the session, tells every listener before it answers, and has the browser forget its keys', async () => {
    await using svc = await startApp()
    const { browser, id } = await signIn(svc)
    const copy = browser.copy()
    const heard: unknown[] = []
    svc.services.hooks.on('user-type-changed', ({ hints: _, ...change }) => void heard.push(change))

    const { status, body, headers } = await browser.send('POST', '/logout')

    expect(heard).toEqual([{ cause: 'logout', from: 'user', to: 'guest', userId: id }])
    expect([status, body]).toEqual([200, { success: true, redirectUri: '/login' }])
    expect(headers.get('clear-site-data')).toBe('"cache", "storage"')
    expect(cookieOf(headers)).toContain('svc_session=; Max-Age=0; Path=/')
    expect(await copy.standing()).toBe(guest)
  })

  test('locks the keychain by a listener: no other answer makes a browser forget', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)

    const answers = [
      await browser.send('GET', '/api/svc/v1/users/me'),
      await browser.login('ada'),
      await openBrowser(svc.url).send('POST', '/logout'),
    ]

    expect(answers.map(({ headers }) => headers.get('clear-site-data'))).toEqual([null, null, null])
  })

  test('sends a form on to the login page', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)

    const { status, headers } = await browser.send('POST', '/logout', {
      headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin' },
      form: {},
    })

    expect([status, headers.get('location')]).toEqual([303, '/login'])
    expect(await browser.standing()).toBe(guest)
  })

  test('takes more than coming to an address', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc)

    await browser.send('GET', '/logout')

    expect(await browser.standing()).toBe(user)
  })

  test('works without a session', async () => {
    await using svc = await startApp()

    const { status, body } = await openBrowser(svc.url).send('POST', '/logout')

    expect([status, body]).toEqual([200, { success: true, redirectUri: '/login' }])
  })

  test('does so everywhere, for this person only', async () => {
    await using svc = await startApp()
    const { browser: here } = await signIn(svc)
    const there = openBrowser(svc.url)
    await there.login('ada')
    const { browser: bob } = await signIn(svc, 'bob')

    const { status, headers } = await here.send('POST', '/req/profile/logout-everywhere')

    expect([status, headers.get('clear-site-data')]).toEqual([200, '"cache", "storage"'])
    expect(await Promise.all([here, there, bob].map((browser) => browser.standing()))).toEqual([guest, guest, user])
    expect((await there.login('ada')).status).toBe(200)
    expect(await there.standing()).toBe(user)
  })

  test('everywhere is not for tokens, guests and people who are registering', async () => {
    await using svc = await startApp()
    const { token } = await svc.user()
    const { browser } = await signIn(svc, 'ada', { known: false })
    const path = '/req/profile/logout-everywhere'

    expect((await svc.send('POST', path, { token })).status).toBe(403)
    expect((await openBrowser(svc.url).send('POST', path)).status).toBe(401)
    expect((await browser.send('POST', path)).status).toBe(403)
  })
})

/** Ways in which all sessions of a person end. */
const ends: [string, (replica: Awaited<ReturnType<typeof startApp>>, id: number, browser: TestBrowser) => unknown][] = [
  ['signing out everywhere', (_, __, browser) => browser.send('POST', '/req/profile/logout-everywhere')],
  ['another role', ({ host }, id) => host.admin.setRole({ user: { id }, role: 'admin' })],
  ['removal', ({ host }, id) => host.admin.removeUser({ user: { id } })],
]

describe('on every replica at once', () => {
  test.for(ends)('all sessions of a person end with %s', async ([, end]) => {
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, APP_KEY }
    await using first = await startApp(settings)
    await using second = await startApp(settings)
    const { browser: here, id } = await signIn(first)
    const there = openBrowser(second.url)
    there.cookies.set('svc_session', here.session!)
    expect(await there.standing()).toBe(user)

    await end(first, id, here.copy())

    expect(await there.standing()).toBe(guest)
    expect(await here.standing()).toBe(guest)
    expect((await there.send('GET', '/api/svc/v1/users/me')).status).toBe(401)
  })

  test('a session ends with its logout', async () => {
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, APP_KEY }
    await using first = await startApp(settings)
    await using second = await startApp(settings)
    const { browser: here } = await signIn(first)
    const there = openBrowser(second.url)
    there.cookies.set('svc_session', here.session!)

    await here.send('POST', '/logout')

    expect(await there.standing()).toBe(guest)
  })
})

describe('from the host and from other sessions', () => {
  test.for([
    ['removes the person', ['remove-user', '--username', 'ada', '--yes']],
    ['gives another role', ['set-role', '--username', 'ada', '--role', 'admin']],
  ] as const)('sessions end when a command on the host %s', async ([, argv]) => {
    await using database = await cloneDatabase()
    await using svc = await startApp({ DATABASE_URL: database.url })
    const { browser } = await signIn(svc)
    const { browser: bob } = await signIn(svc, 'bob')

    const ended = await run([...argv], { env: { DATABASE_URL: database.url, DATA_DIR: svc.folder } })

    expect(ended).toMatchObject({ exitCode: 0 })
    expect(await browser.standing()).toBe(guest)
    expect(await bob.standing()).toBe(user)
  })

  test('sessions stay when the role stays, or something else changes', async () => {
    await using svc = await startApp()
    const { browser, id } = await signIn(svc)

    await svc.host.admin.setRole({ user: { id }, role: 'user' })
    const attributes = { displayName: 'Countess' }
    const { status } = await browser.send('PATCH', `/api/svc/v1/users/${id}`, {
      body: JSON.stringify({ data: { type: 'users', id: String(id), attributes } }),
      headers: { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' },
    })

    expect(status).toBe(200)
    expect(await browser.standing()).toBe(user)
  })

  test('an administrator who gives somebody another role over the wire ends their sessions, not their own', async () => {
    await using svc = await startApp()
    const { browser: ada, id } = await signIn(svc)
    await addAccount(svc, 'root', { known: false })
    await svc.user({ username: 'root', role: 'admin' })
    const root = openBrowser(svc.url)
    await root.login('root', PASSWORD)

    const { status, text } = await root.send('PATCH', `/api/svc/v1/users/${id}`, {
      body: JSON.stringify({ data: { type: 'users', id: String(id), attributes: { role: 'admin' } } }),
      headers: { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' },
    })

    expect([status, text]).toEqual([200, expect.stringContaining('"role":"admin"')])
    expect([await ada.standing(), await root.standing()]).toEqual([guest, user])
  })

  test('an application key that rotates leaves everybody signed in, and one that is lost nobody', async () => {
    const next = APP_KEY.replace('a', 'b')
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url }
    await using before = await startApp({ ...settings, APP_KEY })
    const { browser } = await signIn(before)
    const standingWith = async (keys: Record<string, string>) => {
      await using svc = await startApp({ ...settings, ...keys })
      const there = openBrowser(svc.url)
      there.cookies.set('svc_session', browser.session!)
      return await there.standing()
    }

    expect(await standingWith({ APP_KEY: next, APP_PREVIOUS_KEYS: APP_KEY })).toBe(user)
    expect(await standingWith({ APP_KEY: next })).toBe(guest)
  })
})

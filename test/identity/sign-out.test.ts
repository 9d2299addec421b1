import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, openBrowser, PASSWORD, signIn, type TestBrowser } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { cloneDatabase } from '../kit/database.ts'
import { newName } from '../kit/identity/people.ts'
import { APP_KEY, GUEST, readSessionCookie, SIGNED_IN } from '../kit/identity/sessions.ts'

let svc: TestApp
beforeAll(async () => {
  svc = await startApp()
})
afterAll(() => svc[Symbol.asyncDispose]())

describe('signing out', () => {
  test("signing out ends the session, notifies all listeners, and clears the browser's keys", async () => {
    const { browser, id } = await signIn(svc, newName())
    const copy = browser.copy()
    const events: unknown[] = []
    svc.services.process.hooks.on('user-type-changed', ({ notes: _, ...change }) => void events.push(change))

    const { status, body, headers } = await browser.send('POST', '/logout')

    expect(events).toEqual([{ cause: 'logout', from: 'user', to: 'guest', userId: id }])
    expect([status, body]).toEqual([200, { success: true, redirectUri: '/login' }])
    expect(headers.get('clear-site-data')).toBe('"cache", "storage"')
    expect(readSessionCookie(headers)).toContain('svc_session=; Max-Age=0; Path=/')
    expect(await copy.standing()).toBe(GUEST)
  })

  test('signing out locks the keychain by a listener, as no other answer does', async () => {
    const ada = newName()
    const { browser } = await signIn(svc, ada)

    const answers = [
      await browser.send('GET', '/api/svc/v1/users/me'),
      await browser.login(ada),
      await openBrowser(svc.url).send('POST', '/logout'),
    ]

    expect(answers.map(({ headers }) => headers.get('clear-site-data'))).toEqual([null, null, null])
  })

  test('signing out sends a form on to the login page', async () => {
    const { browser } = await signIn(svc, newName())

    const { status, headers } = await browser.send('POST', '/logout', {
      headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin' },
      form: {},
    })

    expect([status, headers.get('location')]).toEqual([303, '/login'])
    expect(await browser.standing()).toBe(GUEST)
  })

  test('signing out takes more than coming to an address', async () => {
    const { browser } = await signIn(svc, newName())

    await browser.send('GET', '/logout', { headers: { 'sec-fetch-site': 'none' } })

    expect(await browser.standing()).toBe(SIGNED_IN)
  })

  test('signing out takes a link of our own for existing front ends', async () => {
    const { browser } = await signIn(svc, newName())

    const { status, headers } = await browser.send('GET', '/logout', { headers: { 'sec-fetch-site': 'same-origin' } })

    expect([status, headers.get('location')]).toEqual([302, '/login'])
    expect(headers.get('clear-site-data')).toBe('"cache", "storage"')
    expect(await browser.standing()).toBe(GUEST)
  })

  test.for<[string, string, Record<string, string>]>([
    ['a link of another site', '/logout', { 'sec-fetch-site': 'cross-site' }],
    ['a link of a sibling site', '/logout', { 'sec-fetch-site': 'same-site' }],
    ['a picture of our own', '/logout', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'image' }],
    ['a prefetch', '/logout', { 'sec-fetch-site': 'same-origin', 'sec-purpose': 'prefetch' }],
    ['a link of our own pages', '/logout?ask', { 'sec-fetch-site': 'same-origin' }],
  ])('%s signs nobody out', async ([, path, headers]) => {
    const { browser } = await signIn(svc, newName())

    const { status } = await browser.send('GET', path, { headers })

    expect(status).toBe(200)
    expect(await browser.standing()).toBe(SIGNED_IN)
  })

  test('signing out works without a session', async () => {
    const { status, body } = await openBrowser(svc.url).send('POST', '/logout')

    expect([status, body]).toEqual([200, { success: true, redirectUri: '/login' }])
  })

  test('signing out does so everywhere, for this person only', async () => {
    const ada = newName()
    const { browser: here } = await signIn(svc, ada)
    const there = openBrowser(svc.url)
    await there.login(ada)
    const { browser: bob } = await signIn(svc, newName('bob'))

    const { status, headers } = await here.send('POST', '/trpc/sessions.logoutEverywhere', { body: {} })

    expect([status, headers.get('clear-site-data')]).toEqual([200, '"cache", "storage"'])
    expect(await Promise.all([here, there, bob].map((browser) => browser.standing()))).toEqual([
      GUEST,
      GUEST,
      SIGNED_IN,
    ])
    expect((await there.login(ada)).status).toBe(200)
    expect(await there.standing()).toBe(SIGNED_IN)
  })

  test('everywhere is closed to tokens, guests and people who are registering', async () => {
    const { token } = await svc.user()
    const { browser } = await signIn(svc, newName(), { known: false })
    const path = '/trpc/sessions.logoutEverywhere'

    expect((await svc.send('POST', path, { token, body: {} })).status).toBe(403)
    expect((await openBrowser(svc.url).send('POST', path, { body: {} })).status).toBe(401)
    expect((await browser.send('POST', path, { body: {} })).status).toBe(403)
  })
})

/** Ways in which all sessions of a person end. */
const ends: [string, (replica: Awaited<ReturnType<typeof startApp>>, id: number, browser: TestBrowser) => unknown][] = [
  ['signing out everywhere', (_, __, browser) => browser.send('POST', '/trpc/sessions.logoutEverywhere', { body: {} })],
  ['another role', ({ host }, id) => host.admin.setRole({ user: { id }, role: 'admin' })],
  ['removal', ({ host }, id) => host.admin.removeUser({ user: { id } })],
]

describe('on every replica at once', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>
  let first: TestApp
  let second: TestApp
  beforeAll(async () => {
    database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, APP_KEY }
    first = await startApp(settings)
    second = await startApp(settings)
  })
  afterAll(async () => {
    await Promise.all([first, second].map((replica) => replica[Symbol.asyncDispose]()))
    await database[Symbol.asyncDispose]()
  })

  test.for(ends)('all sessions of a person end with %s', async ([, end]) => {
    const { browser: here, id } = await signIn(first, newName())
    const there = openBrowser(second.url)
    there.cookies.set('svc_session', here.session!)
    expect(await there.standing()).toBe(SIGNED_IN)

    await end(first, id, here.copy())

    expect(await there.standing()).toBe(GUEST)
    expect(await here.standing()).toBe(GUEST)
    expect((await there.send('GET', '/api/svc/v1/users/me')).status).toBe(401)
  })

  test('a session ends with its logout', async () => {
    const { browser: here } = await signIn(first, newName())
    const there = openBrowser(second.url)
    there.cookies.set('svc_session', here.session!)

    await here.send('POST', '/logout')

    expect(await there.standing()).toBe(GUEST)
  })
})

describe('from the host and from other sessions', () => {
  test.for([
    ['removes the person', ['remove-user', '--yes']],
    ['gives another role', ['set-role', '--role', 'admin']],
  ] as const)('sessions end when a command on the host %s', async ([, argv]) => {
    const { browser, username } = await signIn(svc, newName())
    const { browser: bob } = await signIn(svc, newName('bob'))

    const env = { DATABASE_URL: svc.env.DATABASE_URL ?? '', DATA_DIR: svc.folder }
    const result = await runCommand([...argv, '--username', username], { env })

    expect(result).toMatchObject({ exitCode: 0 })
    expect(await browser.standing()).toBe(GUEST)
    expect(await bob.standing()).toBe(SIGNED_IN)
  })

  test('sessions stay when the role stays, or something else changes', async () => {
    const { browser, id } = await signIn(svc, newName())

    await svc.host.admin.setRole({ user: { id }, role: 'user' })
    const attributes = { displayName: 'Countess' }
    const { status } = await browser.send('PATCH', `/api/svc/v1/users/${id}`, {
      body: JSON.stringify({ data: { type: 'users', id: String(id), attributes } }),
      headers: { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' },
    })

    expect(status).toBe(200)
    expect(await browser.standing()).toBe(SIGNED_IN)
  })

  test("an administrator who changes another's role ends that person's sessions, not their own", async () => {
    const rootName = newName('root')
    const { browser: ada, id } = await signIn(svc, newName())
    await addAccount(svc, rootName, { known: false })
    await svc.user({ username: rootName, role: 'admin' })
    const root = openBrowser(svc.url)
    await root.login(rootName, PASSWORD)

    const { status, text } = await root.send('PATCH', `/api/svc/v1/users/${id}`, {
      body: JSON.stringify({ data: { type: 'users', id: String(id), attributes: { role: 'admin' } } }),
      headers: { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' },
    })

    expect([status, text]).toEqual([200, expect.stringContaining('"role":"admin"')])
    expect([await ada.standing(), await root.standing()]).toEqual([GUEST, SIGNED_IN])
  })

  test('a rotated application key leaves everybody signed in, and a lost one nobody', async () => {
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

    expect(await standingWith({ APP_KEY: next, APP_PREVIOUS_KEYS: APP_KEY })).toBe(SIGNED_IN)
    expect(await standingWith({ APP_KEY: next })).toBe(GUEST)
  })
})

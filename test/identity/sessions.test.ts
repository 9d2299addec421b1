// @module-tag debian

import { afterEach, expect, test, vi } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addAccount, buildFirstKeys, openBrowser, signIn } from '../kit/browser.ts'
import { advanceClock } from '../kit/clock.ts'
import { cloneDatabase } from '../kit/database.ts'
import { newName } from '../kit/identity/people.ts'
import { APP_KEY, GUEST, readSessionCookie, SIGNED_IN } from '../kit/identity/sessions.ts'
import { whileEndingSessions } from '../kit/locks.ts'
import { openClient } from '../kit/postgres-client.ts'
import { shareResource } from '../kit/share-resource.ts'
import { watchStatements } from '../kit/statements.ts'

const svc = shareResource(startApp)

const MINUTE = 60_000

const statements = watchStatements()

afterEach(() => void vi.useRealTimers())

test('the cookie of a session is HttpOnly, same-site, secure in production, for 120 minutes', async () => {
  const ada = newName()
  await addAccount(svc, ada)

  const { headers } = await openBrowser(svc.url).login(ada)

  expect(readSessionCookie(headers)).toMatch(
    /^svc_session=[\w-]{43}\.[^;]{43}; Max-Age=7200; Path=\/; HttpOnly; SameSite=Lax$/,
  )
  expect(headers.get('cache-control')).toBe('no-store')
})

test('the cookie of a session is secure only where the service uses HTTPS', async () => {
  await using svc = await startApp({ BASE_URL: 'https://svc.localhost' })
  await addAccount(svc, 'ada')

  const { headers } = await openBrowser(svc.url).login('ada')

  expect(readSessionCookie(headers)).toMatch(/; Secure;/)
})

test('the cookie of a session is sent again once a minute at most', async () => {
  const { browser } = await signIn(svc, newName())
  const readNewCookie = async () => readSessionCookie((await browser.send('GET', '/api/svc/v1/users/me')).headers)

  expect(await readNewCookie()).toBe('')
  advanceClock(61_000)
  expect(await readNewCookie()).toContain(`svc_session=${browser.session}; Max-Age=7200; Path=/`)
  expect(await readNewCookie()).toBe('')
})

test.for([
  ['nothing', ''],
  ['somebody else', 'A'.repeat(43)],
  ['a path', '../../etc/passwd'],
  ['a long text', 'x'.repeat(6000)],
  ['a member of every object', '__proto__'],
])('the cookie of a session that names %s signs nobody in', async ([, value]) => {
  const browser = openBrowser(svc.url)
  browser.cookies.set('svc_session', value!)

  expect(await browser.standing()).toBe(GUEST)
})

test('the cookie of a session is not cleared when the session has ended', async () => {
  const ada = newName()
  const { browser } = await signIn(svc, ada)
  const late = browser.copy()
  await browser.login(ada)

  const { headers } = await late.send('GET', '/check-session')

  expect(headers.getSetCookie()).toEqual([])
})

test('the cookie of a session is neither read nor sent for calls by token', async () => {
  const { token } = await svc.user()
  statements.take()

  const { status, headers } = await svc.send('GET', '/api/svc/v1/users/me', { token })

  expect([status, headers.getSetCookie()]).toEqual([200, []])
  expect(statements.take().filter(({ text }) => text.includes('sessions'))).toEqual([])
})

test('the person of a new session is read before the password, and once after', async () => {
  const ada = newName()
  await addAccount(svc, ada)
  statements.take()

  expect((await openBrowser(svc.url).login(ada)).status).toBe(200)

  const names = statements.take().map(({ name = '' }) => name)
  expect(names.filter((name) => name.startsWith('find-known') || name.startsWith('find-sign-in'))).toEqual([
    'find-known-user',
    'find-sign-in-users',
  ])
})

test('the id of a session is never one from before the sign-in', async () => {
  const ada = newName()
  const planted = 'planted'.padEnd(43, 'x')
  const victim = openBrowser(svc.url)
  victim.cookies.set('svc_session', planted)
  await addAccount(svc, ada)

  await victim.login(ada)

  expect(victim.session).not.toBe(planted)
  const attacker = openBrowser(svc.url)
  attacker.cookies.set('svc_session', planted)
  expect(await attacker.standing()).toBe(GUEST)
})

test('the id of a session changes with login, registration and logout, and expires', async () => {
  const ada = newName()
  const { browser } = await signIn(svc, ada, { known: false })
  const steps: [string, () => Promise<unknown>][] = [
    ['login', () => browser.login(ada)],
    ['registration', () => browser.send('POST', '/handshake', { body: buildFirstKeys() })],
    ['login of a user', () => browser.login(ada)],
    ['logout', () => browser.send('POST', '/logout')],
  ]

  for (const [name, step] of steps) {
    const before = browser.copy()
    await step()
    expect(browser.session, name).not.toBe(before.session)
    expect(await before.standing(), name).toBe(GUEST)
  }
  expect(browser.session).toBeUndefined()
})

test('the id of a session cannot be read in the database', async () => {
  const { browser } = await signIn(svc, newName())
  const [id = '', signature = ''] = browser.session?.split('.') ?? []

  const rows = JSON.stringify(await svc.rows('select * from sessions'))

  expect(rows).toContain('"method":"password"')
  expect(rows).not.toContain(id)
  expect(rows).not.toContain(signature)
})

/** Returns when the sessions of a person were renewed. */
async function readRenewals(id: number): Promise<number[]> {
  const rows = await svc.rows<{ at: number }>(
    'select extract(epoch from renewed_at)::float8 * 1000 as at from sessions where user_id = $1',
    [id],
  )
  return rows.map(({ at }) => at)
}

test('the time of a session restarts with every use, and ends without any', async () => {
  const { browser, id } = await signIn(svc, newName())

  for (let use = 0; use < 3; use++) {
    advanceClock(80 * MINUTE)
    expect(await browser.standing()).toBe(SIGNED_IN)
    // The row is written after the answer was sent.
    await expect.poll(() => readRenewals(id)).toEqual([expect.toSatisfy((at: number) => at > Date.now() - MINUTE)])
  }
  advanceClock(121 * MINUTE)

  expect(await browser.standing()).toBe(GUEST)
})

test('the time of a session runs on while somebody only asks for the rest', async () => {
  const { browser } = await signIn(svc, newName())
  const check = async () => (await browser.send('GET', '/check-session')).body

  expect(await check()).toMatchObject({ expired: false, remaining: expect.any(Number) })

  for (const expired of [false, false, true]) {
    advanceClock(50 * MINUTE)
    expect(await check()).toMatchObject({ expired })
  }
})

test('the time of a session is given in seconds, and is over without one', async () => {
  await using svc = await startApp({ SESSION_LIFETIME: '120' })
  const { browser, token } = await signIn(svc)

  advanceClock(30 * MINUTE)
  const { body } = await browser.send('GET', '/check-session')

  expect(body).toEqual({ expired: false, remaining: expect.any(Number) })
  expect(body['remaining']).toBeGreaterThan(85 * 60)
  expect(body['remaining']).toBeLessThanOrEqual(90 * 60)
  expect(await (await svc.send('GET', '/check-session')).json()).toEqual({ expired: true })
  expect(await (await svc.send('GET', '/check-session', { token })).json()).toEqual({ expired: true })
})

test('the time of a session costs a request one read with its person', async () => {
  const { browser } = await signIn(svc, newName())
  statements.take()

  await browser.send('GET', '/api/svc/v1/users/me')

  const [lookup, ...others] = statements.take()
  expect(lookup).toMatchObject({ name: 'find-sessions', text: expect.stringMatching(/from sessions .* join users/s) })
  expect(others.map(({ text }) => text)).toEqual([expect.stringContaining('from users')])
})

test('the time of a session does not restart when it ends during a renewal', async () => {
  const { browser } = await signIn(svc, newName())
  const other = browser.copy()
  advanceClock(61_000)

  await whileEndingSessions(svc, () => browser.send('GET', '/api/svc/v1/users/me'))

  expect(await svc.rows('select * from sessions')).toEqual([])
  expect(await other.standing()).toBe(GUEST)
})

test('the time of a session is renewed after the answer, which does not wait', async () => {
  const { browser, id } = await signIn(svc, newName())
  const renewals = () => readRenewals(id)
  const [before = 0] = await renewals()
  advanceClock(61_000)
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query('select from sessions for update')

  expect((await browser.send('GET', '/api/svc/v1/users/me')).status).toBe(200)
  expect(await renewals()).toEqual([before])
  await client.query('rollback')
  await expect.poll(renewals).toEqual([expect.toSatisfy((at: number) => at >= before + 60_000)])
})

test('the time of a session is over when another ends it during renewal', async () => {
  const { browser } = await signIn(svc, newName())

  const { status } = await whileEndingSessions(svc, () =>
    browser.send('POST', '/trpc/sessions.endOthers', { body: {} }),
  )

  expect(status).toBe(401)
  expect(await svc.rows('select * from sessions')).toEqual([])
})

test('the time of a session outlasts a restart of the service', async () => {
  await using database = await cloneDatabase()
  const settings = { DATABASE_URL: database.url, APP_KEY }
  const before = await startApp(settings)
  const { browser } = await signIn(before)
  await before[Symbol.asyncDispose]()

  await using after = await startApp(settings)
  const there = openBrowser(after.url)
  there.cookies.set('svc_session', browser.session!)

  expect(await there.standing()).toBe(SIGNED_IN)
})

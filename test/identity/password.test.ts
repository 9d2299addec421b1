import { readFile, rm, writeFile } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { readAccounts, resolveAccountsPath } from '../../server/login/accounts.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, openBrowser, PASSWORD, signIn, type TestBrowser } from '../kit/browser.ts'
import { removeEverybody } from '../kit/identity/first-keys.ts'
import { afterPasswordCheck, whileChanging } from '../kit/locks.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)
afterEach(async () => {
  await rm(resolveAccountsPath(svc.env), { force: true })
  await removeEverybody(svc)
})

const NEXT = 'another good password'

const change = (browser: TestBrowser, newPassword = NEXT, currentPassword = PASSWORD) =>
  browser.send('POST', '/trpc/password.change', { body: { currentPassword, newPassword } })

const loginStatus = async (at: TestApp, password: string, account = 'ada') =>
  (await openBrowser(at.url).login(account, password)).status

const isSignedIn = async (browser: TestBrowser) => (await browser.standing()) !== 'internal'

test('a changed password replaces the old one, and only this session goes on', async () => {
  const { browser } = await signIn(svc)
  const other = openBrowser(svc.url)
  await other.login('ada')
  const stolen = browser.copy()

  const { status } = await change(browser)

  expect(status).toBe(200)
  expect(await Promise.all([browser, other, stolen].map(isSignedIn))).toEqual([true, false, false])
  expect([await loginStatus(svc, PASSWORD), await loginStatus(svc, NEXT)]).toEqual([401, 200])
  expect(svc.log.join('')).not.toMatch(new RegExp(`${PASSWORD}|${NEXT}`))
})

test.for([
  ['too short', 'seven77', 400],
  ['too long', 'x'.repeat(1025), 400],
  ['the username', 'long-username', 422],
  ['the e-mail address, in other letters', 'Long-Username@example.org', 422],
  ['the current one', PASSWORD, 422],
] as const)('a new password that is %s is refused and changes nothing', async ([, password, expected]) => {
  const { browser } = await signIn(svc, 'long-username')
  const before = await readFile(resolveAccountsPath(svc.env), 'utf8')

  const { status, body } = await change(browser, password)

  expect([status, body]).toMatchObject([expected, { error: { message: expect.any(String) } }])
  expect(await readFile(resolveAccountsPath(svc.env), 'utf8')).toBe(before)
  expect(await isSignedIn(browser)).toBe(true)
})

test('a wrong current password is refused, and after ten even the right one', async () => {
  const { browser } = await signIn(svc, 'guessed')

  for (let i = 0; i < 10; i++) {
    const { status, body } = await change(browser, NEXT, `wrong ${i}`)
    expect([status, body]).toMatchObject([
      422,
      { error: { message: 'The current password is wrong.', data: { problem: 'wrong_password' } } },
    ])
  }

  const { status, headers } = await change(browser)
  expect(status).toBe(429)
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await loginStatus(svc, PASSWORD, 'guessed')).toBe(200)
})

test('of two concurrent changes exactly one succeeds, and its password is valid', async () => {
  const { browser } = await signIn(svc)

  const answers = await Promise.all(
    ['first good password', 'second good password'].map((next) => change(browser.copy(), next)),
  )

  const [won] = answers.flatMap(({ status }, at) => (status === 200 ? [at] : []))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(await loginStatus(svc, won === 0 ? 'first good password' : 'second good password')).toBe(200)
})

test('a change that waited for another in its session is refused without effect', async () => {
  const { browser } = await signIn(svc)
  const other = `update users set password_changed_at = now() where username = 'ada'`

  const { status } = await whileChanging(svc, other, () => change(browser))

  expect(status).toBe(401)
  expect([await loginStatus(svc, PASSWORD), await loginStatus(svc, NEXT)]).toEqual([200, 401])
})

test('people without a local account are told so, also beforehand', async () => {
  const { browser } = await signIn(svc)
  const state = async () => (await browser.send('GET', '/trpc/password.state')).body
  expect(await state()).toEqual({ result: { data: { canChange: true } } })

  await writeFile(resolveAccountsPath(svc.env), '[]')

  expect(await state()).toEqual({ result: { data: { canChange: false } } })
  expect(await change(browser)).toMatchObject({ status: 404 })
})

test('a broken accounts file answers 503 with the remedy, and is logged', async () => {
  const { browser } = await signIn(svc)
  await writeFile(resolveAccountsPath(svc.env), '[{"username": "ada"}]')

  expect(await change(browser)).toMatchObject({
    status: 503,
    body: { error: { message: expect.stringContaining('administrator') } },
  })

  const login = await openBrowser(svc.url).login('ada')
  expect(login).toMatchObject({ status: 503, body: { error: expect.stringContaining('administrator') } })
  expect(svc.log.join('')).toContain('is not a valid list of accounts')
})

test('a password set on the host ends all sessions, and creates a missing account', async () => {
  const { browser } = await signIn(svc)
  await svc.user({ username: 'bea' })

  await svc.host.password.set({ user: { username: 'ada' }, password: NEXT })
  await svc.host.password.set({ user: { username: 'bea' }, password: NEXT })

  expect(await isSignedIn(browser)).toBe(false)
  expect([await loginStatus(svc, PASSWORD), await loginStatus(svc, NEXT)]).toEqual([401, 200])
  expect((await openBrowser(svc.url).login('bea', NEXT)).status).toBe(200)
})

test('a sign-in under way while the password changes gets no session', async () => {
  await using svc = await startApp()
  await addAccount(svc, 'ada')
  afterPasswordCheck(svc, () => svc.host.password.set({ user: { username: 'ada' }, password: NEXT }))

  expect(await loginStatus(svc, PASSWORD)).toBe(401)
})

test('a session that starts during a change of the password does not survive it', async () => {
  await addAccount(svc, 'ada')
  const change = `update users set password_changed_at = now() where username = 'ada'`

  expect(await whileChanging(svc, change, () => loginStatus(svc, PASSWORD))).toBe(401)

  expect(await svc.rows('select * from sessions')).toEqual([])
  expect(await loginStatus(svc, PASSWORD)).toBe(200)
})

test('people are added with a password and an account, or not at all', async () => {
  await addAccount(svc, 'ada', { known: false })
  const bea = { username: 'bea', email: 'ada@example.org', name: 'Bea' }

  await expect(svc.host.admin.addUser({ ...bea, password: NEXT })).rejects.toThrow(/one e-mail address/)

  expect(await svc.rows('select id from users where id > 1')).toEqual([])
  expect((await readAccounts(resolveAccountsPath(svc.env))).map(({ username }) => username)).toEqual(['ada'])
})

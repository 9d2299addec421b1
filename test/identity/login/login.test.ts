import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startApp, type TestApp } from '../../kit/app.ts'
import { addAccount, buildIdentity, openBrowser, PASSWORD, signIn } from '../../kit/browser.ts'
import { newName } from '../../kit/identity/people.ts'
import { proxyHeaders } from '../../kit/identity/sessions.ts'

let svc: TestApp
let strict: TestApp
beforeAll(async () => {
  svc = await startApp({ LOG_LEVEL: 'trace' })
  strict = await startApp({ LOGIN_ATTEMPTS_PER_ACCOUNT: '2' })
})
afterAll(() => Promise.all([svc, strict].map((one) => one[Symbol.asyncDispose]())))

const failureBody = { success: false, error: 'Wrong username or password.', message: 'Login Failed!' }

const notCredentials = [
  ['no account', { password: 'x' }],
  ['no password', { account: 'ada' }],
  ['an empty account', { account: '', password: 'x' }],
  ['numbers', { account: 1, password: 2 }],
  ['lists', { account: ['ada'], password: ['x'] }],
  ['objects', { account: { $ne: null }, password: { $ne: null } }],
  ['a password that is too long', { account: 'ada', password: 'x'.repeat(1025) }],
  ['an account that is too long', { account: 'a'.repeat(255), password: 'x' }],
  ['a member too many', { account: 'ada', password: PASSWORD, role: 'admin' }],
  ['a list', []],
  ['null', 'null'],
  ['broken JSON', '{"account":'],
  ['nothing', ''],
  ['a prototype', '{"account":"ada","password":"x","__proto__":{"role":"admin"}}'],
  ['a constructor', '{"account":"ada","password":"x","constructor":{"prototype":{"role":"admin"}}}'],
] as const

test.for([
  ['who has keys', '/handshake', 'internal_authenticated', { known: true, keys: true }],
  ['who has no keys yet', '/register', 'internal_registering_user', { known: true, keys: false }],
  ['whom nobody knows yet', '/register', 'internal_registering_user', { known: false, keys: false }],
] as const)('signing in with a password sends on a person %s', async ([, redirectUri, standing, { known, keys }]) => {
  const ada = newName()
  await addAccount(svc, ada, { known, keys })
  const browser = openBrowser(svc.url)

  const { status, body, headers } = await browser.login(ada)

  expect([status, body]).toEqual([200, { success: true, redirectUri }])
  expect(headers.get('cache-control')).toBe('no-store')
  expect(await browser.standing()).toBe(standing)
})

test('a form with a wrong password gets 200, and is throttled like JSON', async () => {
  const ada = newName()
  await addAccount(strict, ada)
  const send = (form: Record<string, string>) => openBrowser(strict.url).send('POST', '/req/login', { form })

  const wrong = await send({ account: ada, password: 'wrong' })
  await send({ account: ada, password: 'wrong' })
  const throttled = await send({ account: ada, password: PASSWORD })

  expect([wrong.status, wrong.body, wrong.headers.get('www-authenticate')]).toEqual([200, failureBody, null])
  expect(throttled.status).toBe(429)
})

test('signing in with a password takes forms too, and accounts in any case', async () => {
  const ada = newName()
  await addAccount(svc, ada)

  const { status, body } = await openBrowser(svc.url).send('POST', '/req/login', {
    form: { account: ` ${ada.toUpperCase()}`, password: PASSWORD },
  })

  expect([status, body]).toEqual([200, { success: true, redirectUri: '/handshake' }])
})

test('signing in with a password shows a person their identity before registration', async () => {
  const ada = newName()
  const { browser } = await signIn(svc, ada, { known: false })

  const { text } = await browser.send('GET', '/api/svc/v1/connections/svc')

  expect(JSON.parse(text).data.attributes.userinfo).toMatchObject({ id: 0, ...buildIdentity(ada) })
})

test('signing in with a password answers unknown accounts and wrong passwords with equal bytes', async () => {
  const ada = newName()
  await addAccount(svc, ada)
  const browser = openBrowser(svc.url)

  const answers = [await browser.login(ada, 'wrong'), await browser.login('nobody', 'wrong')]

  for (const { status, body } of answers) expect([status, body]).toEqual([401, failureBody])
  const seen = answers.map(({ headers }) => [...headers.keys()].sort())
  expect(seen[0]).toEqual(seen[1])
  expect(browser.session).toBeUndefined()
})

test('signing in with a password refuses what is no account and password', async () => {
  await addAccount(svc, 'ada')
  const browser = openBrowser(svc.url)

  for (const [what, body] of notCredentials) {
    const answer = await browser.send('POST', '/req/login', { body })
    expect(answer.status, what).toBe(422)
    expect(answer.body, what).toEqual({ success: false, error: expect.any(String), message: 'Login Failed!' })
  }
  expect(browser.session).toBeUndefined()
  expect(({} as Record<string, unknown>)['role']).toBeUndefined()
})

test('signing in with a password refuses a form with the members of every object', async () => {
  const ada = newName()
  await addAccount(svc, ada)

  const form = { account: ada, password: PASSWORD, ['__proto__']: 'x' }
  const { status } = await openBrowser(svc.url).send('POST', '/req/login', { form })

  expect(status).toBe(422)
})

test('signing in with a password refuses too large bodies and other content types', async () => {
  const browser = openBrowser(svc.url)

  const large = await browser.send('POST', '/req/login', { body: { account: newName(), password: 'x'.repeat(20_000) } })
  const other = await browser.send('POST', '/req/login', { body: '<a/>', headers: { 'content-type': 'text/xml' } })

  expect([large.status, large.body['message']]).toEqual([413, 'Login Failed!'])
  expect([other.status, other.body['message']]).toEqual([415, 'Login Failed!'])
})

test('signing in with a password is throttled by account, and says until when', async () => {
  const ada = newName()
  const bob = newName('bob')
  await addAccount(strict, ada)
  await addAccount(strict, bob)
  const browser = openBrowser(strict.url)

  for (const account of [ada, 'nobody']) {
    for (let tries = 0; tries < 2; tries++) expect((await browser.login(account, 'wrong')).status).toBe(401)
    const { status, headers, body } = await browser.login(account)

    expect(status, account).toBe(429)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(body).toEqual({ success: false, error: expect.stringContaining('Too many'), message: 'Login Failed!' })
  }
  expect(browser.session).toBeUndefined()
  expect((await browser.login(bob)).status).toBe(200)
})

test('signing in with a password counts anew after it worked', async () => {
  const ada = newName()
  await addAccount(strict, ada)
  const browser = openBrowser(strict.url)

  for (let round = 0; round < 3; round++) {
    expect((await browser.login(ada, 'wrong')).status).toBe(401)
    expect((await browser.login(ada)).status).toBe(200)
  }
})

test('signing in with a password is throttled by address, whatever a header says', async () => {
  await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ADDRESS: '3' })
  const browser = openBrowser(svc.url)
  const tryFrom = (account: string, from: string) =>
    browser.send('POST', '/req/login', {
      body: { account, password: 'wrong' },
      headers: { 'x-forwarded-for': from, 'x-real-ip': from },
    })

  const statuses = []
  for (const number of [1, 2, 3, 4]) statuses.push((await tryFrom(`user${number}`, `10.0.0.${number}`)).status)

  expect(statuses).toEqual([401, 401, 401, 429])
})

test('signing in with a password counts only failures for an address', async () => {
  await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ADDRESS: '2' })
  await addAccount(svc, 'ada')

  for (let i = 0; i < 5; i++) expect((await openBrowser(svc.url).login('ada')).status).toBe(200)
  for (let i = 0; i < 2; i++) expect((await openBrowser(svc.url).login('ada', 'wrong')).status).toBe(401)

  expect((await openBrowser(svc.url).login('ada')).status).toBe(429)
})

test("signing in with a password stays open to a known browser despite strangers' failures", async () => {
  await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ACCOUNT: '2', LOGIN_ATTEMPTS_PER_ADDRESS: '4' })
  for (const account of ['ada', 'bob']) await addAccount(svc, account)
  const browser = openBrowser(svc.url)
  await browser.login('ada')
  await browser.send('POST', '/logout')
  for (let i = 0; i < 6; i++) await openBrowser(svc.url).login('ada', 'wrong')
  expect((await openBrowser(svc.url).login('ada')).status).toBe(429)

  expect((await browser.login('ada')).status).toBe(200)
  expect((await browser.login('bob')).status).toBe(429)
})

test('signing in with a password locks only the known browser that fails too often', async () => {
  const ada = newName()
  await addAccount(strict, ada)
  const browser = openBrowser(strict.url)
  await browser.login(ada)

  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await browser.login(ada, 'wrong')).status)

  expect(statuses).toEqual([401, 401, 429])
  expect((await browser.login(ada)).status).toBe(429)
  expect((await openBrowser(strict.url).login(ada)).status).toBe(200)
})

test('signing in with a password marks a known browser by a sealed HttpOnly cookie', async () => {
  const ada = newName()
  await addAccount(strict, ada)
  const browser = openBrowser(strict.url)
  const { headers } = await browser.login(ada)
  const cookie = headers.getSetCookie().find((line) => line.startsWith('svc_known=')) ?? ''
  expect(cookie).toMatch(/^svc_known=v1\.[\w.-]+; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/)
  expect(cookie.length).toBeLessThan(400)
  const sealed = browser.cookies.get('svc_known') ?? ''
  for (let i = 0; i < 2; i++) await openBrowser(strict.url).login(ada, 'wrong')

  const changed = `${sealed.slice(0, 40)}${sealed[40] === 'x' ? 'y' : 'x'}${sealed.slice(41)}`

  for (const forged of [changed, sealed.slice(0, -3), 'v1.x.y.z', ada]) {
    const stranger = openBrowser(strict.url)
    stranger.cookies.set('svc_known', forged)
    expect((await stranger.login(ada)).status, forged).toBe(429)
  }
  expect((await browser.login(ada)).status).toBe(200)
})

test('signing in with a password forgets a known browser when its time is over', async () => {
  const ada = newName()
  await addAccount(strict, ada)
  const browser = openBrowser(strict.url)
  const ninetyDaysAgo = Date.now() - 91 * 86_400_000
  vi.useFakeTimers({ toFake: ['Date'], now: ninetyDaysAgo })
  await browser.login(ada).finally(() => vi.useRealTimers())
  for (let i = 0; i < 2; i++) await openBrowser(strict.url).login(ada, 'wrong')

  expect((await browser.login(ada)).status).toBe(429)
})

test('signing in with a password lets nobody in as the AI user', async () => {
  await addAccount(svc, 'svc', { known: false })
  const browser = openBrowser(svc.url)

  const { status, body } = await browser.login('svc')

  expect([status, body]).toEqual([401, failureBody])
  expect(await browser.standing()).toBe('internal')
})

test('signing in with a password writes no account and no password into the log', async () => {
  const ada = newName()
  await addAccount(svc, ada)
  const browser = openBrowser(svc.url)

  await browser.login('hunter-account', 'hunter-password')
  await browser.login(ada)

  const log = svc.log.join('')
  expect(log).toContain('a login was refused')
  expect(log).toContain('signed in')
  for (const secret of ['hunter', PASSWORD, browser.session!, `${ada}@`])
    expect(log.includes(secret), secret).toBe(false)
})

test('signing in with a password is not there where people sign in elsewhere only', async () => {
  await using svc = await startApp({
    AUTHENTICATION_METHOD: 'proxy',
    PROXY_ADDRESSES: '10.9.9.9',
    ...proxyHeaders,
  })

  expect((await openBrowser(svc.url).login('ada')).status).toBe(404)
})

const wishes = [
  ['/settings', '/settings'],
  ['/settings?tab=tokens#top', '/settings?tab=tokens#top'],
  ['https://evil.example/', undefined],
  ['//evil.example/', undefined],
  ['/\\evil.example/', undefined],
  ['\\\\evil.example', undefined],
  ['/\t/evil.example', undefined],
  ['/..//evil.example', undefined],
  ['/./\\evil.example', undefined],
  ['javascript:alert(1)', undefined],
  ['evil.example', undefined],
  ['/settings\r\nset-cookie: a=b', undefined],
  [`/${'x'.repeat(2048)}`, undefined],
  ['', undefined],
] as const

test('the address to return to after a login is our own, or dropped', async () => {
  const ada = newName()
  await addAccount(svc, ada)
  const browser = openBrowser(svc.url)

  for (const [redirectUri, kept] of wishes) {
    const { body } = await browser.send('POST', '/req/login', {
      body: { account: ada, password: PASSWORD, redirectUri },
    })
    const expected = kept === undefined ? '/handshake' : `/handshake?redirectUri=${encodeURIComponent(kept)}`
    expect(body, redirectUri).toEqual({ success: true, redirectUri: expected })
  }
})

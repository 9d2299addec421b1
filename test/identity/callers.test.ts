import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../routers/core/caller.ts'
import { createContext } from '../../routers/core/context.ts'
import { createCaller } from '../../routers/index.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, buildFirstKeys, openBrowser, PASSWORD, signIn, type TestBrowser } from '../kit/browser.ts'
import { newName } from '../kit/identity/people.ts'

let svc: TestApp
let atHttps: TestApp
beforeAll(async () => {
  svc = await startApp()
  atHttps = await startApp({ BASE_URL })
})
afterAll(() => Promise.all([svc, atHttps].map((one) => one[Symbol.asyncDispose]())))

const BASE_URL = 'https://svc.localhost'
const jsonApi = { 'content-type': 'application/vnd.api+json' }

/** A change on each surface, and the member of its refusal that names the problem. */
const surfaces = {
  tRPC: {
    path: () => ['POST', '/trpc/tokens.create'],
    body: () => ({ name: 'laptop' }),
    type: {},
    problem: (body: unknown) => (body as { error: { data: { problem: string } } }).error.data.problem,
  },
  'JSON:API': {
    path: (id: number) => ['PATCH', `/api/svc/v1/users/${id}`],
    body: (id: number) => ({ data: { type: 'users', id: String(id), attributes: { bio: 'Changed' } } }),
    type: jsonApi,
    problem: (body: unknown) => (body as { errors: { code: string }[] }).errors[0]?.code,
  },
  'a web route': {
    path: () => ['POST', '/req/profile/create-token'],
    body: () => ({ name: 'laptop' }),
    type: {},
    problem: (body: unknown) =>
      (body as { message: string }).message === 'The request does not come from a page of this service.' ? 'csrf' : '',
  },
} as const

const change = (browser: TestBrowser, id: number, name: keyof typeof surfaces, headers: Record<string, string>) => {
  const { path, body, type } = surfaces[name]
  const [method = '', address = ''] = path(id)
  return browser.send(method, address, { body: body(id), headers: { ...type, ...headers } })
}

/** Headers that tell a request's origin, and if a session may make a change with them. */
const origins: [string, Record<string, string>, boolean][] = [
  ['nothing at all', {}, false],
  ['the same origin', { 'sec-fetch-site': 'same-origin' }, true],
  ['the same site', { 'sec-fetch-site': 'same-site' }, false],
  ['another site', { 'sec-fetch-site': 'cross-site' }, false],
  ['no site', { 'sec-fetch-site': 'none' }, false],
  ['the origin of the base URL', { origin: BASE_URL }, true],
  ['another origin', { origin: 'https://evil.example' }, false],
  ['an origin that begins alike', { origin: `${BASE_URL}.evil.example` }, false],
  ['our origin without encryption', { origin: 'http://svc.localhost' }, false],
  ['no origin of its own', { origin: 'null' }, false],
  ['our page as the referrer only', { referer: `${BASE_URL}/profile` }, false],
  ['an empty token', { 'x-csrf-token': '' }, false],
  ['a wrong token', { 'x-csrf-token': 'A'.repeat(43) }, false],
  ['the name of a member', { 'x-csrf-token': '__proto__' }, false],
]

describe.for(Object.keys(surfaces) as (keyof typeof surfaces)[])('a session that changes something by %s', (name) => {
  test('must come from a page of ours', async () => {
    const ada = newName()
    const { browser, id } = await signIn(atHttps, ada)

    for (const [from, headers, isEnough] of origins) {
      await browser.login(ada)
      const { status, body } = await change(browser, id, name, headers)
      expect(status, from).toBe(isEnough ? 200 : 403)
      if (!isEnough) expect(surfaces[name].problem(body), from).toBe('csrf')
    }
  })

  test('may prove it by the token of this very session', async () => {
    const ada = newName()
    const { browser, id } = await signIn(atHttps, ada)
    const tokenOf = async () => (await browser.login(ada)).headers.get('x-csrf-token') ?? ''
    const [earlier, token] = [await tokenOf(), await tokenOf()]
    const { headers } = await openBrowser(atHttps.url).login(ada)

    for (const other of [earlier, headers.get('x-csrf-token') ?? ''])
      expect((await change(browser, id, name, { 'x-csrf-token': other })).status).toBe(403)
    const session = await browser.send('GET', '/trpc/sessions.current')
    expect(session.body).toMatchObject({ result: { data: { expired: false, csrfToken: token } } })
    expect((await change(browser, id, name, { 'x-csrf-token': token })).status).toBe(200)
  })
})

test('a cross-origin request may read by session or change by token, not sign in', async () => {
  const ada = newName()
  const { browser } = await signIn(atHttps, ada)
  const bob = await atHttps.user({ abilities: ['write', 'read'] })
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }

  expect((await browser.send('GET', '/api/svc/v1/users/me', { headers })).status).toBe(200)
  const body = { data: { type: 'users', id: String(bob.id), attributes: { bio: 'Changed' } } }
  const options = { token: bob.token, body, headers: { ...headers, ...jsonApi } }
  expect((await atHttps.send('PATCH', `/api/svc/v1/users/${bob.id}`, options)).status).toBe(200)
  const stranger = openBrowser(atHttps.url)
  const credentials = { account: ada, password: PASSWORD }
  expect((await stranger.send('POST', '/req/login', { body: credentials, headers })).status).toBe(403)
  expect(stranger.session).toBeUndefined()
  // A program sends no header about its origin.
  expect((await stranger.send('POST', '/req/login', { body: credentials, headers: {} })).status).toBe(200)
})

/** The caller of a request that has both the session of Ada and the token of Bob. */
const both: [string, Record<string, string>, 'ada' | 'bob'][] = [
  ['the same origin', { 'sec-fetch-site': 'same-origin' }, 'ada'],
  ['the origin of the base URL', { origin: BASE_URL }, 'ada'],
  ['nothing', {}, 'bob'],
  ['the same site', { 'sec-fetch-site': 'same-site' }, 'bob'],
  ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 'bob'],
]

test('a request with session and token uses the session only from our own pages', async () => {
  const names = { ada: newName(), bob: newName('bob') }
  const { browser } = await signIn(atHttps, names.ada)
  const { token } = await atHttps.user({ username: names.bob })

  for (const [from, headers, expected] of both) {
    const answer = await browser.send('GET', '/api/svc/v1/users/me', {
      headers: { ...headers, authorization: `Bearer ${token}` },
    })
    expect(answer.text, from).toContain(`"username":"${names[expected]}"`)
  }
})

test('a request with session and token uses the token where the session is unusable', async () => {
  const ada = newName()
  const bob = newName('bob')
  const { browser } = await signIn(atHttps, ada)
  const csrf = (await browser.login(ada)).headers.get('x-csrf-token') ?? ''
  const { token } = await atHttps.user({ username: bob })
  const me = (headers: Record<string, string>) =>
    browser.send('GET', '/api/svc/v1/users/me', { headers: { ...headers, authorization: `Bearer ${token}` } })

  expect((await me({ 'x-csrf-token': csrf })).text).toContain(`"username":"${bob}"`)
  await browser.copy().send('POST', '/logout')
  expect((await me({ 'sec-fetch-site': 'same-origin' })).text).toContain(`"username":"${bob}"`)
})

test('the switch of tokens refuses a request with session and token only by token', async () => {
  await using svc = await startApp({ BASE_URL, ALLOW_EXTERNAL_COMMUNICATION: 'false' })
  const { browser, token } = await signIn(svc)
  const statuses = []
  for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'cross-site' }])
    statuses.push(
      (
        await browser.send('GET', '/api/svc/v1/users/me', {
          headers: { ...headers, authorization: `Bearer ${token}` } as Record<string, string>,
        })
      ).status,
    )

  expect(statuses).toEqual([200, 403])
})

test('a request with session and token needs the token where only tokens are allowed', async () => {
  const { browser } = await signIn(svc, newName())

  expect((await browser.send('GET', '/api/user')).status).toBe(401)
  expect((await browser.send('POST', '/api/ai-req', { body: {} })).status).toBe(401)
})

describe('the contexts of a request', () => {
  test("the contexts of a request are its credential's: main for sessions, external for tokens", async () => {
    const { browser, token } = await signIn(svc, newName())
    const { browser: newcomer } = await signIn(svc, newName('bob'), { known: false })
    const external = (text: string) => text.includes('"externalAccess"')
    const connection = '/api/svc/v1/connections/svc'

    expect(await browser.standing()).toBe('internal_authenticated')
    expect(await newcomer.standing()).toBe('internal_registering_user')
    expect(await openBrowser(svc.url).standing()).toBe('internal')
    expect((await svc.send('GET', connection, { token })).status).toBe(404)
    expect(external((await browser.send('GET', '/api/svc/v1/configs')).text)).toBe(false)
    expect(external(await (await svc.send('GET', '/api/svc/v1/configs', { token })).text())).toBe(true)
  })

  test('the contexts of a request during registration open salts and no user data', async () => {
    const { browser } = await signIn(svc, newName(), { known: false })

    const { text } = await browser.send('GET', '/api/svc/v1/connections/svc')
    const { attributes } = JSON.parse(text).data

    expect(Object.keys(attributes.salts).sort()).toEqual(['backup', 'passkey', 'userdata'])
    expect(attributes).not.toHaveProperty('websocket')
    expect((await browser.send('GET', '/api/svc/v1/users/me')).status).toBe(403)
    expect((await browser.send('GET', '/api/svc/v1/user-keychain-values')).status).toBe(403)
  })

  test('the contexts of a request change at once with sign-in, sign-out, registration and tokens', async () => {
    const ada = newName()
    const bobName = newName('bob')
    const { id, token } = await addAccount(svc, ada)
    const { id: bob } = await addAccount(svc, bobName, { keys: false })
    const events: unknown[] = []
    svc.services.process.hooks.on('user-type-changed', ({ notes: _, ...change }) => void events.push(change))
    const during = async (act: () => Promise<unknown>) => {
      events.length = 0
      await act()
      return [...events]
    }
    const browser = openBrowser(svc.url)

    const login = { cause: 'login', from: 'guest', to: 'user', userId: id }
    expect(await during(() => browser.login(ada))).toEqual([login])
    expect(await during(() => browser.login(ada))).toEqual([])
    expect(await during(() => browser.send('POST', '/logout'))).toEqual([
      { cause: 'logout', from: 'user', to: 'guest', userId: id },
    ])
    expect(await during(() => browser.send('POST', '/logout'))).toEqual([])
    expect(await during(() => browser.login(ada, 'wrong'))).toEqual([])
    expect(await during(() => browser.login(bobName))).toEqual([{ cause: 'login', from: 'guest', to: 'registering' }])
    expect(await during(() => browser.send('POST', '/handshake', { body: buildFirstKeys() }))).toEqual([
      { cause: 'registration', from: 'registering', to: 'user', userId: bob },
    ])
    expect(await during(() => browser.send('POST', '/req/profile/reset'))).toEqual([
      { cause: 'key-reset', from: 'user', to: 'registering', userId: bob },
    ])
    expect(await during(() => svc.send('GET', '/api/user', { token }))).toEqual([{ ...login, cause: 'bearer-token' }])
    expect(await during(() => svc.send('GET', '/api/user', { token: 'wrong' }))).toEqual([])
  })

  test('the contexts of a request do not change while a session continues or expires', async () => {
    const { browser } = await signIn(svc, newName())
    const { browser: newcomer } = await signIn(svc, newName('bob'), { known: false })
    const events: unknown[] = []
    svc.services.process.hooks.on('user-type-changed', (change) => void events.push(change))

    for (const one of [browser, newcomer, openBrowser(svc.url)]) {
      for (const path of ['/api/svc/v1/users/me', '/trpc/sessions.current', '/check-session', '/settings'])
        await one.send('GET', path)
    }
    await svc.rows(`update sessions set renewed_at = now() - interval '1 day'`)
    expect(await browser.standing()).toBe('internal')

    expect(events).toEqual([])
  })
})

test('an outage of the session store stops only callers who have a session', async () => {
  await using svc = await startApp()
  const { browser, token } = await signIn(svc)
  await svc.rows('alter table sessions rename to away')

  expect((await browser.send('GET', '/api/svc/v1/users/me')).status).toBe(503)
  expect((await svc.send('GET', '/api/svc/v1/users/me', { token })).status).toBe(200)
  expect(await openBrowser(svc.url).standing()).toBe('internal')
})

test('a procedure acts for its first caller although its batch signs another person in', async () => {
  const [ada, ben] = [await svc.user(), await svc.user()]
  const asPerson = ({ id, username }: { id: number; username: string }) => {
    const person: Person = { id, username, name: username, email: `${username}@example.org`, role: 'user', groups: [] }
    return { type: 'user', person } as const
  }
  const ctx = createContext(svc.services, { requestId: 'one', caller: asPerson(ada) })
  const api = createCaller(ctx)
  const name = async () => (await api.users.me()).username

  expect(await name()).toBe(ada.username)
  ctx.callerContext.setCaller(asPerson(ben), 'login')
  expect(await name()).toBe(ben.username)
  ctx.callerContext.setCaller({ type: 'guest' }, 'logout')
  await expect(name()).rejects.toThrow()
  expect(ctx.caller).toMatchObject({ person: { username: ada.username } })
})

import { afterEach, describe, expect, inject, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { cloneDatabase } from '../kit/database.ts'
import { removeEverybody } from '../kit/identity/first-keys.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)
afterEach(() => removeEverybody(svc))

const create = (browser: TestBrowser, body: object = { name: 'laptop' }) =>
  browser.send('POST', '/req/profile/create-token', { body })
const list = (browser: TestBrowser) => browser.send('GET', '/req/profile/fetch-tokens')
const revoke = (browser: TestBrowser, tokenId: unknown) =>
  browser.send('POST', '/req/profile/revoke-token', { body: { tokenId } })
const tokensOf = (svc: TestApp) => svc.rows('select id, name from access_tokens order by id')

/** Signs a person in and deletes the token that tests usually get. */
async function withoutToken(svc: TestApp, username = 'ada') {
  const signedIn = await signIn(svc, username)
  await svc.rows(`delete from access_tokens where user_id = ${signedIn.id}`)
  return signedIn
}

const wrongNames = [
  ['no name', {}],
  ['an empty name', { name: '' }],
  ['blanks', { name: '   ' }],
  ['17 characters', { name: 'x'.repeat(17) }],
  ['a number', { name: 7 }],
  ['a list', { name: ['laptop'] }],
  ['an object', { name: { toString: 'laptop' } }],
] as const

const wrongNumbers = [
  ['no number', undefined],
  ['a word', 'laptop'],
  ['a fraction', 1.5],
  ['nought', 0],
  ['a negative number', -1],
  ['a number that is too large', 1e12],
  ['null', null],
  ['a list of names', ['a', 'b']],
] as const

describe('the tokens of a person', () => {
  test('the tokens of a person are created in the browser, shown once, and work', async () => {
    const { browser } = await withoutToken(svc)

    const made = await create(browser, { name: ' laptop ' })

    const { token, id } = made.body as { token: string; id: number }
    expect([made.status, made.body]).toEqual([
      200,
      { success: true, id: expect.any(Number), name: 'laptop', token: expect.stringMatching(/^svc_\d+_\w{46}$/) },
    ])
    expect(made.headers.get('cache-control')).toBe('no-store')
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
    const listed = await list(browser)
    expect(listed.body).toEqual({
      success: true,
      tokens: [
        {
          id,
          name: 'laptop',
          abilities: ['ai', 'user', 'read'],
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          lastUsedAt: null,
          expiresAt: null,
        },
      ],
    })
    expect(listed.text).not.toContain(token.slice(-46))
  })

  test('end when they are revoked', async () => {
    const { browser } = await withoutToken(svc)
    const { token, id } = (await create(browser)).body as { token: string; id: number }

    const { status, body } = await revoke(browser, id)

    expect([status, body]).toEqual([200, { success: true, message: 'Token revoked successfully.' }])
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(401)
    expect((await list(browser)).body).toEqual({ success: true, tokens: [] })
    expect((await revoke(browser, id)).status).toBe(404)
  })

  test('the tokens of a person can be revoked by a number sent as text', async () => {
    const { browser } = await withoutToken(svc)
    const { id } = (await create(browser)).body

    expect((await revoke(browser, String(id))).status).toBe(200)
  })

  test('the tokens of a person are out of reach of everybody else', async () => {
    const { browser: ada } = await withoutToken(svc)
    const { browser: bob } = await withoutToken(svc, 'bob')
    const { token, id } = (await create(ada)).body as { token: string; id: number }

    expect((await list(bob)).body).toEqual({ success: true, tokens: [] })
    const { status, body } = await revoke(bob, id)
    expect([status, body]).toEqual([404, { success: false, message: expect.stringContaining(String(id)) }])
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
  })

  test('the tokens of a person need a name, neither empty nor too long', async () => {
    const { browser } = await withoutToken(svc)

    for (const [what, given] of wrongNames) {
      const { status, body } = await create(browser, given)
      const errors = { name: [expect.stringMatching(/^The name field /)] }
      expect([status, body], what).toEqual([422, { success: false, message: expect.any(String), errors }])
    }
    expect(await tokensOf(svc)).toEqual([])
  })

  test('the tokens of a person are made with names of 1 and 16 characters', async () => {
    const { browser } = await withoutToken(svc)

    expect((await create(browser, { name: 'x' })).status).toBe(200)
    expect((await create(browser, { name: 'ü'.repeat(16) })).status).toBe(200)
  })

  test('the tokens of a person cannot expire beyond the calendar of the database', async () => {
    const { browser } = await withoutToken(svc)

    const { status } = await create(browser, { name: 'laptop', expiresAt: '+275760-09-13T00:00:00Z' })
    expect(status).toBe(422)
    expect(await tokensOf(svc)).toEqual([])
  })

  test('the tokens of a person may call tools where the person wants that', async () => {
    const { browser } = await withoutToken(svc)
    const abilitiesOf = async (tools: boolean) => {
      const { body } = await browser.send('POST', '/trpc/tokens.create', { body: { name: 'laptop', tools } })
      return (body as { result: { data: { abilities: string[] } } }).result.data.abilities
    }

    expect(await abilitiesOf(true)).toEqual(['ai', 'user', 'read', 'mcp'])
    expect(await abilitiesOf(false)).toEqual(['ai', 'user', 'read'])
    const { status } = await create(browser, { name: 'laptop', tools: 'sometimes' })
    expect(status).toBe(422)
  })

  test('get no other abilities than usual', async () => {
    const { browser } = await withoutToken(svc)

    const body = { name: 'laptop', abilities: ['keychain'], expiresAt: '2999-01-01T00:00:00Z' }

    expect((await browser.send('POST', '/req/profile/create-token', { body })).status).toBe(422)
    expect(await tokensOf(svc)).toEqual([])
  })

  test('the tokens of a person are not revoked by an invalid number', async () => {
    const { browser } = await withoutToken(svc)
    await create(browser)

    for (const [what, tokenId] of wrongNumbers) {
      const { status, body } = await revoke(browser, tokenId)
      expect([status, body], what).toEqual([
        422,
        expect.objectContaining({ success: false, errors: expect.any(Object) }),
      ])
    }
    expect(await tokensOf(svc)).toHaveLength(1)
  })

  test('the tokens of a person are closed to guests, tokens, registrants and foreign pages', async () => {
    const { browser, token } = await signIn(svc)
    const { browser: newcomer } = await signIn(svc, 'bob', { known: false })
    const requests = [
      ['POST', '/req/profile/create-token', { name: 'x' }],
      ['GET', '/req/profile/fetch-tokens', undefined],
      ['POST', '/req/profile/revoke-token', { tokenId: 1 }],
    ] as const

    for (const [method, path, body] of requests) {
      expect((await openBrowser(svc.url).send(method, path, { body })).status, path).toBe(401)
      expect((await svc.send(method, path, { token, body })).status, path).toBe(403)
      expect((await newcomer.send(method, path, { body })).status, path).toBe(403)
      const foreign = await browser.send(method, path, { body, headers: { 'sec-fetch-site': 'cross-site' } })
      expect(foreign.status, path).toBe(method === 'GET' ? 200 : 403)
    }
    expect(await tokensOf(svc)).toHaveLength(1)
  })

  test('the tokens of a person are only for administrators where the setting says so', async () => {
    await using svc = await startApp({ ALLOW_USER_TOKEN_CREATION: 'false' })
    const { browser, token } = await signIn(svc)

    for (const { status, body } of [await create(browser), await list(browser), await revoke(browser, 1)]) {
      expect(status).toBe(403)
      expect(body).toEqual({ success: false, message: expect.stringContaining('contact your administrator') })
    }
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
  })
})

const redisUrl = inject('redisUrl')

/** One path of each surface that accepts tokens. */
const surfaces = ['/api/user', '/api/svc/v1/users/me', '/trpc/users.me']

describeWith('redis')('on another replica', () => {
  test.for([
    ['is revoked', (_: TestApp, browser: TestBrowser, id: number) => revoke(browser, id)],
    [
      'expires',
      (svc: TestApp, _: TestBrowser, id: number) =>
        svc.rows(`update access_tokens set expires_at = now() - interval '1 second' where id = ${id}`),
    ],
    ['loses its person', (svc: TestApp) => svc.host.admin.removeUser({ user: { username: 'ada' } })],
  ] as const)('a token that %s opens nothing any more, on any surface', async ([, end]) => {
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, REDIS_URL: redisUrl! }
    await using here = await startApp(settings)
    await using there = await startApp(settings)
    const { browser } = await withoutToken(here)
    const { token, id } = (await create(browser)).body as { token: string; id: number }
    const statuses = async () => {
      const answers = [here, there].flatMap((svc) => surfaces.map((path) => svc.send('GET', path, { token })))
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    expect(await statuses()).toEqual([200, 200, 200, 200, 200, 200])

    await end(here, browser, id)

    expect(await statuses()).toEqual([401, 401, 401, 401, 401, 401])
  })
})

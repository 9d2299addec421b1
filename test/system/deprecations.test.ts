import { expect, test, vi } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addAccount, openBrowser, PASSWORD, signIn } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startApp({ DEPRECATION_SUNSET: '2031-05-06' }))

const readHeaders = ({ headers }: { headers: Headers }) =>
  ['deprecation', 'sunset', 'link'].map((name) => headers.get(name))

const user = ['@1767225600', 'Tue, 06 May 2031 00:00:00 GMT', '</api/svc/v1/users/me>; rel="successor-version"']
const preview = [...user.slice(0, 2), '</api/svc/v1/proxy/link-preview/metadata>; rel="successor-version"']

const callersAmong = (ids: number[]) =>
  svc.rows<object>(
    `select route, user_id as "user", token_id is null as session, calls::int as calls from deprecated_calls
      where user_id = any($1::int[]) order by user_id, route, calls`,
    [ids],
  )

test('only a deprecated route sends its deprecation and its successor', async () => {
  const { token } = await svc.user()
  expect(readHeaders(await svc.send('GET', '/api/user', { token }))).toEqual(user)
  expect(readHeaders(await svc.send('HEAD', '/api/user', { token }))).toEqual(user)
  expect(readHeaders(await svc.send('GET', '/api/user'))).toEqual(user)
  expect(readHeaders(await svc.send('POST', '/api/link-preview', { token, body: {} }))).toEqual(preview)
  expect(readHeaders(await svc.send('GET', '/api/svc/v1/users/me', { token }))).toEqual([null, null, null])
})

test.each([
  ['POST', '/req/login-ldap', 422],
  ['GET', '/req/login-oidc', 302],
  ['POST', '/req/login-oidc', 302],
  ['GET', '/req/login-shibboleth', 302],
  ['POST', '/req/login-shibboleth', 302],
])('%s %s is an older name of /req/login, and says so', async (method, path, status) => {
  const answer = await openBrowser(svc.url).send(method, path)

  expect([answer.status, readHeaders(answer)]).toEqual([
    status,
    [...user.slice(0, 2), '</req/login>; rel="successor-version"'],
  ])
})

test('a sign-in by an older name works, and counts for the current one', async () => {
  const { id } = await addAccount(svc, 'joan')
  const browser = openBrowser(svc.url)
  const answer = await browser.send('POST', '/req/login-ldap', { body: { account: 'joan', password: PASSWORD } })

  expect([answer.status, answer.body]).toMatchObject([200, { success: true }])
  expect(await browser.standing()).toBe('internal_authenticated')
  await vi.waitFor(
    async () => expect(await callersAmong([id])).toMatchObject([{ route: 'POST /req/login-ldap', calls: 1 }]),
    {
      timeout: 60_000,
    },
  )
})

test('POST /api/link-preview answers a page as its successor does, and refuses what it refuses', async () => {
  const { browser } = await signIn(svc, 'eve')
  const url = 'http://127.0.0.1/page'
  const answer = await browser.send('POST', '/api/link-preview', { body: { url } })
  const successor = await browser.send('GET', `/api/svc/v1/proxy/link-preview/metadata?url=${encodeURIComponent(url)}`)

  expect(answer.status).toBe(200)
  expect(answer.body).toEqual(successor.body)
  expect(answer.body).toMatchObject({ url, domain: '127.0.0.1', isFallback: true })
  const { token } = await svc.user({ abilities: ['ai'] })
  const refused = [
    await svc.send('POST', '/api/link-preview', { body: { url } }),
    await svc.send('POST', '/api/link-preview', { body: { url }, token }),
    await openBrowser(svc.url).send('POST', '/api/link-preview', { body: { url } }),
  ]
  expect(refused.map(({ status }) => status)).toEqual([401, 403, 401])
  const wrong = await browser.send('POST', '/api/link-preview', { body: { url: 'nothing' } })
  expect([wrong.status, wrong.body]).toMatchObject([
    422,
    { success: false, code: 'invalid', errors: { url: [expect.any(String)] } },
  ])
})

test('calls of deprecated routes are counted by person and token, for the operator alone', async () => {
  const [ada, { browser, id }] = [await svc.user(), await signIn(svc, 'grace')]
  const callers = () => callersAmong([ada.id, id])
  for (let calls = 0; calls < 3; calls++) await svc.send('GET', '/api/user', { token: ada.token })
  await svc.send('GET', '/api/user')
  await browser.send('POST', '/api/link-preview', { body: { url: 'nothing' } })
  await svc.send('GET', '/api/svc/v1/users/me', { token: ada.token })

  await vi.waitFor(
    async () =>
      expect(await callers()).toEqual([
        { route: 'GET /api/user', user: ada.id, session: false, calls: 3 },
        { route: 'POST /api/link-preview', user: id, session: true, calls: 1 },
      ]),
    { timeout: 60_000 },
  )
  await svc.send('GET', '/api/user', { token: ada.token })
  await vi.waitFor(async () => expect(await callers()).toMatchObject([{ calls: 4 }, { calls: 1 }]), { timeout: 60_000 })

  const { stdout, exitCode } = await runCommand(['deprecations', '--json'], {
    env: { DATABASE_URL: svc.env.DATABASE_URL!, DATA_DIR: svc.folder },
  })
  expect(exitCode).toBe(0)
  const listed = JSON.parse(stdout) as { username: string }[]
  expect(listed.filter(({ username }) => [ada.username, 'grace'].includes(username))).toEqual([
    {
      route: 'GET /api/user',
      username: ada.username,
      token: 'test',
      calls: 4,
      lastCalledAt: expect.stringMatching(/Z$/),
    },
    {
      route: 'POST /api/link-preview',
      username: 'grace',
      token: null,
      calls: 1,
      lastCalledAt: expect.stringMatching(/Z$/),
    },
  ])

  await svc.rows('delete from access_tokens where user_id = $1', [ada.id])
  expect(await callers()).toMatchObject([{ session: true, calls: 1 }])
})

import { expect, test } from 'vitest'
import { buildQuestion } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { APPS_ON, addApp, EXT_APPS, establishConnection } from '../kit/apps/ext-app.ts'
import { signIn } from '../kit/browser.ts'
import { listRoutes } from '../kit/json-api/all-routes.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startApp(APPS_ON))

const statusOf = async (method: string, path: string, token?: string) => {
  const answer = await svc.send(method, path, { token, ...(['POST', 'PATCH', 'PUT'].includes(method) && { body: {} }) })
  await answer.body?.cancel()
  return answer.status
}

/** Tells routes of resources, which an app's credential must not read even where guests may. */
const isResource = (route: string) => route.startsWith('/api/svc/v1/') && !route.endsWith('/openapi.json')

/** Methods that clients can send; others are refused before the caller is known. */
const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE']

test("an app's credential opens only its identity and users' connections beyond guest access", async () => {
  const app = await addApp(svc)
  const reachedRoutes: string[] = []
  for (const [method, route] of await listRoutes(svc)) {
    if (!methods.includes(method)) continue
    const path = route.replace(/:[a-zA-Z]+|\*/g, '1')
    const status = await statusOf(method, path, app.credential)
    const isOpen = isResource(route) ? false : (await statusOf(method, path)) < 400
    if (status < 400 && !isOpen) reachedRoutes.push(`${method} ${route}`)
  }
  const paths = ['/api/svc/v1/connections/:id', '/api/svc/v1/users/me', '/api/user']
  expect(reachedRoutes.toSorted()).toEqual(
    ['GET', 'HEAD'].flatMap((method) => paths.map((path) => `${method} ${path}`)),
  )
})

test('an app reads about itself what its registration has, and has no account', async () => {
  const app = await addApp(svc, { name: 'Learning platform' })
  const read = async (path: string) => (await svc.send('GET', path, { token: app.credential })).json()

  const known = { username: 'APP: Learning platform', bio: null, avatar: null, createdAt: expect.stringMatching(/Z$/) }
  expect(await read('/api/svc/v1/users/me')).toMatchObject({
    data: { type: 'users', id: '0', attributes: { ...known, displayName: 'Learning platform', publicKey: null } },
  })
  expect(await read('/api/user')).toMatchObject({ ...known, id: 0, name: 'Learning platform' })
  expect(await svc.rows('select from users where id = 0 or username like $1', ['APP:%'])).toEqual([])
})

test.for([
  // The master switch is checked before any token.
  ['ALLOW_EXTERNAL_COMMUNICATION', { forged: 403, own: 403 }],
  ['ALLOW_EXTERNAL_APPS', { forged: 401, own: 200 }],
] as const)('while %s is off, no credential, token or link of an app works', async ([setting, statuses]) => {
  const [app, { browser, token }] = [
    await addApp(svc, { name: setting, needsKeys: false }),
    await signIn(svc, `ada${statuses.forged}`),
  ]
  await establishConnection(browser, await app.connectRequest('learner'), {})
  const { apiToken } = await app.secrets('learner')
  const request = await app.connectRequest('somebody else')
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  await using off = await startApp({ ...APPS_ON, [setting]: 'false', DATABASE_URL, DATA_DIR })

  const surfaces = [
    ['GET', '/api/svc/v1/users/me'],
    ['GET', '/api/svc/v1/connections/learner'],
    ['GET', '/api/user'],
    ['GET', '/trpc/users.me'],
    ['POST', '/api/ai-req', buildQuestion()],
    ['POST', '/api/broadcasting/auth', {}],
    ['GET', '/v1/models'],
    ['POST', '/v1/chat/completions', {}],
    ['POST', '/v1/messages', {}],
    ['POST', '/trpc/ai.ask', {}],
  ] as const
  for (const [method, path, body] of surfaces) {
    for (const given of [apiToken, app.credential, `${app.credential.slice(0, -1)}x`]) {
      const answer = await off.send(method, path, { token: given, ...(body && { body }) })
      const isForged = given !== apiToken && given !== app.credential
      expect(answer.status, `${method} ${path} ${given.slice(0, 8)}`).toBe(isForged ? statuses.forged : 403)
    }
  }
  expect((await off.send('GET', '/api/svc/v1/users/me', { token })).status).toBe(statuses.own)
  const { browser: there } = await signIn(off, `bob${statuses.forged}`)
  const refused = { status: 403, body: { errors: [{ code: 'external_apps_off' }] } }
  expect(await there.send('GET', `${EXT_APPS}/${request}`)).toMatchObject(refused)
  expect(await establishConnection(there, request, {})).toMatchObject(refused)
})

test("documents and pages send browsers back with the service's own configured name", async () => {
  await using acme = await startApp({ ...APPS_ON, BRAND: 'acme' })
  const app = await addApp(acme, { needsKeys: false })
  const { browser } = await signIn(acme)
  const query = { appId: app.id, version: '1', extAppUserId: 'learner' }
  const made = { publicKey: app.publicKey, expiresAt: new Date(Date.now() + 60_000) }
  const request = acme.services.login.connectRequests.write(query, made)
  const back = (status: string) => `https://portal.example/back?acme-connect-status=${status}`
  const redirects = { redirectOnConnectionAccepted: back('success'), redirectOnConnectionDeclined: back('declined') }

  const shown = await browser.send('GET', `/api/acme/v1/ext-apps/${request}`)
  const page = await browser.send('GET', `/connect/${request}`)

  expect(app).toMatchObject(redirects)
  expect(shown.body['data']).toMatchObject({ attributes: redirects })
  for (const url of [back('success'), back('declined')]) expect(page.text).toContain(`&#34;${url}&#34;`)
})

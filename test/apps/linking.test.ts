// @module-tag debian

import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildQuestion, neverEnds, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { APPS_ON, addApp, appPublicKey, EXT_APPS, establishConnection, type TestExtApp } from '../kit/apps/ext-app.ts'
import { signIn } from '../kit/browser.ts'
import { newName } from '../kit/identity/people.ts'
import { SLOW } from '../kit/service-client.ts'

const resources = new AsyncDisposableStack()
let svc: TestApp
/** Second replica, at which people sign in. */
let there: TestApp
beforeAll(async () => {
  const upstream = resources.use(await startProvider(neverEnds))
  const config = resources.use(await writeConfig(upstream.url))
  svc = resources.use(await startApp({ ...APPS_ON, AI_CONFIG: config.file, APP_CONNECTIONS_PER_MINUTE: '1000' }))
  const { DATABASE_URL = '', DATA_DIR, AI_CONFIG = '' } = svc.env
  there = resources.use(
    await startApp({ ...APPS_ON, DATABASE_URL, DATA_DIR, AI_CONFIG, APP_CONNECTIONS_PER_MINUTE: '1000' }),
  )
})
afterAll(() => resources.disposeAsync())

const otherPublicKey = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' }).toString()

let counter = 0
const someone = () => signIn(there, `person${++counter}`)
const someApp = (more: object = {}) => addApp(svc, { name: `App ${++counter}`, needsKeys: false, ...more })
const NARROW = {}

/** Links a new person to a new app without keys. */
async function linkPerson(more: object = {}) {
  const [app, person] = [await someApp(more), await someone()]
  expect((await establishConnection(person.browser, await app.connectRequest('learner'), NARROW)).status).toBe(200)
  return { app, person, token: (await app.secrets('learner')).apiToken }
}

const me = (token: string) => svc.send('GET', '/api/svc/v1/users/me', { token })
const errorOf = (body: unknown) => (body as { errors?: { code: string }[] }).errors?.[0]?.code

describe('an external app and a person', () => {
  test('a user is linked once the person agrees, and the app opens their secrets', async () => {
    const [app, { browser, username }] = [await addApp(svc), await someone()]
    expect(await app.connection('learner/42 ü')).toMatchObject({ status: 200, connectionType: 'external_app' })
    const request = await app.connectRequest('learner/42 ü')

    const shown = await browser.send('GET', `${EXT_APPS}/${request}`)
    expect(shown.body['data']).toMatchObject({
      id: app.id,
      attributes: {
        name: app.name,
        needsKeys: true,
        logoUrl: null,
        logoProxyUrl: null,
        redirectOnConnectionAccepted: 'https://portal.example/back?svc-connect-status=success',
        redirectOnConnectionDeclined: 'https://portal.example/back?svc-connect-status=declined',
      },
    })
    expect(await establishConnection(browser, request, NARROW), 'without a passkey').toMatchObject({ status: 422 })
    expect(await establishConnection(browser, request)).toMatchObject({ status: 200, body: { data: [{ id: app.id }] } })

    const found = await app.connection('learner/42 ü')
    expect(found).toMatchObject({ connectionType: 'external_app_authenticated', userinfo: { username } })
    expect(Object.keys(found.configs ?? {})).toEqual(['locale', 'security', 'transfer', 'extApp'])
    const { passkey, apiToken, privateKey } = await app.secrets('learner/42 ü')
    expect(passkey).toBe('c2VhbGVk')
    expect(Buffer.from(String(privateKey).split('|')[0] ?? '', 'base64').toString()).toMatch(/^-----BEGIN PRIVATE KEY/)
    expect(await (await me(apiToken)).json()).toMatchObject({ data: { attributes: { username } } })
    expect(svc.log.join('')).toContain('an external app read the secrets of a link')
    for (const secret of [apiToken, 'c2VhbGVk', found.extAppSecrets?.apiToken ?? ''])
      expect(svc.log.join('')).not.toContain(secret)
  })

  test('a request belongs to whoever saw it first, and takes one answer', async () => {
    const [app, ada, bob] = [await someApp(), await someone(), await someone()]
    const request = await app.connectRequest('learner')
    expect((await ada.browser.send('GET', `${EXT_APPS}/${request}`)).status).toBe(200)

    const invalid = { status: 400, body: { errors: [{ code: 'connect_request_invalid' }] } }
    expect(await bob.browser.send('GET', `${EXT_APPS}/${request}`)).toMatchObject(invalid)
    expect(await establishConnection(bob.browser, request, NARROW)).toMatchObject(invalid)
    expect(await establishConnection(ada.browser, request, NARROW)).toMatchObject({ status: 200 })
    expect(await establishConnection(ada.browser, request, NARROW)).toMatchObject(invalid)
    for (const text of ['abc', request.slice(0, -8), `${request.slice(0, 40)}AAAA${request.slice(44)}`])
      expect(await ada.browser.send('GET', `${EXT_APPS}/${text}`), text).toMatchObject(invalid)
  })

  test('an app links to the request where the person finds it, and nobody else', async () => {
    const [app, ada, bob] = [await someApp(), await someone(), await someone()]
    const request = await app.connectRequest('learner')
    const selfOf = (data: unknown) => (data as { links: { self: string } }).links.self

    const shown = await ada.browser.send('GET', `${EXT_APPS}/${request}`)
    const before = await ada.browser.send('GET', selfOf(shown.body['data']))
    const agreed = await establishConnection(ada.browser, request, NARROW)
    const [linkedApp] = agreed.body['data'] as unknown[]
    const after = await ada.browser.send('GET', selfOf(linkedApp))

    for (const { status, body } of [before, after])
      expect([status, body]).toMatchObject([200, { data: { id: app.id } }])
    const invalid = { status: 400, body: { errors: [{ code: 'connect_request_invalid' }] } }
    expect(await bob.browser.send('GET', selfOf(linkedApp))).toMatchObject(invalid)
    expect(await establishConnection(ada.browser, request, NARROW)).toMatchObject(invalid)
    expect((await ada.browser.send('GET', `${EXT_APPS}/${app.id}`)).status).toBe(404)
  })

  test('a signed logo address takes only what was signed, and can only be read', async () => {
    const [app, { browser }] = [await someApp({ logoUrl: 'https://127.0.0.1/logo.png' }), await someone()]
    const shown = await browser.send('GET', `${EXT_APPS}/${await app.connectRequest('learner')}`)
    const { logoProxyUrl } = (shown.body['data'] as { attributes: { logoProxyUrl: string } }).attributes
    const { pathname, search } = new URL(logoProxyUrl)

    const unknown = { status: 400, body: { errors: [{ source: { parameter: 'foo' }, status: '400' }] } }
    expect(await browser.send('GET', `${pathname}${search}&foo=1`)).toMatchObject(unknown)
    const unsigned = { status: 422, body: { errors: [{ source: { parameter: 'signature' } }] } }
    expect(await browser.send('GET', `${pathname}?expires=1`)).toMatchObject(unsigned)
    expect((await browser.send('GET', `${pathname}0x${search}`)).status).toBe(404)
    const { status, headers } = await browser.send('POST', pathname)
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  test('a narrow link has no keys and no more abilities than were agreed to', async () => {
    const [app, ada] = [await someApp({ abilities: ['ai', 'user'] }), await someone()]
    const request = await app.connectRequest('learner')
    expect(await establishConnection(ada.browser, request, { abilities: ['write'] })).toMatchObject({ status: 422 })

    expect(await establishConnection(ada.browser, request, { abilities: ['user'] })).toMatchObject({ status: 200 })

    const { passkey, privateKey, apiToken } = await app.secrets('learner')
    expect({ passkey, privateKey }).toEqual({ passkey: null, privateKey: null })
    expect((await me(apiToken)).status).toBe(200)
    const response = await svc.send('POST', '/api/ai-req', { token: apiToken, body: buildQuestion() })
    expect([response.status, await response.json()]).toMatchObject([403, { code: 'missing_ability' }])
  })

  test("an app cannot use another app's links, and its user is one person", async () => {
    const { app: a, person: ada } = await linkPerson()
    const [b, bob] = [await someApp(), await someone()]

    expect(await b.connection('learner')).toMatchObject({ connectionType: 'external_app' })
    expect((await svc.send('DELETE', '/api/svc/v1/connections/learner', { token: b.credential })).status).toBe(404)
    const again = await a.connection('learner')
    expect(again.connectionType).toBe('external_app_authenticated')
    const other = svc.services.login.connectRequests.write(
      { appId: a.id, version: '1', extAppUserId: 'learner' },
      { publicKey: a.publicKey, expiresAt: new Date(Date.now() + 60_000) },
    )
    const taken = { status: 409, body: { errors: [{ code: 'linked_elsewhere' }] } }
    expect(await establishConnection(bob.browser, other, NARROW)).toMatchObject(taken)
    expect(await establishConnection(ada.browser, await b.connectRequest('learner'), NARROW)).toMatchObject({
      status: 200,
    })
    const own = await ada.browser.send('GET', `${EXT_APPS}/${a.id}/actions/link`)
    expect(own.body['meta']).toMatchObject({ links: [{ appName: a.name, withKeys: false }] })
    expect((await bob.browser.send('GET', `${EXT_APPS}/${a.id}/actions/link`)).body['meta']).toEqual({ links: [] })
    expect((await bob.browser.send('DELETE', `${EXT_APPS}/${a.id}/actions/link`)).status).toBe(404)
    expect((await bob.browser.send('GET', `${EXT_APPS}/${a.id}`)).status).toBe(404)
  })

  test("an administrator's token in the hand of an app has no administrator rights", async () => {
    const { person, app, token } = await linkPerson({ abilities: ['read', 'write'] })
    await svc.host.admin.setRole({ user: { id: person.id }, role: 'admin' })
    const made = { name: `Made ${app.id}`, url: 'https://a.example', redirectUrls: ['https://a.example'] }
    const sendRequest = async (method: string, path: string, by: string, data?: object) => {
      const headers = data && { 'content-type': 'application/vnd.api+json' }
      const answer = await svc.send(method, path, { token: by, ...(headers && { headers, body: { data } }) })
      return [answer.status, errorOf(await answer.json().catch(() => ({})))]
    }
    const requests: [string, string, object | undefined, (number | string)[], number][] = [
      ['GET', `${EXT_APPS}/${app.id}`, undefined, [404, 'not_found'], 200],
      [
        'POST',
        EXT_APPS,
        { type: 'ext-apps', attributes: { ...made, publicKey: appPublicKey } },
        [403, 'admin_only'],
        201,
      ],
      [
        'PATCH',
        `${EXT_APPS}/${app.id}`,
        { type: 'ext-apps', id: app.id, attributes: { description: 'Ours' } },
        [403, 'admin_only'],
        200,
      ],
      ['POST', `${EXT_APPS}/${app.id}/actions/rotate-credential`, undefined, [403, 'admin_only'], 200],
      ['DELETE', `${EXT_APPS}/${app.id}`, undefined, [403, 'admin_only'], 200],
    ]

    for (const [method, path, data, refusal] of requests)
      expect([method, path, ...(await sendRequest(method, path, token, data))]).toEqual([method, path, ...refusal])
    const { token: own } = await svc.host.tokens.createFor({
      user: { id: person.id },
      name: 'own',
      abilities: ['write', 'read', 'admin'],
    })
    for (const [method, path, data, , status] of requests)
      expect([method, path, ...(await sendRequest(method, path, own, data))], 'by their own').toEqual([
        method,
        path,
        status,
        undefined,
      ])
  })
})

interface Document {
  data?: { id: string; attributes: object }
  meta?: { credential: string }
}
type Linked = Awaited<ReturnType<typeof linkPerson>>

/** Ways to end a link at another replica than the one that the app calls. */
const endings: [by: string, end: (link: Linked) => Promise<unknown>, isLinkedAgain?: false][] = [
  [
    'the person, with the app',
    ({ app, person }) => person.browser.send('DELETE', `${EXT_APPS}/${app.id}/actions/link`),
  ],
  [
    'the person, among their tokens',
    ({ person, token }) =>
      there.host.tokens.revokeFor({ user: { id: person.id }, tokenId: Number(token.split('_')[1]) }),
  ],
  ['the app', ({ app }) => there.send('DELETE', '/api/svc/v1/connections/learner', { token: app.credential })],
  [
    'an administrator, who changes its key',
    ({ app }) => there.host.extApps.update({ id: app.id, publicKey: otherPublicKey() }),
  ],
  ['an administrator, who removes the app', ({ app }) => there.host.extApps.delete({ id: app.id }), false],
  ['who erases the person', ({ person }) => there.host.admin.removeUser({ user: { id: person.id } })],
]

describe('a link that ends', () => {
  test.for(endings)('ended by %s ends what the app has under way on every replica', async ([, end, isLinkedAgain]) => {
    const link = await linkPerson()
    const headers = { accept: 'text/event-stream' }
    const streams = await Promise.all(
      [svc, there].map((at) => at.send('POST', '/api/ai-req', { token: link.token, headers, body: buildQuestion() })),
    )
    const reading = Promise.all(streams.map((stream) => stream.text()))

    await end(link)

    for (const read of await reading) expect(read).toContain('event: delta')
    for (const at of [svc, there])
      expect((await at.send('GET', '/api/svc/v1/users/me', { token: link.token })).status).toBe(401)
    await vi.waitFor(async () => {
      await Promise.all([svc, there].map(({ services }) => services.ai.usageLedger.flush()))
      const records = await svc.rows<{ outcome: string; output: number }>(
        'select outcome, output_tokens as output from usage_records where request_id = any($1)',
        [streams.map((stream) => stream.headers.get('x-request-id'))],
      )
      expect(records).toMatchObject([{ outcome: 'aborted' }, { outcome: 'aborted' }])
      for (const { output } of records) expect(output).toBeGreaterThan(0)
    }, SLOW)
    expect(await svc.rows('select 1 from ext_app_links where app_id = $1', [Number(link.app.id)])).toEqual([])
    if (isLinkedAgain === false) return expect((await link.app.connection('learner')).status).toBe(401)
    const next = await someone()
    expect(await establishConnection(next.browser, await link.app.connectRequest('learner'), NARROW)).toMatchObject({
      status: 200,
    })
    expect(await link.app.connection('learner')).toMatchObject({ userinfo: { username: next.username } })
  })

  test('a new app key ends all its links, and the same key none', async () => {
    const { app, person, token } = await linkPerson()
    const { person: other, app: untouched } = await linkPerson()
    await svc.host.extApps.update({ id: app.id, publicKey: appPublicKey })
    expect((await me(token)).status).toBe(200)

    const changed = await svc.host.extApps.update({ id: app.id, publicKey: otherPublicKey() })

    expect('privateKey' in changed).toBe(false)
    expect((await me(token)).status).toBe(401)
    expect(await svc.rows('select 1 from ext_app_links where app_id = $1', [Number(app.id)])).toEqual([])
    expect(await app.connection('learner')).toMatchObject({ connectionType: 'external_app' })
    expect(await untouched.connection('learner')).toMatchObject({ userinfo: { username: other.username } })
    expect(await establishConnection(person.browser, await app.connectRequest('learner'), NARROW)).toMatchObject({
      status: 200,
    })
    await expect(app.secrets('learner'), 'sealed for the other key').rejects.toThrow()
  })

  test("an expired link is over, and an app's credential shows its last use", async () => {
    const { app, token } = await linkPerson()
    await svc.rows(`update access_tokens set expires_at = now() - interval '1 second' where id = $1`, [
      Number(token.split('_')[1]),
    ])

    expect(await app.connection('learner')).toMatchObject({ connectionType: 'external_app' })
    const other = await someone()
    expect(await establishConnection(other.browser, await app.connectRequest('learner'), NARROW)).toMatchObject({
      status: 200,
    })
    expect(await app.connection('learner')).toMatchObject({ userinfo: { username: other.username } })
    await svc.authenticator.flush()
    const { credentials } = await svc.host.extApps.show({ id: app.id })
    expect(credentials).toMatchObject([{ lastUsedAt: expect.stringMatching(/Z$/), expiresAt: null }])
  })

  test('new keys of a person end links with keys, and keep the others', async () => {
    const { app: narrow, person, token } = await linkPerson()
    const keyed = await someApp()
    expect(await establishConnection(person.browser, await keyed.connectRequest('learner'))).toMatchObject({
      status: 200,
    })

    const reset = await person.browser.send('POST', '/req/profile/reset', { body: {} })

    expect(reset.status).toBe(200)
    expect(await keyed.connection('learner')).toMatchObject({ connectionType: 'external_app' })
    expect(await narrow.connection('learner')).toMatchObject({ connectionType: 'external_app_authenticated' })
    expect((await me(token)).status).toBe(200)
  })

  test('a disabled app cannot use its links, and finds them again when enabled', async () => {
    const { app, person, token } = await linkPerson()
    const { token: admin } = await svc.user({ role: 'admin', abilities: ['write', 'admin'] })
    const request = await app.connectRequest('somebody else')
    const turn = async (active: boolean) => {
      const headers = { 'content-type': 'application/vnd.api+json' }
      const body = { data: { type: 'ext-apps', id: app.id, attributes: { active } } }
      expect((await svc.send('PATCH', `${EXT_APPS}/${app.id}`, { token: admin, headers, body })).status).toBe(200)
    }

    const headers = { accept: 'text/event-stream' }
    const stream = await there.send('POST', '/api/ai-req', { token, headers, body: buildQuestion() })
    const reading = stream.text()

    await turn(false)
    expect(await reading, 'what it has under way ends on every replica').toContain('event: delta')
    expect([(await me(token)).status, (await app.connection('learner')).status]).toEqual([401, 401])
    expect(await establishConnection(person.browser, request, NARROW)).toMatchObject({ status: 400 })

    await turn(true)
    expect((await me(token)).status).toBe(200)
    expect(await app.connection('learner')).toMatchObject({ connectionType: 'external_app_authenticated' })
    expect(await establishConnection(person.browser, request, NARROW)).toMatchObject({ status: 200 })
  })

  test('a credential ends when an administrator says, within the calendar of the database', async () => {
    const { token } = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
    const send = async (method: string, path: string, body?: object, headers = {}) => {
      const answer = await svc.send(method, path, { token, headers, ...(body && { body }) })
      return { status: answer.status, ...((await answer.json()) as Document) }
    }
    const make = (credentialExpiresAt: string) => {
      const given = { name: `App ${++counter}`, url: 'https://a.example', redirectUrls: ['https://a.example'] }
      const attributes = { ...given, publicKey: appPublicKey, credentialExpiresAt }
      return send(
        'POST',
        EXT_APPS,
        { data: { type: 'ext-apps', attributes } },
        { 'content-type': 'application/vnd.api+json' },
      )
    }
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
    const [soon, later] = [inDays(1), inDays(30)]

    const made = await make(soon)
    const { id = '', attributes } = made.data ?? {}
    expect(attributes).toMatchObject({ credentialExpiresAt: soon })
    const rotate = (body: object) => send('POST', `${EXT_APPS}/${id}/actions/rotate-credential`, body)
    const rotated = await rotate({ overlapMinutes: 0, expiresAt: later })
    const credential = String(rotated.meta?.credential)
    expect((await send('GET', `${EXT_APPS}/${id}`)).data?.attributes).toMatchObject({ credentialExpiresAt: later })
    expect((await me(credential)).status).toBe(200)
    await svc.rows(`update ext_app_credentials set expires_at = now() - interval '1 second' where app_id = $1`, [
      Number(id),
    ])
    expect((await me(credential)).status, 'once it has ended').toBe(401)

    for (const [end, says] of [
      [inDays(-1), 'in the future'],
      ['9999-12-31T23:59:59-12:00', 'in a year from 0001 to 9999'],
    ] as const)
      for (const refused of [await make(end), await rotate({ expiresAt: end })])
        expect(refused).toMatchObject({ status: 422, errors: [{ detail: expect.stringContaining(says) }] })
  })

  test('each change of an app and its credentials is logged by ids alone', async () => {
    const { id: admin, token } = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
    const headers = { 'content-type': 'application/vnd.api+json' }
    const send = async (method: string, path: string, body?: object) =>
      (await svc.send(method, path, { token, headers, ...(body && { body }) })).status
    const app = await addApp(svc, { name: 'Hunters', needsKeys: false })
    const [path, appId] = [`${EXT_APPS}/${app.id}`, Number(app.id)]
    const { browser, id: person } = await signIn(svc, newName('learner'))
    const attributes = { description: 'Hunting', url: 'https://hunter.example' }

    await establishConnection(browser, await app.connectRequest('learner'), NARROW)
    await svc.send('DELETE', '/api/svc/v1/connections/learner', { token: app.credential })
    await establishConnection(browser, await app.connectRequest('learner'), NARROW)
    await browser.send('DELETE', `${path}/actions/link`)
    expect(await send('PATCH', path, { data: { type: 'ext-apps', id: app.id, attributes } })).toBe(200)
    expect(await send('POST', `${path}/actions/rotate-credential`, { overlapMinutes: 5 })).toBe(200)
    const { meta } = await svc.host.extApps.rotateCredential({ id: app.id })
    expect(await send('DELETE', path)).toBe(200)

    const lines = svc.log.map((line) => JSON.parse(line)).filter((line) => line.appId === appId && line.by)
    const [host, byAdmin, byPerson] = [{ by: 'host' }, { by: `user:${admin}` }, { by: `user:${person}` }]
    const rotatedLine = { msg: 'the credential of an external app was rotated', credentialId: expect.any(Number) }
    const linkedLine = { ...byPerson, msg: 'an external app was linked' }
    const endedLine = { msg: 'links with an external app were ended', linkIds: [expect.any(Number)] }
    expect(lines).toMatchObject(
      [
        { ...host, msg: 'an external app was made', credentialId: expect.any(Number) },
        linkedLine,
        { ...endedLine, by: `app:${appId}` },
        linkedLine,
        { ...endedLine, ...byPerson },
        {
          ...byAdmin,
          byToken: expect.any(Number),
          msg: 'an external app was changed',
          changed: ['description', 'url'],
        },
        { ...byAdmin, ...rotatedLine, overlapMinutes: 5 },
        { ...host, ...rotatedLine, overlapMinutes: 60 },
        { ...byAdmin, msg: 'an external app was removed' },
      ].map((line) => ({ ...line, appId, level: 30 })),
    )
    for (const secret of [app.credential, meta.credential, 'hunter', 'Hunt', 'learner'])
      expect(lines.map((line) => JSON.stringify(line)).join('')).not.toContain(secret)
  })

  test('a new credential leaves the one before a while, or no time at all', async () => {
    const app: TestExtApp = await someApp()
    const { meta: first } = await svc.host.extApps.rotateCredential({ id: app.id })
    expect((await app.connection('learner')).status).toBe(200)

    await svc.host.extApps.rotateCredential({ id: app.id, overlapMinutes: 0 })

    expect((await app.connection('learner')).status).toBe(401)
    expect((await svc.send('GET', '/api/svc/v1/connections/x', { token: first.credential })).status).toBe(401)
  })
})

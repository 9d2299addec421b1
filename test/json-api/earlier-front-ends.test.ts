import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { APPS_ON, appPublicKey, openSealed } from '../kit/apps/ext-app.ts'
import { signIn } from '../kit/browser.ts'
import { addCatalogue, createApiClient, toMany, toOne } from '../kit/json-api/client.ts'
import { shapes } from '../kit/json-api/earlier-shapes.ts'
import { PNG } from '../kit/rooms/attachments.ts'
import { CIPHERTEXT } from '../kit/rooms/messages.ts'
import { type RoomsApp, startRooms } from '../kit/rooms/rooms.ts'

const SNAKE = '/api/acme/v1'
/** Addresses at which every member is found in its declared case. */
const DECLARED = '/req/v1'

/** Replacements of the member `type`, which JSON:API forbids. */
const typeOf: Record<string, string> = {
  'ai-tools': 'toolType',
  attachments: 'fileType',
  connections: 'connectionType',
  'mcp-servers': 'transport',
  'user-keychain-values': 'keyType',
}

let world: Awaited<ReturnType<typeof startWorld>>
beforeAll(async () => {
  world = await startWorld()
  return () => world.svc[Symbol.asyncDispose]()
})

const MIGRATION = '2026_11_20_120000_after_passkey_upgrade_labels'

/** Starts the service under another brand with members in snake case and rows of every type. */
async function startWorld() {
  const svc = await startRooms({ ...APPS_ON, BRAND: 'acme', JSONAPI_MEMBER_CASE: 'snake' })
  const declared = createApiClient(svc, svc.people.ada.token, DECLARED)
  const admin = createApiClient(svc, svc.people.admin.token, DECLARED)
  const { model, provider } = await addCatalogue({ ...svc, admin })
  const ofModel = { model: toOne('ai-models', model.external) }
  await admin.create('ai-model-descriptions', { locale: 'en_US', description: 'Large.' }, ofModel)
  await admin.create('system-models', { modelType: 'default', usageType: 'external' }, ofModel)
  await admin.create('system-prompts', {
    promptType: 'summary',
    usageType: 'main',
    locale: 'en_US',
    prompt: 'Be brief.',
  })
  await svc.rows('insert into frontend_migrations (name) values ($1)', [MIGRATION])
  const room = toOne('rooms', (await declared.create('rooms', { name: 'Chess' })).one.id)
  const attachments = toMany('attachments', [await upload(svc, svc.people.ada.token)])
  const { one: first } = await declared.create('room-messages', { content: CIPHERTEXT }, { room, attachments })
  const reply = { room, thread: toOne('room-messages', first.id) }
  await declared.create('room-messages', { content: CIPHERTEXT }, reply)
  const { browser } = await signIn(svc, 'bea')
  const snake = {
    admin: createApiClient(svc, svc.people.admin.token, SNAKE),
    ada: createApiClient(svc, svc.people.ada.token, SNAKE),
  }
  return { svc, snake, declared: { admin, ada: declared }, browser, model, provider }
}

async function upload(svc: RoomsApp, token: string): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([PNG as Uint8Array<ArrayBuffer>]), 'dot.png')
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${svc.url}${DECLARED}/attachments/actions/upload`, {
    method: 'POST',
    headers,
    body: form,
  })
  const { data } = (await response.json()) as { data: { id: string } }
  return data.id
}

/** The address at which each type is read, by the administrator for the catalogue and else by Ada. */
const places: Record<string, { path: string; by?: 'ada' }> = {
  ...Object.fromEntries(Object.keys(shapes).map((type) => [type, { path: `/${type}` }])),
  attachments: { path: '/attachments', by: 'ada' },
  configs: { path: '/configs/public' },
  migrations: { path: '/migrations', by: 'ada' },
  'room-members': { path: '/room-members', by: 'ada' },
  'room-messages': { path: '/room-messages', by: 'ada' },
  rooms: { path: '/rooms', by: 'ada' },
  'translation-labels': { path: '/translation-labels/de_DE' },
}

const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

test.each(Object.keys(places).filter((type) => !['connections', 'user-keychain-values'].includes(type)))(
  'documents of %s have the members that earlier front ends read',
  async (type) => {
    const { path, by = 'admin' } = places[type]!
    const [snake, declared] = [await world.snake[by].get(path), await world.declared[by].get(path)]
    const rows = [snake.one].flat()
    const shape = z.looseObject(shapes[type]!)

    expect([snake.status, declared.status]).toEqual([200, 200])
    expect(rows.length).toBeGreaterThan(0)
    for (const { attributes } of rows) {
      expect(shape.safeParse(attributes).error?.issues ?? []).toEqual([])
      expect(Object.keys(attributes).filter((name) => /[A-Z]/.test(name))).toEqual([])
    }
    const names = Object.keys([declared.one].flat()[0]!.attributes)
    const linked = ['room_id', 'member_id', 'thread_id', 'user_id'].filter(
      (name) => type.startsWith('room-') && name in shapes[type]!,
    )
    const own = [...linked, 'has_thread', 'read_by']
    const wanted = Object.keys(shapes[type]!).filter((name) => !own.includes(name))
    expect(names).toEqual(expect.arrayContaining(wanted.map((name) => (name === 'type' ? typeOf[type]! : camel(name)))))
  },
)

test('readers of a message are shown unless `fields` leaves them out', async () => {
  const { ada } = world.svc.people
  const sent = async (client: 'snake' | 'declared', query: string) => {
    const { list, included } = await world[client].ada.get(`/room-messages?include=thread${query}`)
    const all = [...list, ...included].filter(({ type }) => type === 'room-messages')
    expect(all.length).toBeGreaterThan(1)
    return new Set(all.map(({ attributes: { read_by, readBy } }) => JSON.stringify(read_by ?? readBy)))
  }

  const hers = new Set([JSON.stringify([ada.id])])
  const nothing = new Set([undefined])
  expect(await sent('snake', '')).toEqual(hers)
  expect(await sent('snake', '&fields[room-messages]=read_by')).toEqual(hers)
  expect(await sent('snake', '&fields[room-messages]=content')).toEqual(nothing)
  expect(await sent('declared', '')).toEqual(nothing)
  expect(await sent('declared', '&fields[room-messages]=readBy')).toEqual(hers)
})

test('a connection keeps the names and shape of earlier versions', async () => {
  const { body } = await world.browser.send('GET', `${SNAKE}/connections/acme`)
  const { data } = body as { data: { id: string; attributes: Record<string, object> } }

  expect(data.id).toBe('acme')
  expect(data.attributes).toMatchObject({ type: 'internal_authenticated', userinfo: { username: 'bea' } })
  expect(Object.keys(data.attributes['userinfo']!).sort()).toEqual([
    'avatar',
    'bio',
    'email',
    'hash',
    'id',
    'name',
    'username',
  ])
  expect(data.attributes).not.toHaveProperty('migrations_to_apply')
  const { body: none } = await world.browser.send('GET', `${SNAKE}/connections/svc`)
  expect(none).toMatchObject({ errors: [{ status: '404' }] })
})

test('earlier programs find apps and people in connections', async () => {
  const { svc, browser } = world
  const app = await svc.host.extApps.create({
    name: 'Portal',
    url: 'https://portal.example',
    redirectUrls: ['https://portal.example/back'],
    publicKey: appPublicKey,
    logoUrl: 'https://portal.example/logo.png',
  })
  const connection = async () => {
    const answer = await svc.send('GET', `${SNAKE}/connections/lms-4711`, { token: String(app.credential) })
    return ((await answer.json()) as { data: { id: string; attributes: Record<string, unknown> } }).data
  }
  const attributes = {
    name: 'Portal',
    description: null,
    url: 'https://portal.example/',
    publicKey: app.publicKey,
    redirectOnConnectionAccepted: 'https://portal.example/back?acme-connect-status=success',
    redirectOnConnectionDeclined: 'https://portal.example/back?acme-connect-status=declined',
    logoUrl: 'https://portal.example/logo.png',
    logoProxyUrl: expect.stringMatching(
      `^${svc.url}${SNAKE}/ext-apps/actions/proxy-logo/${app.id}\\?expires=\\d+&signature=`,
    ),
  }

  const response = await connection()
  expect(response).toMatchObject({
    id: 'lms-4711',
    attributes: { type: 'external_app', version: z.string().parse(response.attributes['version']), locale: 'en_US' },
  })
  const connectRequest = String(response.attributes['ext_app_connect_request'])
  const shown = await browser.send('GET', `${SNAKE}/ext-apps/${connectRequest}`)
  expect(shown.body).toMatchObject({ data: { type: 'ext-apps', id: app.id, attributes } })
  const agreed = await browser.send('POST', `${SNAKE}/ext-apps/actions/establish-connection`, {
    body: { passkey: 'b3BhcXVl', connectRequest },
  })
  expect([agreed.status, agreed.body]).toMatchObject([200, { data: [{ type: 'ext-apps', id: app.id, attributes }] }])

  const linked = (await connection()).attributes
  expect(linked).toMatchObject({ type: 'external_app_authenticated', userinfo: { username: 'bea' } })
  expect(linked).not.toHaveProperty('ext_app_connect_request')
  const secrets = linked['ext_app_secrets'] as Record<string, string>
  expect(Object.keys(secrets).toSorted()).toEqual(['apiToken', 'passkey', 'privateKey'])
  expect([secrets['passkey'], openSealed(secrets['apiToken'] ?? '')]).toEqual([
    'b3BhcXVl',
    expect.stringMatching(/^svc_/),
  ])
})

test('blocks of configuration stand under the other word with inner names as they are', async () => {
  const { one } = await world.snake.ada.get('/configs/public')
  const blocks = (one.attributes['list'] as Record<string, Record<string, object>>)['acme-core']!

  expect(blocks['ai']).toEqual({
    handle: '@acme',
    acmeUserDisplayName: 'svc',
    acmeUserUsername: 'svc',
    acmeUserAvatar: expect.any(String),
  })
  expect(blocks['transfer']).toMatchObject({ baseUrl: world.svc.url, websocket: { key: 'acme', forceTls: false } })
  expect(blocks['security']).toHaveProperty('passkeyAllowPaste')
})

test('labels are nested objects, and a label with children keeps its whole key', async () => {
  const { one } = await world.snake.ada.get('/translation-labels/en_US')
  const labels = one.attributes['labels'] as Record<string, unknown>

  expect(labels).toMatchObject({ ai: { model: { detail: { flag: { openWeights: expect.any(String) } } } } })
  expect(one).toMatchObject({ attributes: { locale: 'en-US' } })
  expect([typeof labels['page'], typeof (labels['page'] as Record<string, unknown>)['error']]).toEqual([
    'object',
    'string',
  ])
  expect(labels['page.error.offline']).toEqual(expect.any(String))
})

test('keys are written with `type`, and the validator answers with nothing but itself', async () => {
  const value = 'aXY=|dGFn|dGV4dA=='
  const set = [{ key: 'publicKey', type: 'public_key', value }]
  const stored = await world.browser.send('POST', `${SNAKE}/user-keychain-values/actions/batch-update`, {
    body: { set: [...set, { key: 'chess', key_type: 'room_key', value }] },
  })
  const { status, body, headers } = await world.browser.send('GET', `${SNAKE}/user-keychain-values/actions/validator`)

  const rows = (stored.body as { data: { attributes: object }[] }).data
  const shape = z.looseObject(shapes['user-keychain-values']!)
  expect(rows.map(({ attributes }) => shape.safeParse(attributes).success)).not.toContain(false)
  expect(rows).toContainEqual(
    expect.objectContaining({ attributes: { user_id: expect.any(Number), key: 'chess', type: 'room_key', value } }),
  )
  expect([status, body, headers.get('content-type')]).toEqual([
    200,
    { validator: value },
    'application/json; charset=utf-8',
  ])
})

test('the filters of earlier versions work, and errors name members in their case', async () => {
  const assigned = await world.snake.admin.get('/ai-tools?include=server&filter[assigned]=1')
  const none = await world.snake.admin.get('/ai-tools?filter[assigned]=0')
  const sorted = await world.snake.admin.get(
    '/ai-models?include=provider&sort=-model_id&fields[ai-tools]=type&fields[ai-models]=model_id,tool_ids',
  )
  const foreign = await world.snake.admin.get('/ai-models?sort=modelId')
  const wrong = await world.snake.admin.update('ai-models', world.model.main, { model_id: '' })

  expect(assigned.list.length).toBeGreaterThan(0)
  expect(assigned.list.length + none.list.length).toBe((await world.snake.admin.get('/ai-tools')).list.length)
  expect(Object.keys(sorted.list[0]!.attributes)).toEqual(['model_id', 'tool_ids'])
  expect(foreign.errors).toMatchObject([{ source: { parameter: 'sort' } }])
  expect(wrong.errors).toMatchObject([{ source: { pointer: '/data/attributes/model_id' } }])
})

test('pages of the service itself go on working under another word and another case', async () => {
  const page = await world.browser.send('GET', '/handshake')
  const saved = await world.browser.send('PATCH', `${DECLARED}/users/${await ownId()}`, {
    body: { data: { type: 'users', id: await ownId(), attributes: { displayName: 'Bea' } } },
    headers: { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' },
  })

  expect(page.text).toContain('data-brand="acme"')
  expect(saved.body).toMatchObject({ data: { attributes: { displayName: 'Bea' } }, meta: { _acme_sync_log: [] } })
})

async function ownId(): Promise<string> {
  const { body } = await world.browser.send('GET', `${SNAKE}/users/me`)
  return (body as { data: { id: string } }).data.id
}

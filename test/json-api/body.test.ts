import { afterAll, expect, test } from 'vitest'
import { addCatalogue, mediaType, pointersOf, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { bearerHeader, sendRaw } from '../kit/json-api/raw-request.ts'

const svc = await startJsonApi()
const catalogue = await addCatalogue(svc)
afterAll(() => svc[Symbol.asyncDispose]())

const providers = () => svc.rows('select * from ai_providers order by id')

const create = { data: { type: 'ai-providers', attributes: { providerId: 'p', name: 'P', adapter: 'demo' } } }

const refusedBodies = [
  ['no JSON', '{"data":', 422, ['']],
  ['nothing', '', 422, ['']],
  ['a list', '[]', 422, ['']],
  ['null', 'null', 422, ['']],
  ['a text', '"data"', 422, ['']],
  ['no data', '{}', 422, ['']],
  ['data that is a list', '{"data":[]}', 422, ['/data']],
  ['no type', '{"data":{"attributes":{}}}', 422, ['/data']],
  ['a type that is no text', '{"data":{"type":7}}', 422, ['/data/type']],
  ['attributes that are a list', '{"data":{"type":"ai-providers","attributes":[]}}', 422, ['/data/attributes']],
  ['another type', '{"data":{"type":"users"}}', 409, ['/data/type']],
  ['an id', '{"data":{"type":"ai-providers","id":"7"}}', 403, ['/data/id']],
  [
    'an unknown relation',
    '{"data":{"type":"ai-providers","relationships":{"constructor":{"data":null}}}}',
    422,
    ['/data/relationships/constructor'],
  ],
  [
    'a relation of others',
    '{"data":{"type":"ai-providers","attributes":{"providerId":"p","name":"n","adapter":"demo"},"relationships":{"models":{"data":[]}}}}',
    403,
    ['/data/relationships/models/data'],
  ],
  [
    'a relation without data',
    '{"data":{"type":"ai-providers","relationships":{"models":{}}}}',
    422,
    ['/data/relationships/models'],
  ],
  ['a prototype', '{"data":{"type":"ai-providers","__proto__":{"type":"users"}}}', 422, ['']],
  ['too many levels', `{"data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 422, ['']],
] as const

test('a body that is no document of its address is refused with its fault', async () => {
  const before = await providers()
  for (const [what, body, expected, pointers] of refusedBodies) {
    const { status, errors, headers } = await svc.admin.send('POST', '/ai-providers', body)

    expect([what, status]).toEqual([what, expected])
    expect([what, errors.map(({ source }) => source?.['pointer'] ?? '')]).toEqual([what, pointers])
    expect(headers.get('content-type')).toBe(mediaType)
  }
  expect(await providers()).toEqual(before)
})

test('a body names every wrong attribute by a pointer that is there', async () => {
  const attributes = {
    providerId: '',
    name: 7,
    adapter: 'none',
    settings: { timeouts: { total: -1, other: 1 } },
    constructor: 1,
    'a/b~c': 2,
  }

  const answer = await svc.admin.create('ai-providers', attributes)

  expect(answer.status).toBe(422)
  expect(pointersOf(answer).toSorted()).toEqual([
    '/data/attributes/adapter',
    '/data/attributes/a~1b~0c',
    '/data/attributes/constructor',
    '/data/attributes/name',
    '/data/attributes/providerId',
    '/data/attributes/settings/timeouts/other',
    '/data/attributes/settings/timeouts/total',
  ])
  expect(new Set(answer.errors.map(({ title }) => title))).toEqual(new Set(['An attribute is not valid.']))
  expect(answer.errors.every(({ detail, status }) => detail && status === '422')).toBe(true)
})

test('a body points at the nearest member that is there where one is missing', async () => {
  const missing = await svc.admin.create('ai-models', { label: 'L' })

  expect(missing.status).toBe(422)
  expect(pointersOf(missing)).toEqual(['/data/attributes', '/data'])
})

test('a refusal of a body names the missing attributes', async () => {
  const { errors } = await svc.admin.create('ai-providers', {})

  expect(errors.map(({ detail }) => detail)).toEqual(
    expect.arrayContaining(['providerId is required.', 'name is required.', 'adapter is required.']),
  )
})

test('a refusal of a document names the missing member and its type', async () => {
  const detailsOf = async (body: object) =>
    (await svc.admin.post('/ai-providers', body)).errors.map((one) => one.detail)

  expect(await detailsOf({})).toEqual(['data is required.'])
  expect(await detailsOf({ data: { type: 7, attributes: [] } })).toEqual([
    'data.type must be a string.',
    'data.attributes must be an object.',
  ])
})

test('a body may have members that nobody knows, and such with an @', async () => {
  const { type, attributes } = create.data
  const body = {
    data: {
      type,
      attributes: { ...attributes, '@comment': 1 },
      lid: 'mine',
      '@type': 'x',
      other: [],
      meta: {},
      links: {},
    },
    meta: { a: 1 },
    extra: null,
    '@context': {},
  }

  const { status, one } = await svc.admin.post('/ai-providers', body)

  expect(status).toBe(201)
  expect(one.attributes).toMatchObject(attributes)
  expect(one).not.toHaveProperty('lid')
})

test('an @-member is ignored at every depth of a document', async () => {
  const { provider, tool } = catalogue
  const of = { '@id': 1, data: { '@x': 1, ...toOne('ai-providers', provider.open).data } }
  const limits = { maxInputTokens: 5, '@unit': 'tokens' }
  const attributes = { modelId: 'at', label: 'At', usageTypes: ['main'], limits, '@note': { '@x': [] } }

  const created = await svc.admin.post('/ai-models', {
    data: { type: 'ai-models', attributes, relationships: { '@x': 7, provider: of } },
  })
  const { id } = created.one
  const changed = await svc.admin.patch(`/ai-models/${id}`, {
    data: { type: 'ai-models', id, attributes: { limits }, relationships: { '@x': { data: null } } },
  })
  const linked = await svc.admin.post(`/ai-tools/${tool.search}/relationships/models`, {
    '@x': 1,
    data: [{ type: 'ai-models', id, '@x': 1 }],
  })
  const searched = await svc.ada.post('/users/actions/search', {
    data: { type: 'users', attributes: { '@a': 1, query: 'bob' } },
  })

  expect([created.status, created.errors]).toEqual([201, []])
  expect([changed.status, changed.errors, linked.status]).toEqual([200, [], 200])
  expect(changed.one.attributes['limits']).toEqual({ maxInputTokens: 5 })
  expect([searched.status, searched.errors]).toEqual([200, []])
})

test('a member with an @ is bounded as any other is', async () => {
  const { type, attributes } = create.data
  const send = (extra: object) => svc.admin.create(type, { ...attributes, ...extra })
  const many = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`@${index}`, index]))

  const answers = await Promise.all([send({ '@note': 'a\u0000b' }), send(many), send({ ['@'.repeat(300)]: 1 })])

  expect(answers.map(({ status }) => status)).toEqual([422, 422, 422])
})

test('a body of a change names the row of its address', async () => {
  const { provider } = catalogue
  const patch = (data: object) => svc.admin.patch(`/ai-providers/${provider.open}`, { data })

  const missing = await patch({ type: 'ai-providers', attributes: { name: 'N' } })
  const other = await patch({ type: 'ai-providers', id: '999', attributes: { name: 'N' } })
  const wrong = await patch({ type: 'ai-models', id: provider.open, attributes: { name: 'N' } })

  expect([missing.status, pointersOf(missing)]).toEqual([422, ['/data']])
  expect([other.status, pointersOf(other)]).toEqual([409, ['/data/id']])
  expect([wrong.status, pointersOf(wrong)]).toEqual([409, ['/data/type']])
  expect((await svc.admin.get(`/ai-providers/${provider.open}`)).one.attributes['name']).toBe('open')
})

test('a body of a reading is not looked at', async () => {
  const headers = { ...bearerHeader(svc.people.ada.token), 'content-type': 'text/plain', 'content-length': '9' }

  const { status } = await sendRaw(svc.url, { method: 'GET', path: '/ai-models', headers, body: 'no{json}!' })

  expect(status).toBe(200)
})

test('a body is not needed to delete, even where its type is named', async () => {
  const { provider } = catalogue

  const answer = await svc.admin.send('DELETE', `/ai-providers/${provider.off}`, undefined, {
    'content-type': mediaType,
  })

  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.text)).toEqual({ jsonapi: { version: '1.1' }, meta: { _svc_sync_log: [] } })
  expect((await svc.admin.get(`/ai-providers/${provider.off}`)).status).toBe(404)
})

test('a body with what cannot be kept is refused, and not by accident', async () => {
  const nul = await svc.admin.create('ai-providers', { ...create.data.attributes, name: 'a\u0000b' })
  const half = await svc.admin.send(
    'POST',
    '/mcp-servers',
    '{"data":{"type":"mcp-servers","attributes":{"serverLabel":"s","url":"u","timeouts":{"connect":1},"description":"\\ud800"}}}',
  )
  const long = await svc.admin.create('mcp-servers', {
    serverLabel: 's',
    url: Array.from({ length: 1000 }, (_, index) => String.fromCodePoint(0x10400 + ((index * 7919) % 40_000))).join(''),
  })

  expect(nul.status).toBe(422)
  expect([201, 422]).toContain(half.status)
  expect(long.status).toBe(422)
})

test('every changing answer carries the sync log', async () => {
  const created = await svc.admin.create('ai-providers', { providerId: 'q', name: 'P', adapter: 'demo' })
  const { id } = created.one
  const changed = await svc.admin.update('ai-providers', id, { name: 'Q' })
  const deleted = await svc.admin.delete(`/ai-providers/${id}`)

  expect([created.status, changed.status, deleted.status]).toEqual([201, 200, 200])
  expect(created.headers.get('location')).toBe(created.one.links['self'])
  for (const { meta } of [created, changed, deleted]) expect(meta).toEqual({ _svc_sync_log: [] })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildRoutes } from '../../facades/json-api/routes.ts'
import { appPublicKey } from '../kit/apps/ext-app.ts'
import { addAssistant, wholeRouter, withAssistants } from '../kit/json-api/assistants.ts'
import { addCatalogue, type Client, type JsonApiApp, pointersOf, startJsonApi, toOne } from '../kit/json-api/client.ts'

const writable = buildRoutes(wholeRouter)
  .filter(({ method, answers, procedure }) => method === 'PATCH' && answers === 'one' && procedure)
  .map(({ resource }) => resource)

let svc: JsonApiApp
beforeAll(async () => {
  svc = await startJsonApi(withAssistants)
  const { model, provider } = await addCatalogue(svc)
  const servers = [{ apiUrl: 'https://ai.example/v1', apiKey: 'KEY' }]
  await svc.admin.update('ai-providers', provider.open, { servers })
  const related = { model: toOne('ai-models', model.external) }
  await svc.admin.create('ai-model-descriptions', { locale: 'en_US', description: 'A model.' }, related)
  await svc.admin.create('system-models', { modelType: 'summary', usageType: 'external' }, related)
  await svc.admin.create('system-prompts', { promptType: 'greeting', locale: 'en_US', prompt: 'Be kind.' })
  await svc.admin.create('ext-apps', {
    name: 'Portal',
    url: 'https://portal.example',
    redirectUrls: ['https://portal.example/back'],
    publicKey: appPublicKey,
  })
  await addAssistant(svc.admin, 'of-admin', 'external')
  const room = toOne('rooms', (await svc.admin.create('rooms', { name: 'Chess' })).one.id)
  await svc.admin.create('room-messages', { content: 'aXY=|dGFn|Y2lwaGVy' }, { room })
})
afterAll(() => svc[Symbol.asyncDispose]())

/** Reads a resource at its own address, with or without the linkage of all relations. */
async function read(client: Client, path: string) {
  const { status, text, one, headers } = await client.get(path)
  expect(status, text).toBe(200)
  return { document: JSON.parse(text), one, etag: headers.get('etag') }
}

test.for(writable.map((resource) => [resource.type, resource] as const))(
  'sending back %s as it was read is a valid update without effect',
  async ([type, { includes }]) => {
    const { list } = await svc.admin.get(`/${type}`)
    // The AI user cannot be changed.
    const isAi = ({ id, attributes }: (typeof list)[0]) =>
      type === 'users' ? id === '1' : attributes['role'] === 'assistant'
    const changeable = list.filter((resource) => !isAi(resource))
    expect(changeable.length).toBeGreaterThan(0)
    for (const { id } of changeable)
      for (const query of ['', `?include=${includes.join()}`]) {
        const before = await read(svc.admin, `/${type}/${id}${query}`)

        const patched = await svc.admin.patch(`/${type}/${id}`, before.document)

        expect([type, id, patched.status, patched.errors]).toEqual([type, id, 200, []])
        expect((await read(svc.admin, `/${type}/${id}${query}`)).etag).toBe(before.etag)
      }
  },
)

test('sending back oneself is valid for a person who may change little', async () => {
  const { document, etag } = await read(svc.ada, `/users/${svc.people.ada.id}`)
  expect(document.data.attributes).toMatchObject({ username: 'ada', role: 'user' })

  const patched = await svc.ada.patch(`/users/${svc.people.ada.id}`, document)

  expect([patched.status, patched.errors]).toEqual([200, []])
  expect((await read(svc.ada, `/users/${svc.people.ada.id}`)).etag).toBe(etag)
})

test('a resource sent back with one change changes that member alone', async () => {
  const { id } = (await svc.admin.get('/ai-providers')).list[0]!
  const { document } = await read(svc.admin, `/ai-providers/${id}`)
  document.data.attributes.name = 'Another name'
  const key = () => svc.rows('select api_key from ai_providers where id = $1', [id])
  const before = await key()

  const patched = await svc.admin.patch(`/ai-providers/${id}`, document)

  expect([patched.status, patched.one.attributes]).toEqual([
    200,
    { ...document.data.attributes, updatedAt: expect.any(String) },
  ])
  expect(patched.one.attributes['updatedAt']).not.toBe(document.data.attributes.updatedAt)
  expect(await key()).toEqual(before)
})

describe('a member that is not written', () => {
  const type = 'ai-tools'
  let id: string
  let path: string
  beforeAll(async () => {
    id = (await svc.admin.get('/ai-tools')).list[0]!.id
    path = `/ai-tools/${id}`
  })

  test.for([
    ['createdAt', '2020-01-01T00:00:00.000Z'],
    ['name', 'another'],
    ['status', null],
  ])('a member that is not written is refused as read-only where it changed: %s', async ([name, value]) => {
    const { status, errors } = await svc.admin.update(type, id, { active: true, [String(name)]: value })

    expect([status, errors.map(({ code, detail }) => [code, detail])]).toEqual([
      403,
      [['read_only', `${name} is read-only.`]],
    ])
    expect(errors[0]?.source).toEqual({ pointer: `/data/attributes/${name}` })
  })

  test('a changed read-only relation is refused as read-only', async () => {
    const refused = await svc.admin.update(type, id, {}, { models: { data: [] } })

    expect([refused.status, refused.errors[0]?.code, pointersOf(refused)]).toEqual([
      403,
      'read_only',
      ['/data/relationships/models/data'],
    ])
  })

  test('a member that is not written is refused as read-only in a new resource', async () => {
    const given = { providerId: 'new', name: 'New', adapter: 'demo', createdAt: '2020-01-01T00:00:00.000Z' }

    const refused = await svc.admin.create('ai-providers', given)

    expect([refused.status, refused.errors[0]?.code]).toEqual([403, 'read_only'])
    expect(pointersOf(refused)).toEqual(['/data/attributes/createdAt'])
  })

  test('the links of a resource are ignored where a library sends them back', async () => {
    const links = { self: `${svc.url}/api/svc/v1${path}` }
    const among = await svc.admin.update(type, id, { active: true, links })
    const beside = await svc.admin.patch(path, { links, data: { type, id, links, attributes: { active: true } } })

    expect([among.status, beside.status]).toEqual([200, 200])
  })

  test('a member that the type lacks is refused as unknown', async () => {
    const attribute = await svc.admin.update(type, id, { colour: 'red' })
    const relation = await svc.admin.patch(path, { data: { type, id, relationships: { owner: { links: {} } } } })

    expect([attribute.status, attribute.errors[0]?.detail]).toEqual([422, 'colour is not known here.'])
    expect([relation.status, pointersOf(relation)]).toEqual([422, ['/data/relationships/owner']])
  })

  test('a read-only member reveals nothing about a missing row', async () => {
    const { status } = await svc.admin.update(type, '999999', { active: true })

    expect(status).toBe(404)
  })

  test('a read-only relation object must not be empty', async () => {
    const { status, errors } = await svc.admin.patch(path, { data: { type, id, relationships: { models: {} } } })

    expect([status, errors[0]?.source]).toEqual([422, { pointer: '/data/relationships/models' }])
  })
})

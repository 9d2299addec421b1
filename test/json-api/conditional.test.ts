// @module-tag debian

import { beforeAll, expect, test } from 'vitest'
import { createClient, type SvcError } from '../../facades/client/index.ts'
import { newName } from '../kit/identity/people.ts'
import {
  addCatalogue,
  type Catalogue,
  type Client,
  createApiClient,
  type JsonApiApp,
  startJsonApi,
  toMany,
  toOne,
} from '../kit/json-api/client.ts'
import { waitForLocks } from '../kit/locks.ts'
import { openClient } from '../kit/postgres-client.ts'
import { shareResource } from '../kit/share-resource.ts'

let provider: Catalogue['provider']
let model: Catalogue['model']
let tool: Catalogue['tool']
let server: Catalogue['server']
const svc = shareResource(startJsonApi)
beforeAll(async () => {
  ;({ provider, model, tool, server } = await addCatalogue(svc))
})

const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag') ?? ''

const addProvider = async () => {
  const attributes = { providerId: newName('provider'), name: 'Old', adapter: 'demo' }
  return (await svc.admin.create('ai-providers', attributes)).one.id
}

const addModel = async () => {
  const attributes = { modelId: newName('model'), label: 'Old', usageTypes: ['main'] }
  return (await svc.admin.create('ai-models', attributes, { provider: toOne('ai-providers', provider.open) })).one.id
}

const patch = (client: Client, type: string, id: string, attributes: object, headers: Record<string, string>) =>
  client.send('PATCH', `/${type}/${id}`, { data: { type, id, attributes } }, headers)

test('a read has an ETag at every address and is answered with 304', async () => {
  const paths = [
    '/ai-models',
    '/ai-models?include=provider,tools&page[size]=2',
    `/ai-models/${model.main}`,
    `/ai-models/${model.main}/tools`,
    `/ai-models/${model.main}/provider`,
    `/ai-tools/${tool.search}/server`,
    `/ai-models/${model.main}/relationships/tools`,
    `/mcp-servers/${server.up}`,
    '/ai-providers',
    '/ai-model-flags',
    '/ai-model-flags/open-weights',
    '/configs',
    '/configs/public',
    '/configs/locale',
    '/translation-labels/de_DE',
    '/users/me',
    '/system-prompts',
  ]
  for (const path of paths) {
    const first = await svc.admin.get(path)
    const tag = tagOf(first)
    expect([path, first.status, tag]).toEqual([path, 200, expect.stringMatching(/^"[\w.-]+(~\w+)?"$/)])

    const again = await svc.admin.get(path, { 'if-none-match': tag })
    const head = await svc.send('HEAD', `/api/svc/v1${path}`, {
      token: svc.people.admin.token,
      headers: { 'if-none-match': tag },
    })

    expect([again.status, again.text, tagOf(again)]).toEqual([304, '', tag])
    expect([head.status, head.headers.get('etag')]).toEqual([304, tag])
    expect(again.headers.get('vary')).toContain('Accept')
    expect(again.headers.get('cache-control')).toContain('private')
  }
})

test('a read matches a weak tag, a list of tags and a star', async () => {
  const path = `/ai-models/${model.main}`
  const tag = tagOf(await svc.admin.get(path))
  const statusFor = async (known: string) => (await svc.admin.get(path, { 'if-none-match': known })).status

  expect(await statusFor(`"other", ${tag}`)).toBe(304)
  expect(await statusFor(`W/${tag}`)).toBe(304)
  expect(await statusFor(`W/"other",W/${tag}`)).toBe(304)
  expect(await statusFor('*')).toBe(304)
  expect(await statusFor('"other"')).toBe(200)
  expect(await statusFor(tag.slice(1, -1))).toBe(200)
  expect(await statusFor('rubbish ,,"')).toBe(200)
})

test('a reading has another tag where it shows something else', async () => {
  const path = `/ai-models/${model.external}`

  const tags = [
    tagOf(await svc.admin.get(path)),
    tagOf(await svc.admin.get(`${path}?fields[ai-models]=label`)),
    tagOf(await svc.admin.get(`${path}?include=provider`)),
    tagOf(await svc.ada.get(path)),
    tagOf(await svc.admin.get('/translation-labels/de_DE')),
    tagOf(await svc.admin.get('/translation-labels/en_US')),
  ]

  expect(new Set(tags).size).toBe(tags.length)
  expect(tagOf(await svc.ada.get(path))).toBe(tagOf(await svc.bob.get(path)))
})

test('a reading has another tag in another language', async () => {
  for (const [locale, description] of [
    ['en_US', 'Good'],
    ['de_DE', 'Gut'],
  ] as const)
    await svc.admin.create(
      'ai-model-descriptions',
      { locale, description },
      { model: toOne('ai-models', model.external) },
    )
  const read = (locale: string) => svc.ada.get('/ai-model-descriptions', { 'x-app-locale': locale })

  const [german, english] = [await read('de_DE'), await read('en_US')]

  expect(german.list.map(({ attributes }) => attributes['description'])).toEqual(['Gut'])
  expect(tagOf(german)).not.toBe(tagOf(english))
  const crossed = await svc.ada.get('/ai-model-descriptions', {
    'x-app-locale': 'en_US',
    'if-none-match': tagOf(german),
  })
  expect(crossed.status).toBe(200)
})

test('a reading that is refused is refused with a tag, too', async () => {
  expect((await svc.admin.get('/ai-models/999', { 'if-none-match': '*' })).status).toBe(404)
  expect((await svc.guest.get('/ai-models', { 'if-none-match': '*' })).status).toBe(401)
  expect((await svc.ada.get('/ai-models?include=x', { 'if-none-match': '*' })).status).toBe(400)
})

test('a conditional change with the current tag is made, and returns a new one', async () => {
  const id = await addProvider()
  const read = await svc.admin.get(`/ai-providers/${id}`)

  const changed = await patch(svc.admin, 'ai-providers', id, { name: 'New' }, { 'if-match': tagOf(read) })

  expect([changed.status, changed.one.attributes['name']]).toEqual([200, 'New'])
  expect(tagOf(changed)).not.toBe(tagOf(read))
  const again = await patch(svc.admin, 'ai-providers', id, { name: 'Newer' }, { 'if-match': tagOf(changed) })
  expect(again.status).toBe(200)
})

test('a conditional change with an outdated tag is refused and changes nothing', async () => {
  const id = await addProvider()
  const stale = tagOf(await svc.admin.get(`/ai-providers/${id}`))
  await svc.admin.update('ai-providers', id, { name: 'Faster' })

  const change = await patch(svc.admin, 'ai-providers', id, { name: 'Slower' }, { 'if-match': stale })
  const removal = await svc.admin.send('DELETE', `/ai-providers/${id}`, undefined, { 'if-match': stale })

  for (const { status, errors } of [change, removal]) {
    expect(status).toBe(412)
    expect(errors).toMatchObject([{ status: '412', code: 'precondition_failed', source: { header: 'If-Match' } }])
  }
  expect((await svc.admin.get(`/ai-providers/${id}`)).one.attributes['name']).toBe('Faster')
})

test('a conditional change is refused with a value that is no tag', async () => {
  for (const tag of ['rubbish', '"rubbish"', '"0.x"', 'W/', '', '"1', '"99999999999999999999999.x"']) {
    const { status } = await patch(svc.admin, 'ai-providers', provider.open, { name: 'New' }, { 'if-match': tag })
    expect([tag, status]).toEqual([tag, 412])
  }
})

test('a conditional change needs a strong tag, a list of them or a star', async () => {
  const path = `/ai-providers/${provider.open}`
  const attempt = async (header: (tag: string) => string) => {
    const tag = tagOf(await svc.admin.get(path))
    return (await patch(svc.admin, 'ai-providers', provider.open, { name: 'New' }, { 'if-match': header(tag) })).status
  }

  expect(await attempt((tag) => `W/${tag}`)).toBe(412)
  expect(await attempt((tag) => `"1.other", ${tag}`)).toBe(200)
  expect(await attempt(() => '*')).toBe(200)
  expect((await patch(svc.admin, 'ai-providers', '99999', { name: 'New' }, { 'if-match': '*' })).status).toBe(404)
})

test('a conditional change accepts the tag of a sparse or compound read', async () => {
  for (const query of ['?fields[ai-providers]=name', '?include=models', '']) {
    const tag = tagOf(await svc.admin.get(`/ai-providers/${provider.open}${query}`))
    const { status } = await patch(svc.admin, 'ai-providers', provider.open, { name: 'New' }, { 'if-match': tag })
    expect([query, status]).toEqual([query, 200])
  }
})

test('a conditional change works on every type that can be changed', async () => {
  await svc.rows(`update mcp_servers set version = '3.1.4'`)
  const changes = [
    ['mcp-servers', server.up, { serverLabel: 'New' }],
    ['ai-tools', tool.search, { mappedCapabilityKey: 'web_fetch' }],
    ['ai-models', model.main, { label: 'New' }],
    ['users', String(svc.people.admin.id), { bio: 'New' }],
  ] as const
  for (const [type, id, attributes] of changes) {
    const tag = tagOf(await svc.admin.get(`/${type}/${id}`))
    expect([type, (await patch(svc.admin, type, id, attributes, { 'if-match': tag })).status]).toEqual([type, 200])
    expect([type, (await patch(svc.admin, type, id, attributes, { 'if-match': tag })).status]).toEqual([type, 412])
  }
  expect(await svc.rows('select distinct version from mcp_servers')).toEqual([{ version: '3.1.4' }])
})

test('a conditional removal of a person needs the current tag', async () => {
  const { id, token } = await svc.user({ username: newName('eve'), abilities: ['user', 'read', 'write'] })
  const path = `/users/${id}`
  const stale = tagOf(await svc.admin.get(path))
  await createApiClient(svc, token).update('users', id, { bio: 'Still here' })

  const refused = await svc.admin.send('DELETE', path, undefined, { 'if-match': stale })
  const fresh = tagOf(await svc.admin.get(path))
  const removed = await svc.admin.send('DELETE', path, undefined, { 'if-match': fresh })

  expect([refused.status, removed.status]).toEqual([412, 200])
})

test('a change of a relation changes the tags of both sides', async () => {
  const id = await addModel()
  await svc.rows('insert into ai_model_tools (model_id, tool_id) values ($1, $2)', [id, tool.search])
  const tags = async () => [
    tagOf(await svc.admin.get(`/ai-tools/${tool.search}`)),
    tagOf(await svc.admin.get(`/ai-models/${id}`)),
  ]
  const [toolTag = '', modelTag = ''] = await tags()
  const path = `/ai-tools/${tool.search}/relationships/models`

  const changed = await svc.admin.send('DELETE', path, toMany('ai-models', [id]), { 'if-match': toolTag })
  const stale = await svc.admin.send('POST', path, toMany('ai-models', [id]), { 'if-match': toolTag })
  const other = await svc.admin.send(
    'PATCH',
    `/ai-models/${id}`,
    { data: { type: 'ai-models', id, relationships: { tools: toMany('ai-tools', []) } } },
    { 'if-match': modelTag },
  )

  expect([changed.status, stale.status, other.status]).toEqual([200, 412, 412])
  const [newTool, newModel] = await tags()
  expect([newTool === toolTag, newModel === modelTag]).toEqual([false, false])
})

test('a conditional creation is refused with a tag, and accepted with a star', async () => {
  const body = { data: { type: 'ai-providers', attributes: { providerId: 'p', name: 'P', adapter: 'demo' } } }

  expect((await svc.admin.send('POST', '/ai-providers', body, { 'if-match': '"1.x"' })).status).toBe(412)
  expect((await svc.admin.send('POST', '/ai-providers', body, { 'if-match': '*' })).status).toBe(201)
})

/** Blocks changes of a model with a row lock, so that all of them run at once. */
async function crowd<T>({ env }: JsonApiApp, model: string, change: (index: number) => Promise<T>): Promise<T[]> {
  await using holder = await openClient(env.DATABASE_URL)
  await holder.query('begin')
  await holder.query('select from ai_models where id = $1 for update', [model])
  const answers = Promise.all(Array.from({ length: 20 }, (_, index) => change(index)))
  // Two catalogue changes run at a time; the others wait for a connection.
  await waitForLocks(env.DATABASE_URL, 2)
  await holder.query('commit')
  return answers
}

test('twenty changes that insist on the same reading are one change through JSON:API', async () => {
  const id = await addModel()
  const tag = tagOf(await svc.admin.get(`/ai-models/${id}`))

  const answers = await crowd(svc, id, (index) =>
    patch(svc.admin, 'ai-models', id, { label: `Label ${index}` }, { 'if-match': tag }),
  )

  const won = answers.filter(({ status }) => status === 200)
  expect(won).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 412)).toHaveLength(19)
  const { one } = await svc.admin.get(`/ai-models/${id}`)
  expect(one.attributes['label']).toBe(won[0]?.one.attributes['label'])
})

test('of twenty conditional changes by procedures, only one is made', async () => {
  const id = await addModel()
  const client = createClient({ url: svc.url, token: svc.people.admin.token })
  const { rowVersion = '' } = await client.aiModels.get.query({ id })

  // A new value: an unchanged label would leave the row version as it is.
  const answers = await crowd(svc, id, (index) =>
    client.aiModels.update.mutate({ id, label: `Name ${index}`, ifVersion: rowVersion }).then(
      ({ label }) => label,
      ({ code }: SvcError) => String(code),
    ),
  )

  expect(answers.filter((answer) => answer === 'precondition_failed')).toHaveLength(19)
  const [label] = answers.filter((answer) => answer?.startsWith('Name'))
  expect((await client.aiModels.get.query({ id })).label).toBe(label)
})

test('twenty changes that insist on the same reading are one removal', async () => {
  const id = await addModel()
  const headers = { 'if-match': tagOf(await svc.admin.get(`/ai-models/${id}`)) }

  const answers = await crowd(svc, id, () => svc.admin.send('DELETE', `/ai-models/${id}`, undefined, headers))

  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 404)).toHaveLength(19)
})

import { expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { newName } from '../kit/identity/people.ts'
import {
  addPeople,
  base,
  type Client,
  createApiClient,
  idsOf,
  pointersOf,
  toMany,
  toOne,
} from '../kit/json-api/client.ts'
import type { OpenApi } from '../kit/json-api/openapi.ts'
import { shareResource } from '../kit/share-resource.ts'
import { watchStatements } from '../kit/statements.ts'

const statements = watchStatements()

const start = async (settings: Record<string, string> = {}) => {
  const svc = await startApp({ JSONAPI_ASSISTANTS: 'true', ...settings })
  return Object.assign(svc, await addPeople(svc))
}
const svc = shareResource(start)
const types = ['assistants', 'assistant-versions', 'assistant-user-prompts', 'assistant-tags']

const content = {
  name: 'Thesis helper',
  systemPrompt: 'Answer as a librarian.',
  greeting: 'Hello.',
  description: 'Helps with a thesis.',
  detailDescription: 'It knows the **rules** of the library.',
  model: 'demo',
  maxTokens: 500,
  temp: 0.2,
}

/** Creates an assistant of Ada, which only she may use. */
async function createAssistant(attributes: object = {}) {
  const handle = newName('helper').toLowerCase()
  const { status, one, headers, text } = await svc.ada.create('assistants', { ...content, handle, ...attributes })
  if (status !== 201) throw new Error(text)
  return { id: one.id, handle, one, headers, path: `/assistants/${one.id}` }
}

const act = (client: Client, id: string, action: string, body: object = {}) =>
  client.post(`/assistants/${id}/actions/${action}`, body)
const release = (id: string, releaseStage: string, client = svc.ada) => act(client, id, 'release', { releaseStage })
const readOpenApi = async (app: TestApp) =>
  (await (await app.send('GET', '/api/svc/v1/openapi.json')).json()) as OpenApi
const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag') ?? ''

test('without the setting the types of assistants are neither served nor described', async () => {
  await using plain = await startApp({ JSONAPI_ASSISTANTS: 'false' })
  const { token } = await plain.user({ abilities: ['read', 'write'] })
  const client = createApiClient(plain, token)

  for (const type of types) expect([type, (await client.get(`/${type}`)).status]).toEqual([type, 404])
  expect(plain.services.records.resources.all).toHaveLength(20)
  const described = await readOpenApi(plain)
  expect(Object.keys(described.paths).filter((path) => path.includes('assistant'))).toEqual([])
})

test('with the setting the four types are described beside those of the contract', async () => {
  const described = await readOpenApi(svc)

  const tags = described.tags.map(({ name }) => name)
  expect(tags).toEqual(expect.arrayContaining(types))
  expect(svc.services.records.resources.all).toHaveLength(24)
  expect(
    Object.keys(described.paths)
      .filter((path) => /\/assistant/.test(path))
      .sort(),
  ).toMatchInlineSnapshot(`
    [
      "/api/svc/v1/assistant-tags",
      "/api/svc/v1/assistant-tags/{id}",
      "/api/svc/v1/assistant-user-prompts",
      "/api/svc/v1/assistant-user-prompts/{id}",
      "/api/svc/v1/assistant-user-prompts/{id}/assistant",
      "/api/svc/v1/assistant-user-prompts/{id}/relationships/assistant",
      "/api/svc/v1/assistant-versions",
      "/api/svc/v1/assistant-versions/{id}",
      "/api/svc/v1/assistant-versions/{id}/assistant",
      "/api/svc/v1/assistant-versions/{id}/relationships/assistant",
      "/api/svc/v1/assistants",
      "/api/svc/v1/assistants/{id}",
      "/api/svc/v1/assistants/{id}/actions/favorite",
      "/api/svc/v1/assistants/{id}/actions/release",
      "/api/svc/v1/assistants/{id}/actions/remix",
      "/api/svc/v1/assistants/{id}/assistantTags",
      "/api/svc/v1/assistants/{id}/assistantUserPrompts",
      "/api/svc/v1/assistants/{id}/assistantVersions",
      "/api/svc/v1/assistants/{id}/creator",
      "/api/svc/v1/assistants/{id}/relationships/assistantTags",
      "/api/svc/v1/assistants/{id}/relationships/assistantUserPrompts",
      "/api/svc/v1/assistants/{id}/relationships/assistantVersions",
      "/api/svc/v1/assistants/{id}/relationships/creator",
    ]
  `)
})

test('an assistant is a draft of its creator, who reads its texts', async () => {
  const { one, handle, path, headers } = await createAssistant({ systemPrompt: 'Answer as an archivist.' })

  expect(one.attributes).toEqual({
    ...content,
    systemPrompt: 'Answer as an archivist.',
    handle,
    topP: null,
    allowRemix: false,
    allowModelSelect: false,
    releaseStage: 'draft',
    isFavorite: false,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  })
  expect(headers.get('location')).toContain(path)
  expect((await svc.ada.get(path)).one).toEqual(one)
  const [row] = await svc.rows<{ dump: string }>(`select string_agg(v::text, '') as dump from assistant_versions v`)
  expect(row?.dump).not.toMatch(/archivist|rules/)
})

test('a guest, a stranger, an administrator and weak tokens get no draft', async () => {
  const { id, handle, path } = await createAssistant()
  const reading = await svc.host.tokens.createFor({
    user: { id: svc.people.ada.id },
    name: 'reads',
    abilities: ['read'],
  })
  const asking = await svc.host.tokens.createFor({ user: { id: svc.people.ada.id }, name: 'asks', abilities: ['ai'] })
  const reader = createApiClient(svc, reading.token)

  for (const client of [svc.bob, svc.admin]) {
    expect((await client.get(`/assistants?filter[handle]=${handle}`)).list).toEqual([])
    const answers = await Promise.all([
      client.get(path),
      client.get(`${path}/assistant-versions`.replace('assistant-versions', 'assistantVersions')),
      client.update('assistants', id, { name: 'Mine' }),
      client.delete(path),
      release(id, 'organizational', client),
      act(client, id, 'remix'),
      act(client, id, 'favorite'),
      client.delete(`${path}/actions/favorite`),
      client.post(`${path}/relationships/assistantTags`, toMany('assistant-tags', ['mine'])),
      client.create('assistant-user-prompts', { text: 'Mine?' }, { assistant: toOne('assistants', id) }),
    ])
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
  }
  expect((await svc.guest.get(path)).status).toBe(401)
  expect((await svc.guest.get('/assistant-tags')).status).toBe(401)
  expect((await reader.get(path)).status).toBe(200)
  expect((await release(id, 'private', reader)).errors[0]?.code).toBe('missing_ability')
  expect((await createApiClient(svc, asking.token).get(path)).errors[0]?.code).toBe('missing_ability')
  expect((await svc.ada.get(path)).one.attributes['name']).toBe('Thesis helper')
})

test('an unknown assistant and one of others are answered alike', async () => {
  const { id, handle } = await createAssistant()
  const never = '2147483646'
  const asked = async (of: string, named: string) => {
    const answers = await Promise.all([
      svc.bob.get(`/assistants/${of}`),
      svc.bob.get(`/assistants?filter[handle]=${named}`),
      act(svc.bob, of, 'remix'),
      act(svc.bob, of, 'favorite'),
      svc.bob.delete(`/assistants/${of}`),
    ])
    return answers.map(({ text }) =>
      text
        .replaceAll(named, 'HANDLE')
        .replaceAll(of, 'ID')
        .replaceAll(/"requestId":"[^"]+"/g, ''),
    )
  }

  expect(await asked(id, handle)).toEqual(await asked(never, 'never-was'))
})

test('people of the organization use what was released, and do not read its instructions', async () => {
  const { id, handle, path } = await createAssistant({ systemPrompt: 'First.' })

  expect((await release(id, 'private')).one.attributes['releaseStage']).toBe('private')
  expect((await svc.bob.get(path)).status).toBe(404)
  expect((await release(id, 'organizational')).one.attributes['releaseStage']).toBe('organizational')
  await svc.ada.update('assistants', id, { name: 'Next', systemPrompt: 'Second.' })
  const [seen] = (await svc.bob.get(`/assistants?filter[handle]=${handle}`)).list
  expect(seen?.attributes).toMatchObject({ name: 'Thesis helper', detailDescription: content.detailDescription })
  expect(seen?.attributes).not.toHaveProperty('systemPrompt')
  expect((await svc.ada.get(path)).one.attributes).toMatchObject({ name: 'Next', systemPrompt: 'Second.' })
  expect((await svc.bob.update('assistants', id, { name: 'Mine' })).status).toBe(403)
  expect((await svc.bob.delete(path)).status).toBe(403)
  await release(id, 'organizational')
  expect((await svc.bob.get(path)).one.attributes['name']).toBe('Next')
  await release(id, 'private')
  expect((await svc.bob.get(path)).status).toBe(404)
})

test('an unknown stage is refused in words, and a released assistant remains released', async () => {
  const { id } = await createAssistant()

  const federated = await release(id, 'federated')
  const filtered = await svc.ada.get('/assistants?filter[releaseStage]=federated')
  expect([federated.status, federated.errors[0]?.detail]).toEqual([422, expect.stringContaining('with no other one')])
  expect([filtered.status, filtered.errors[0]?.detail]).toEqual([400, expect.stringContaining('with no other one')])
  expect((await release(id, 'draft')).status).toBe(200)
  await release(id, 'private')
  expect((await release(id, 'draft')).status).toBe(409)
  const created = await svc.ada.create('assistants', {
    ...content,
    handle: newName('x').toLowerCase(),
    releaseStage: 'draft',
  })
  expect(created.errors[0]?.code).toBe('read_only')
})

test('a list is narrowed by stages, sorted and paged', async () => {
  const [one, other] = [await createAssistant(), await createAssistant()]
  await release(other.id, 'private')
  const listed = async (query: string) => idsOf((await svc.ada.get(`/assistants?page[size]=100&${query}`)).list)

  expect(await listed('filter[releaseStage]=draft')).toContain(one.id)
  expect(await listed('filter[releaseStage]=draft')).not.toContain(other.id)
  expect(await listed('filter[releaseStage]=draft,private&sort=-createdAt')).toEqual(
    expect.arrayContaining([other.id, one.id]),
  )
  const page = await svc.ada.get('/assistants?page[size]=1&sort=-createdAt&fields[assistants]=name')
  expect([page.list.length, Object.keys(page.list[0]?.attributes ?? {})]).toEqual([1, ['name']])
  expect(page.links['next']).not.toBeNull()
})

test('a change makes a version, and an outdated one is refused with 412', async () => {
  const { id, path } = await createAssistant()
  const first = tagOf(await svc.ada.get(path))
  const patch = (attributes: object, tag: string) =>
    svc.ada.send('PATCH', path, { data: { type: 'assistants', id, attributes } }, { 'if-match': tag })

  const changed = await patch({ temp: null, topP: 0.5, greeting: 'Good day.' }, first)
  expect([changed.status, changed.one.attributes]).toMatchObject([
    200,
    { temp: null, topP: 0.5, greeting: 'Good day.', maxTokens: 500 },
  ])
  expect(tagOf(changed)).not.toBe(first)
  expect((await patch({ name: 'Outdated' }, first)).status).toBe(412)
  expect((await svc.ada.send('DELETE', path, undefined, { 'if-match': first })).status).toBe(412)
  const second = tagOf(await svc.ada.get(path))
  expect((await svc.ada.get(path, { 'if-none-match': second })).status).toBe(304)
  expect((await patch({ greeting: 'Good day.' }, second)).status).toBe(200)
  expect(tagOf(await svc.ada.get(path))).toBe(second)
  const { one, included } = await svc.ada.get(`${path}?include=assistantVersions,creator`)
  expect(included.filter(({ type }) => type === 'assistant-versions').map((it) => it.attributes)).toMatchObject([
    { version: 1, temp: 0.2, topP: null, isPublished: false },
    { version: 2, temp: null, topP: 0.5, isPublished: false },
  ])
  expect(one.relationships?.['creator']?.data).toEqual({ type: 'users', id: String(svc.people.ada.id) })
  expect((await svc.ada.delete(path)).status).toBe(200)
  expect((await svc.ada.get(path)).status).toBe(404)
})

test('only the published version is shown to those who use an assistant', async () => {
  const { id, path } = await createAssistant()
  await release(id, 'organizational')
  await svc.ada.update('assistants', id, { name: 'Draft' })

  const versions = async (client: Client) => (await client.get(`${path}/assistantVersions`)).list
  expect((await versions(svc.ada)).map((it) => it.attributes['version'])).toEqual([1, 2])
  const [seen, ...more] = await versions(svc.bob)
  expect([seen?.attributes, more]).toMatchObject([{ version: 1, isPublished: true }, []])
  const [, draft] = await versions(svc.ada)
  expect((await svc.bob.get(`/assistant-versions/${draft?.id}`)).status).toBe(404)
  expect((await svc.bob.get(`/assistant-versions/${seen?.id}/assistant`)).one.id).toBe(id)
})

test('starters are added, included and deleted without a change of the others', async () => {
  const { id, path } = await createAssistant()
  const add = (text: string) =>
    svc.ada.create('assistant-user-prompts', { text }, { assistant: toOne('assistants', id) })
  const [first, second] = [await add('How do I cite?'), await add('Where do I begin?')]

  expect([first.status, first.one.attributes]).toEqual([201, { text: 'How do I cite?' }])
  expect((await add('How do I cite?')).status).toBe(409)
  const read = await svc.ada.get(`${path}?include=assistantUserPrompts`)
  expect(idsOf(read.included)).toEqual([first.one.id, second.one.id])
  expect(read.text.split('Where do I begin?')).toHaveLength(2)
  expect((await svc.ada.get(`/assistant-user-prompts/${first.one.id}`)).one).toEqual(first.one)
  expect((await svc.ada.get(`/assistant-user-prompts/${first.one.id}/assistant`)).one.id).toBe(id)
  expect((await svc.bob.get(`/assistant-user-prompts/${first.one.id}`)).status).toBe(404)
  expect((await svc.bob.delete(`/assistant-user-prompts/${first.one.id}`)).status).toBe(404)
  const stale = tagOf(read)
  expect((await svc.ada.delete(`/assistant-user-prompts/${first.one.id}`)).status).toBe(200)
  expect((await svc.ada.delete(`/assistant-user-prompts/${first.one.id}`)).status).toBe(404)
  const late = await svc.ada.send('DELETE', `/assistant-user-prompts/${second.one.id}`, undefined, {
    'if-match': stale,
  })
  expect(late.status).toBe(412)
  const { list, meta } = await svc.ada.get(`${path}/assistantUserPrompts`)
  expect([idsOf(list), (await svc.ada.get(`${path}/relationships/assistantUserPrompts`)).list]).toEqual([
    [second.one.id],
    [{ type: 'assistant-user-prompts', id: second.one.id }],
  ])
  expect(meta).toBeDefined()
})

test('starters beyond the most that an assistant has are refused', async () => {
  const { id } = await createAssistant()
  const add = (text: string) =>
    svc.ada.create('assistant-user-prompts', { text }, { assistant: toOne('assistants', id) })
  for (let at = 0; at < 12; at++) expect((await add(`Question ${at}?`)).status).toBe(201)

  const refused = await add('One more?')
  expect([refused.status, pointersOf(refused)]).toEqual([422, ['/data/attributes/text']])
  const never = await svc.ada.create(
    'assistant-user-prompts',
    { text: 'x' },
    { assistant: toOne('assistants', 2147483646) },
  )
  expect([never.status, pointersOf(never)]).toEqual([404, ['/data/relationships/assistant/data']])
})

test('tags are linked by their texts, and listed with assistants that one sees', async () => {
  const { id, path } = await createAssistant()
  const [word, other] = [newName('word'), newName('two words/')]
  const link = (method: string, ids: string[]) =>
    svc.ada.send(method, `${path}/relationships/assistantTags`, toMany('assistant-tags', ids))
  const listed = async (client: Client) =>
    idsOf((await client.get('/assistant-tags')).list).filter((tag) => [word, other].includes(tag))

  expect((await link('POST', [word, other])).list).toEqual(toMany('assistant-tags', [word, other]).data)
  expect((await link('POST', [word])).status).toBe(200)
  expect([await listed(svc.ada), await listed(svc.bob)]).toEqual([[other, word].sort(), []])
  const { one } = await svc.ada.get(`/assistant-tags/${encodeURIComponent(other)}`)
  expect([one.id, one.attributes]).toEqual([other, { text: other }])
  expect((await svc.bob.get(`/assistant-tags/${word}`)).status).toBe(404)
  const { included } = await svc.ada.get(`${path}?include=assistantTags`)
  expect(idsOf(included)).toEqual([word, other])
  expect((await link('DELETE', [other])).list).toHaveLength(1)
  await release(id, 'organizational')
  expect(await listed(svc.bob)).toEqual([word])
  expect((await link('PATCH', [])).list).toEqual([])
  const many = await link(
    'POST',
    Array.from({ length: 13 }, (_, at) => `tag ${at}`),
  )
  expect([many.status, pointersOf(many)]).toEqual([422, ['/data']])
})

test('the list of tags comes in pages, each tag once', async () => {
  const { token } = await svc.user({ abilities: ['read', 'write'] })
  const client = createApiClient(svc, token)
  const words = Array.from({ length: 5 }, () => newName('paged'))
  const handle = newName('paged').toLowerCase()
  await client.create('assistants', { ...content, handle }, { assistantTags: toMany('assistant-tags', words) })
  const walk = async (first: string) => {
    const seen: string[] = []
    for (let path: string | null = first; path; ) {
      const page = await client.get(path)
      expect(page.meta['page']).toMatchObject({ perPage: 2, from: seen.length + 1 })
      seen.push(...idsOf(page.list))
      path = page.links['next']?.slice(base.length) ?? null
    }
    return seen
  }

  const whole = await client.get('/assistant-tags?page[size]=1000')
  expect(idsOf(whole.list)).toEqual(expect.arrayContaining(words))
  expect(whole.meta['page']).toMatchObject({ total: whole.list.length, lastPage: 1 })
  expect(await walk('/assistant-tags?page[size]=2')).toEqual(idsOf(whole.list))
  const beyond = await client.get('/assistant-tags?page[number]=1000000&page[size]=1000')
  expect([beyond.status, beyond.list, beyond.meta['page']]).toMatchObject([200, [], { total: whole.list.length }])
  for (const wrong of ['page[size]=1001', 'page[size]=0', 'page[number]=1000001', 'filter[text]=x'])
    expect([wrong, (await client.get(`/assistant-tags?${wrong}`)).status]).toEqual([wrong, 400])
})

test('an assistant is created and changed with all its tags in one request', async () => {
  const handle = newName('helper').toLowerCase()
  const tags = { assistantTags: toMany('assistant-tags', ['php', 'two words', 'php']) }
  const { one } = await svc.ada.create('assistants', { ...content, handle }, tags)
  const path = `/assistants/${one.id}`
  const readTags = async () => idsOf((await svc.ada.get(`${path}/assistantTags`)).list)
  const patch = (ids: string[], client: Client = svc.ada, type = 'assistant-tags') =>
    client.send('PATCH', path, {
      data: { type: 'assistants', id: one.id, relationships: { assistantTags: toMany(type, ids) } },
    })

  expect(await readTags()).toEqual(['php', 'two words'])
  const changed = await patch(['two words', 'new'])
  expect([changed.status, await readTags()]).toEqual([200, ['two words', 'new']])
  // Tags that are sent back as they were read make no version.
  expect(tagOf(await patch(['two words', 'new']))).toBe(tagOf(changed))
  await svc.ada.update('assistants', one.id, { greeting: 'Good day.' })
  expect(await readTags()).toEqual(['two words', 'new'])
  const refused = [
    await patch(Array.from({ length: 13 }, (_, at) => `tag ${at}`)),
    await patch(['two\nlines']),
    await patch(['x'.repeat(41)]),
  ]
  expect(refused.map(({ status }) => status)).toEqual([422, 422, 422])
  expect(refused.map((answer) => pointersOf(answer)[0])).toEqual([
    '/data/relationships/assistantTags/data',
    '/data/relationships/assistantTags/data/0',
    '/data/relationships/assistantTags/data/0',
  ])
  expect((await patch(['1'], svc.ada, 'users')).status).toBe(422)
  expect((await patch(['mine'], svc.bob)).status).toBe(404)
  await release(one.id, 'organizational')
  expect((await patch(['mine'], svc.bob)).status).toBe(403)
  expect(await readTags()).toEqual(['two words', 'new'])
  expect((await patch([])).status).toBe(200)
  expect(await readTags()).toEqual([])
})

test('a copy is a draft of its maker, and made only with permission', async () => {
  const { id, handle } = await createAssistant()
  await release(id, 'organizational')
  expect((await act(svc.bob, id, 'remix')).errors[0]?.code).toBe('not_permitted')
  await svc.ada.update('assistants', id, { allowRemix: true })

  const copy = await act(svc.bob, id, 'remix')
  expect([copy.status, copy.headers.get('location')]).toEqual([
    201,
    expect.stringContaining(`/assistants/${copy.one.id}`),
  ])
  expect(copy.one.attributes).toMatchObject({
    detailDescription: content.detailDescription,
    systemPrompt: content.systemPrompt,
    releaseStage: 'draft',
    allowRemix: false,
  })
  expect(copy.one.attributes['handle']).toMatch(new RegExp(`^${handle}-[a-z0-9]{6}$`))
  const named = newName('copy').toLowerCase()
  expect((await act(svc.bob, id, 'remix', { handle: named })).one.attributes['handle']).toBe(named)
  expect((await act(svc.bob, id, 'remix', { handle })).status).toBe(409)
  expect((await svc.ada.get(`/assistants/${copy.one.id}`)).status).toBe(404)
  const again = await act(svc.bob, copy.one.id, 'remix')
  expect([again.status, again.one.attributes['systemPrompt']]).toEqual([201, content.systemPrompt])
})

test('a favorite is the favorite of one person, and marking it again changes nothing', async () => {
  const { id, path } = await createAssistant()
  await release(id, 'organizational')
  const isFavorite = async (client: Client) => (await client.get(path)).one.attributes['isFavorite']

  for (let again = 0; again < 2; again++)
    expect((await act(svc.bob, id, 'favorite')).one.attributes['isFavorite']).toBe(true)
  expect([await isFavorite(svc.bob), await isFavorite(svc.ada)]).toEqual([true, false])
  const taken = await svc.bob.delete(`${path}/actions/favorite`)
  expect([taken.status, taken.one.attributes['isFavorite']]).toEqual([200, false])
})

test('an editor changes and releases, and only the owner shares and deletes', async () => {
  const { id, handle, path } = await createAssistant()
  await svc.host.assistants.publishAny({ handle, version: 1 })
  await svc.rows('insert into assistant_editors (assistant_id, user_id) values ($1, $2)', [id, svc.people.bob.id])

  expect((await svc.bob.update('assistants', id, { systemPrompt: 'By Bob.' })).status).toBe(200)
  expect((await svc.bob.get(path)).one.attributes['systemPrompt']).toBe('By Bob.')
  expect((await release(id, 'private', svc.bob)).status).toBe(200)
  expect((await release(id, 'organizational', svc.bob)).status).toBe(403)
  expect((await svc.bob.update('assistants', id, { allowRemix: true })).status).toBe(403)
  expect((await svc.bob.delete(path)).status).toBe(403)
})

test('what is wrong with an assistant is named by its attribute', async () => {
  const { id, handle } = await createAssistant()
  const create = (attributes: object) => svc.ada.create('assistants', attributes)

  expect(pointersOf(await create({ handle: 'Not one', name: '', model: 'demo' }))).toEqual(
    expect.arrayContaining(['/data/attributes/handle', '/data/attributes/name']),
  )
  const unknown = await create({ ...content, handle: newName('y').toLowerCase(), model: 'no-such-model' })
  expect([unknown.status, pointersOf(unknown)]).toEqual([422, ['/data/attributes/model']])
  expect((await create({ ...content, handle })).status).toBe(409)
  expect(pointersOf(await svc.ada.update('assistants', id, { model: 'no-such-model', temp: 3 }))).toEqual([
    '/data/attributes/temp',
  ])
  expect(pointersOf(await svc.ada.update('assistants', id, { model: 'no-such-model' }))).toEqual([
    '/data/attributes/model',
  ])
  expect((await svc.ada.update('assistants', id, { handle: 'another' })).errors[0]?.code).toBe('read_only')
})

test('where an administrator approves what is for all, a release waits', async () => {
  await using reviewed = await start({ ASSISTANTS_REVIEW: 'true' })
  const { one } = await reviewed.ada.create('assistants', { ...content, handle: 'waiting' })

  const waiting = await reviewed.ada.post(`/assistants/${one.id}/actions/release`, { releaseStage: 'organizational' })
  expect([waiting.one.attributes['releaseStage'], waiting.meta['isWaiting']]).toEqual(['private', true])
  expect((await reviewed.bob.get(`/assistants/${one.id}`)).status).toBe(404)
  await reviewed.host.assistants.approve({ handle: 'waiting', version: 1 })
  expect((await reviewed.bob.get(`/assistants/${one.id}`)).status).toBe(200)
  await reviewed.ada.update('assistants', one.id, { name: 'Changed' })
  const again = await reviewed.ada.post(`/assistants/${one.id}/actions/release`, { releaseStage: 'organizational' })
  expect(again.meta['isWaiting']).toBe(true)
  expect((await reviewed.bob.get(`/assistants/${one.id}`)).one.attributes['name']).toBe('Thesis helper')
})

test('front ends of HAWKI have its names, includes and actions', async () => {
  await using snake = await start({ JSONAPI_MEMBER_CASE: 'snake' })
  const attributes = {
    name: 'Helper',
    handle: 'helper',
    system_prompt: 'Be brief.',
    allow_model_select: true,
    model: 'demo',
    max_tokens: 100,
    top_p: 0.9,
  }
  const tags = { assistant_tags: toMany('assistant-tags', ['laravel']) }
  const { one } = await snake.ada.create('assistants', attributes, tags)
  const path = `/assistants/${one.id}`

  expect(Object.keys(one.attributes).sort()).toMatchInlineSnapshot(`
    [
      "allow_model_select",
      "allow_remix",
      "created_at",
      "description",
      "detail_description",
      "greeting",
      "handle",
      "is_favorite",
      "max_tokens",
      "model",
      "name",
      "release_stage",
      "system_prompt",
      "temp",
      "top_p",
      "updated_at",
    ]
  `)
  await snake.ada.create('assistant-user-prompts', { text: 'What now?' }, { assistant: toOne('assistants', one.id) })
  await snake.ada.post(`${path}/relationships/assistant_tags`, toMany('assistant-tags', ['php']))
  const released = await snake.ada.post(`${path}/actions/release`, {
    data: { type: 'assistants', attributes: { release_stage: 'organizational' } },
  })
  expect(released.one.attributes).toMatchObject({ release_stage: 'organizational', is_favorite: false })
  // What HAWKI has and this service does not keep is refused by name, as leaving it out would change the assistant.
  for (const relation of ['assistant_category', 'ai_tools', 'shared_users']) {
    const more = { ...tags, [relation]: { data: null } }
    const refused = await snake.ada.create('assistants', { ...attributes, handle: 'other' }, more as never)
    expect([refused.status, pointersOf(refused)]).toEqual([422, [`/data/relationships/${relation}`]])
  }
  const tag = await snake.ada.create('assistant-tags', { text: 'php' })
  expect([tag.status, tag.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  const { included } = await snake.ada.get(
    `${path}?include=creator,assistant_versions,assistant_user_prompts,assistant_tags`,
  )
  expect(included.map(({ type }) => type).toSorted()).toEqual([
    'assistant-tags',
    'assistant-tags',
    'assistant-user-prompts',
    'assistant-versions',
    'assistant-versions',
    'assistant-versions',
    'users',
  ])
  const { list } = await snake.bob.get('/assistants?filter[release_stage]=organizational&filter[handle]=helper')
  expect(list.map(({ attributes }) => attributes['top_p'])).toEqual([0.9])
  const stale = tagOf(await snake.ada.get(path))
  await snake.ada.update('assistants', one.id, { max_tokens: 50 })
  const late = { data: { type: 'assistants', id: one.id, attributes: { temp: 1 } } }
  expect((await snake.ada.send('PATCH', path, late, { 'if-match': stale })).status).toBe(412)
})

test('a page of assistants takes as many statements as one assistant', async () => {
  const countFor = async (size: number) => {
    const path = `/assistants?page[size]=${size}&include=creator,assistantVersions,assistantUserPrompts,assistantTags`
    statements.take()
    const { list, status } = await svc.ada.get(path)
    expect([status, list.length]).toEqual([200, size])
    return statements.take().filter(({ name }) => name !== 'find-token-owners').length
  }
  for (let at = 0; at < 5; at++) {
    const { id, path } = await createAssistant()
    await svc.ada.create('assistant-user-prompts', { text: 'What now?' }, { assistant: toOne('assistants', id) })
    await svc.ada.post(`${path}/relationships/assistantTags`, toMany('assistant-tags', [`word ${at}`]))
  }

  // The page itself, creators, and versions: starters and tags are parts of the page.
  expect([await countFor(1), await countFor(5)]).toEqual([3, 3])
})

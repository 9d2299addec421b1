import { afterAll, expect, test } from 'vitest'
import { addCatalogue, base, idsOf, pointersOf, startJsonApi, toMany, toOne } from '../kit/json-api/client.ts'

const svc = await startJsonApi()
const catalogue = await addCatalogue(svc)
afterAll(() => svc[Symbol.asyncDispose]())

test('a relation has a page of its own with order, filters and includes', async () => {
  const { model, tool } = catalogue
  const { list, included, meta, links } = await svc.admin.get(
    `/ai-models/${model.main}/tools?sort=-name&page[size]=2&filter[status]=active&include=server`,
  )

  expect(list.map(({ attributes }) => attributes['name'])).toEqual(['search', 'loose'])
  expect(meta['page']).toMatchObject({ total: 3, lastPage: 2 })
  expect(links['next']).toContain(`/ai-models/${model.main}/tools?`)
  expect(included.map(({ type }) => type)).toEqual(['mcp-servers'])
  const second = await svc.admin.get((links['next'] ?? '').slice(base.length))
  expect(idsOf(second.list)).toEqual([tool.fetch])
})

test('a relation shows its links in pages, too', async () => {
  const { model } = catalogue
  const { list, links, meta } = await svc.admin.get(`/ai-models/${model.main}/relationships/tools?page[size]=3`)
  const one = await svc.admin.get(`/ai-models/${model.main}/relationships/provider`)

  expect(list).toHaveLength(3)
  for (const identifier of list) expect(Object.keys(identifier).toSorted()).toEqual(['id', 'type'])
  expect(links['next']).toContain('/relationships/tools?')
  expect(meta['page']).toMatchObject({ total: 4 })
  expect(Object.keys(one.one).toSorted()).toEqual(['id', 'type'])
})

test('a relation that leads to one takes no page, no order and no filter', async () => {
  const { model } = catalogue
  const refused = await svc.admin.get(`/ai-models/${model.main}/provider?sort=name&page[size]=1&filter[name]=a`)

  expect(refused.status).toBe(400)
  expect(refused.errors.map(({ source }) => source?.['parameter'])).toEqual(['filter[name]', 'page[size]', 'sort'])
})

test('a relation of a missing row is not there', async () => {
  for (const id of ['999999', '0', '-1', 'abc', '1e3', '99999999999999999999', '%00', 'ä']) {
    for (const relation of ['tools', 'provider', 'relationships/tools', 'relationships/provider']) {
      const path = `/ai-models/${id}/${relation}`
      const { status, errors } = await svc.admin.get(path)
      expect([path, status, errors[0]?.code]).toEqual([path, 404, 'not_found'])
    }
  }
})

test('a relation that leads nowhere for the caller is null', async () => {
  const { tool } = catalogue
  const related = await svc.ada.get(`/ai-tools/${tool.search}/server`)
  const link = await svc.ada.get(`/ai-tools/${tool.search}/relationships/server`)

  expect([related.status, link.status]).toEqual([200, 200])
  expect(JSON.parse(related.text).data).toBeNull()
  expect(JSON.parse(link.text).data).toBeNull()
})

test('a read-only relation refuses every write, and strangers with 401 first', async () => {
  const { model } = catalogue
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    const path = `/ai-models/${model.main}/relationships/tools`
    const guest = await svc.guest.send(method, path, toMany('ai-tools', []))
    const admin = await svc.admin.send(method, path, toMany('ai-tools', []))
    expect([guest.status, admin.status, admin.errors[0]?.code]).toEqual([401, 403, 'read_only'])
  }
})

test('a relation is changed as a whole or not at all', async () => {
  const { model } = catalogue
  const [tool] = await svc.rows<{ id: string }>(
    `insert into ai_tools (name, description, tool_type) values ('own', 'Does its own.', 'function') returning id::text`,
  )
  await svc.rows('insert into ai_model_tools (model_id, tool_id) values ($1, $2)', [model.main, tool?.id])
  const path = `/ai-tools/${tool?.id}/relationships/models`

  const missing = await svc.admin.post(path, toMany('ai-models', [model.external, 999999]))
  const wrong = await svc.admin.post(path, { data: [toOne('ai-models', model.external).data, toOne('users', 1).data] })
  const added = await svc.admin.post(path, toMany('ai-models', [model.external, model.main, model.external]))
  const again = await svc.admin.post(path, toMany('ai-models', [model.external]))
  const absent = await svc.admin.delete(path, toMany('ai-models', [model.inactive]))
  const replaced = await svc.admin.patch(path, toMany('ai-models', [model.inactive]))
  const emptied = await svc.admin.patch(path, { data: [] })

  expect(missing.status).toBe(404)
  expect([wrong.status, pointersOf(wrong)]).toEqual([409, ['/data/1/type']])
  expect(idsOf(added.list)).toEqual([model.external, model.main])
  expect(idsOf(again.list)).toEqual([model.external, model.main])
  expect(idsOf(absent.list)).toEqual([model.external, model.main])
  expect(idsOf(replaced.list)).toEqual([model.inactive])
  expect(emptied.list).toEqual([])
  for (const { meta } of [added, again, absent, replaced, emptied]) expect(meta['_svc_sync_log']).toEqual([])
})

test('concurrent changes of a relation never deadlock, and the last replacement wins', async () => {
  await using svc = await startJsonApi({ DATABASE_POOL: '3' })
  const { model, tool } = await addCatalogue(svc)
  const models = Object.values(model)
  const path = `/ai-tools/${tool.loose}/relationships/models`

  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      index % 2
        ? svc.admin.patch(path, toMany('ai-models', [models[index % 5]!]))
        : svc.admin.update(
            'ai-models',
            models[index % 5]!,
            { label: `Label ${index}` },
            { tools: toMany('ai-tools', [tool.search]) },
          ),
    ),
  )

  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const left = await svc.rows('select model_id from ai_model_tools where tool_id = $1', [tool.loose])
  expect(left.length).toBeLessThanOrEqual(1)
})

import { afterAll, expect, test } from 'vitest'
import { addCatalogue, base, idsOf, startJsonApi } from '../kit/json-api/client.ts'

const svc = await startJsonApi()
const catalogue = await addCatalogue(svc)
afterAll(() => svc[Symbol.asyncDispose]())

test('a compound document includes each resource once, and links all of them', async () => {
  const { provider } = catalogue
  const { one, included } = await svc.admin.get(
    `/ai-providers/${provider.open}?include=models,models.provider,models.tools,models.descriptions`,
  )

  const named = included.map(({ type, id }) => `${type}/${id}`)
  expect(new Set(named).size).toBe(named.length)
  expect(named).not.toContain(`ai-providers/${provider.open}`)
  const linked = [one, ...included].flatMap(({ relationships = {} }) =>
    Object.values(relationships).flatMap(({ data }) => data ?? []),
  )
  for (const name of named) expect(linked.map(({ type, id }) => `${type}/${id}`)).toContain(name)
  const back = included.filter(({ type }) => type === 'ai-models')
  expect(back).toHaveLength(3)
  for (const model of back)
    expect(model.relationships?.['provider']?.data).toEqual({ type: 'ai-providers', id: one.id })
})

test('a compound document goes from a list back to itself without repeating it', async () => {
  const { list, included } = await svc.admin.get('/ai-providers?include=models.provider')

  expect(new Set(idsOf(included.filter(({ type }) => type === 'ai-providers'))).size).toBe(0)
  expect(list).toHaveLength(3)
  // The path includes the resources in between, too.
  expect(included.filter(({ type }) => type === 'ai-models')).toHaveLength(5)
})

test('a compound document has an empty included list only where inclusion was requested', async () => {
  const { server } = catalogue
  const empty = await svc.admin.get(`/mcp-servers/${server.up}?include=`)
  const nothing = await svc.admin.get('/system-models?include=model')
  const plain = await svc.admin.get('/mcp-servers')

  expect(JSON.parse(empty.text).included).toEqual([])
  expect(JSON.parse(nothing.text).included).toEqual([])
  expect(JSON.parse(plain.text)).not.toHaveProperty('included')
})

test('a compound document shows only the requested fields of primary and included resources', async () => {
  const { model } = catalogue
  const { one, included } = await svc.admin.get(
    `/ai-models/${model.main}?include=provider,tools&fields[ai-models]=label,provider&fields[ai-providers]=&fields[ai-tools]=name`,
  )

  expect(one.attributes).toEqual({ label: 'Label main' })
  expect(Object.keys(one.relationships ?? {})).toEqual(['provider'])
  const [provider] = included.filter(({ type }) => type === 'ai-providers')
  expect(provider?.attributes).toEqual({})
  expect(provider).not.toHaveProperty('relationships')
  const tools = included.filter(({ type }) => type === 'ai-tools')
  expect(tools.length).toBeGreaterThan(0)
  for (const tool of tools) expect(Object.keys(tool.attributes)).toEqual(['name'])
})

test('without include a to-one relation has linkage, a to-many relation only links', async () => {
  const { model, provider } = catalogue
  const { one } = await svc.admin.get(`/ai-models/${model.main}`)

  const self = `${base}/ai-models/${model.main}`
  expect(one.links['self']).toBe(self)
  expect(one.relationships?.['provider']).toEqual({
    links: { self: `${self}/relationships/provider`, related: `${self}/provider` },
    data: { type: 'ai-providers', id: provider.open },
  })
  expect(one.relationships?.['tools']).toEqual({
    links: { self: `${self}/relationships/tools`, related: `${self}/tools` },
  })
})

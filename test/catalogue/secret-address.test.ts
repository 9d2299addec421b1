import { expect, test } from 'vitest'
import { pointersOf, startJsonApi } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

const apiUrl = 'https://ai.example.org/v1'
const apiKey = 'SECRET-OF-THE-PROVIDER'
let counter = 0

/** Creates a provider with a key; returns its id. */
async function addProvider(attributes: object = {}): Promise<string> {
  const providerId = `provider-${++counter}`
  const given = { providerId, name: 'P', adapter: 'openai-compatible', apiUrl, apiKey, ...attributes }
  const { status, one, text } = await svc.admin.create('ai-providers', given)
  if (status !== 201) throw new Error(text)
  return one.id
}

const rowOf = async (id: string) =>
  (await svc.rows('select adapter, api_url, model_status_url, api_key from ai_providers where id = $1', [id]))[0]

const elsewhere: [string, object, object, string][] = [
  ['another host', {}, { apiUrl: 'https://evil.example/v1' }, 'apiUrl'],
  ['another port', {}, { apiUrl: 'https://ai.example.org:8443/v1' }, 'apiUrl'],
  ['another protocol', {}, { apiUrl: 'http://ai.example.org/v1' }, 'apiUrl'],
  ['the usual address', { adapter: 'openai' }, { apiUrl: null }, 'apiUrl'],
  ['an address instead of the usual one', { adapter: 'openai', apiUrl: null }, { apiUrl }, 'apiUrl'],
  ['the usual address of another adapter', { adapter: 'openai', apiUrl: null }, { adapter: 'mistral' }, 'apiUrl'],
]

test.for(elsewhere)('the key of a provider must be given again for %s', async ([, attributes, change, member]) => {
  const id = await addProvider(attributes)
  const before = await rowOf(id)

  const refusal = await svc.admin.update('ai-providers', id, change)

  const pointer = member in change ? `/data/attributes/${member}` : '/data/attributes'
  expect([refusal.status, pointersOf(refusal)]).toEqual([422, [pointer]])
  expect(refusal.errors[0]?.detail).toBe(`${member} leads to another server: give apiKey again, or null for none.`)
  expect(await rowOf(id)).toEqual(before)
  const stars = await svc.admin.update('ai-providers', id, { ...change, apiKey: '********' })
  expect(stars.status).toBe(422)
  expect(await rowOf(id)).toEqual(before)

  expect((await svc.admin.update('ai-providers', id, { ...change, apiKey: 'given again' })).status).toBe(200)
  expect(await rowOf(id)).not.toEqual(before)
})

test('the key of a provider must be given again over tRPC, too', async () => {
  const id = await addProvider()
  const before = await rowOf(id)
  const { token } = svc.people.admin
  const update = (change: object) => svc.send('POST', '/trpc/aiProviders.update', { token, body: { id, ...change } })

  const refusal = await update({ apiUrl: 'https://evil.example/v1' })

  expect(refusal.status).toBe(422)
  const issue = { path: ['apiUrl'], message: 'leads to another server: give apiKey again, or null for none' }
  expect(await refusal.json()).toMatchObject({ error: { data: { issues: [issue] } } })
  expect(await rowOf(id)).toEqual(before)
  expect((await update({ apiUrl: 'https://evil.example/v1', apiKey: null })).status).toBe(200)
})

test('the key of a provider stays while the server stays the same', async () => {
  const [id, without] = [await addProvider(), await addProvider({ apiKey: null })]
  const same = { apiUrl: 'https://AI.example.org:443/other/path' }

  expect((await svc.admin.update('ai-providers', id, same)).status).toBe(200)
  expect((await svc.admin.update('ai-providers', id, { adapter: 'openai' })).status).toBe(200)
  expect((await svc.admin.update('ai-providers', without, { apiUrl: 'https://other.example/v1' })).status).toBe(200)

  expect((await svc.admin.get(`/ai-providers/${id}`)).one.attributes['apiKey']).toBe('********')
})

const url = 'https://tools.example.org/mcp'
const addServer = async (secrets: object, attributes: object = {}) => {
  const given = { url: `${url}/${++counter}`, serverLabel: 'S', ...secrets, ...attributes }
  const { status, one, text } = await svc.admin.create('mcp-servers', given)
  if (status !== 201) throw new Error(text)
  return one.id
}
const both = { apiKey: 'SECRET', additionalConfig: { headers: { 'x-token': 'SECRET' } } }

test.for<[string, object, object, string]>([
  ['its key', { apiKey: 'SECRET' }, { apiKey: 'again' }, 'apiKey'],
  ['its configuration', { additionalConfig: { a: 1 } }, { additionalConfig: { a: 2 } }, 'additionalConfig'],
  ['both', both, { apiKey: 'again', additionalConfig: null }, 'apiKey and additionalConfig'],
])('the secrets of a tool server must be given again for another server: %s', async ([, secrets, again, names]) => {
  const id = await addServer(secrets)
  const change = { url: `https://evil.example/${id}` }

  const refusal = await svc.admin.update('mcp-servers', id, change)

  expect([refusal.status, pointersOf(refusal)]).toEqual([422, ['/data/attributes/url']])
  expect(refusal.errors[0]?.detail).toContain(`give ${names} again, or null for none`)
  expect((await svc.admin.update('mcp-servers', id, { url: `${url}/moved/${id}` })).status).toBe(200)
  expect((await svc.admin.update('mcp-servers', id, { ...change, ...again })).status).toBe(200)
})

test('the secrets of a tool server must be given again when one is omitted', async () => {
  const id = await addServer(both)
  const change = { url: `https://evil.example/${id}`, apiKey: 'again' }
  const one = await svc.admin.update('mcp-servers', id, change)
  expect(one.errors[0]?.detail).toContain('give additionalConfig again')
  expect((await svc.admin.update('mcp-servers', id, { transport: 'stdio' })).status).toBe(422)
  const command = { serverLabel: 'Mine', transport: 'stdio', url: 'node server.js' }
  expect((await svc.admin.create('mcp-servers', command)).status).toBe(422)
})

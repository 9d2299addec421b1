import { beforeAll, describe, expect, test } from 'vitest'
import { buildOpenApiDocument } from '../../facades/docs/document.ts'
import { createWireNames } from '../../facades/http/names.ts'
import { Members } from '../../facades/json-api/members.ts'
import { appRouter, resources } from '../../routers/index.ts'
import { startApp } from '../kit/app.ts'
import { toOne } from '../kit/json-api/client.ts'
import { serveJsonApi } from '../kit/json-api/serve.ts'

/** Member names in kebab case, such as `model-id`. */
const members = new Members({ write: (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) })

/** Starts the service with members in kebab case, and returns an administrator's client. */
async function startKebab() {
  const svc = await startApp()
  const { token } = await svc.user({ role: 'admin', abilities: ['read', 'write', 'keychain'] })
  const server = await serveJsonApi(svc, { router: appRouter, resources, members })
  return {
    send: server.as(token),
    async [Symbol.asyncDispose]() {
      await server.close()
      await svc[Symbol.asyncDispose]()
    },
  }
}

const attributes = {
  'model-id': 'kebab-1',
  label: 'Kebab',
  limits: { 'max-input-tokens': 10, 'max-output-tokens': null },
  pricing: { ranges: null, 'priority-ranges': null },
  settings: { 'tool-calling': true },
  parameters: { 'max-tokens': 5, anyName: { innerName: 1 } },
  'usage-types': ['main', 'external'],
}

const create = async (given: object) =>
  api.send('POST', '/ai-models', {
    data: { type: 'ai-models', attributes: given, relationships: { provider: toOne('ai-providers', 1) } },
  })

let api: Awaited<ReturnType<typeof startKebab>>
/** The answer to the creation of a model with these attributes. */
let created: Awaited<ReturnType<typeof create>>
beforeAll(async () => {
  api = await startKebab()
  created = await create(attributes)
  return () => api[Symbol.asyncDispose]()
})

describe('members that are written in another case', () => {
  test('members in another case are accepted and returned so at every depth', async () => {
    expect(created.status).toBe(201)
    expect(created.data.attributes).toMatchObject({
      ...attributes,
      'native-capabilities': [],
      'deprecation-date': null,
    })
    expect(Object.keys(created.data.attributes).filter((name) => /[A-Z]/.test(name))).toEqual([])
    const { id } = created.data
    const changed = await api.send('PATCH', `/ai-models/${id}`, {
      data: { type: 'ai-models', id, attributes: { limits: { 'max-output-tokens': 7 }, 'upstream-id': 'up' } },
    })
    expect(changed.data.attributes).toMatchObject({ limits: { 'max-output-tokens': 7 }, 'upstream-id': 'up' })
    expect((await api.send('GET', `/ai-models/${id}`)).data).toEqual(changed.data)
  })

  test('members that are written in another case sort, narrow and filter', async () => {
    const sorted = await api.send('GET', '/ai-models?sort=-model-id,created-at&fields[ai-models]=model-id,usage-types')
    const filtered = await api.send('GET', '/ai-tools?filter[assigned]=true')

    expect(sorted.data.map((row: { attributes: object }) => row.attributes)).toEqual([
      { 'model-id': 'kebab-1', 'usage-types': ['main', 'external'] },
      { 'model-id': 'demo', 'usage-types': expect.any(Array) },
    ])
    expect([filtered.status, filtered.data]).toEqual([200, []])
  })

  test('members that are written in another case are included and linked', async () => {
    const { data, included } = await api.send('GET', '/ai-providers/1?include=models.provider')

    expect(data.relationships.models.data).toHaveLength(2)
    expect(included.map((row: { attributes: object }) => Object.keys(row.attributes).includes('model-id'))).toEqual([
      true,
      true,
    ])
  })

  test('members that are written in another case are what errors name and point to', async () => {
    const { errors } = await create({
      'model-id': '',
      limits: { 'max-input-tokens': -1 },
      modelType: 'chat',
      'no-such': 1,
    })
    const withoutForeign = await create({ 'model-id': '', limits: { 'max-input-tokens': -1 }, 'no-such': 1 })
    const query = await api.send('GET', '/ai-models?sort=modelId&fields[ai-models]=modelId&include=nothing')
    const unknown = await api.send('GET', '/ai-models?sort=nonsense')

    const pointers = (list: { source: object }[]) => list.map(({ source }) => source)
    expect(pointers(errors)).toEqual([{ pointer: '/data/attributes/modelType' }])
    expect(pointers(withoutForeign.errors)).toEqual(
      expect.arrayContaining(
        ['model-id', 'limits/max-input-tokens', 'no-such'].map((path) => ({ pointer: `/data/attributes/${path}` })),
      ),
    )
    expect(withoutForeign.errors.map(({ detail }: { detail: string }) => detail)).toContain('model-id is required.')
    expect(query.status).toBe(400)
    expect(pointers(query.errors)).toEqual([{ parameter: 'sort' }, { parameter: 'fields[ai-models]' }])
    expect(unknown.errors[0].detail).toContain('-model-id')
    expect(unknown.errors[0].detail).not.toContain('modelId')
  })

  test('the input members of an action may be in another case', async () => {
    const entry = { key: 'k', 'key-type': 'ai_conv', value: 'aXY=|dGFn|dGV4dA==' }
    const set = await api.send('POST', '/user-keychain-values/actions/batch-update', { set: [entry] })
    const wrong = await api.send('POST', '/user-keychain-values/actions/batch-update', {
      set: [{ ...entry, 'key-type': 'none' }],
    })

    expect([set.status, set.data]).toMatchObject([200, [{ attributes: { 'key-type': 'ai_conv' } }]])
    expect(wrong.errors[0].source).toEqual({ pointer: '/set/0/key-type' })
  })

  test('the description of the service has its members in the configured case', () => {
    const described = buildOpenApiDocument({
      router: appRouter,
      resources,
      baseUrl: '',
      names: createWireNames('svc'),
      members,
    })
    const { schemas } = described['components'] as { schemas: Record<string, { properties: Record<string, object> }> }
    const paths = described['paths'] as Record<string, Record<string, unknown>>

    expect(schemas['ai-models']?.properties['attributes']).toMatchObject({
      properties: { 'model-id': {}, limits: { anyOf: [{ properties: { 'max-input-tokens': {} } }, {}] } },
    })
    const list = JSON.stringify(paths['/api/svc/v1/ai-models'])
    expect(list).toContain('"-model-id"')
    expect(list).not.toMatch(/"-?[a-z]+[A-Z]\w*":\{"(type|description|anyOf)/)
    expect(list).not.toMatch(/modelId|upstreamId|maxInputTokens/)
  })
})

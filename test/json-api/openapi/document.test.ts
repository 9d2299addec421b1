import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { buildOpenApiDocument } from '../../../facades/docs/document.ts'
import { createWireNames } from '../../../facades/http/names.ts'
import { buildRoutes } from '../../../facades/json-api/routes.ts'
import { router, sessionUser, userWith } from '../../../routers/core/trpc.ts'
import type { Resource } from '../../../routers/resource/declare.ts'
import { action, rowAction } from '../../../routers/verbs/action.ts'
import { startApp } from '../../kit/app.ts'
import { allResources, wholeRouter, withAssistants } from '../../kit/json-api/assistants.ts'
import {
  allOperations,
  BASE,
  jsonApiOperations,
  MEDIA,
  type OpenApi,
  openApi,
  operationOf,
  parametersOf,
} from '../../kit/json-api/openapi.ts'
import { shareResource } from '../../kit/share-resource.ts'

const svc = shareResource(() => startApp(withAssistants))

test('the OpenAPI document is valid OpenAPI 3.1', async () => {
  const validator = new Validator()

  const { valid, errors } = await validator.validate(structuredClone(openApi) as never)

  expect(errors).toBeUndefined()
  expect({ valid, version: validator.version }).toEqual({ valid: true, version: '3.1' })
})

test('the OpenAPI document refers only to what is in it', () => {
  const references = JSON.stringify(openApi).matchAll(/"\$ref":"#\/([^"]+)"/g)
  const missing = [...references].flatMap(([, path = '']) => {
    const found = path.split('/').reduce<unknown>((at, step) => (at as Record<string, unknown>)?.[step], openApi)
    return found ? [] : [path]
  })

  expect(missing).toEqual([])
})

test('the OpenAPI document has every route that a procedure serves, and no other', () => {
  const served = buildRoutes(wholeRouter).filter(({ procedure }) => procedure)
  const expected = served.map(({ method, url }) => `${method} ${url.replace(/:(\w+)/, '{$1}')}`)

  expect(jsonApiOperations.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(expected.toSorted())
})

test('every operation has a unique name and every type a description', () => {
  for (const name of ['operationId', 'summary'] as const) {
    const names = allOperations.map(({ operation }) => operation[name])
    expect(names.filter((it, index) => !it || names.indexOf(it) !== index)).toEqual([])
  }
  expect(openApi.tags.slice(-allResources.length)).toEqual(
    allResources.map(({ type, about }) => ({ name: type, description: about })),
  )
  expect(new Set(allOperations.flatMap(({ operation }) => operation.tags))).toEqual(
    new Set(openApi.tags.map(({ name }) => name)),
  )
})

test('all served operations have a name and summary, and use shared components', async () => {
  const served = (await (await svc.send('GET', `${BASE}/openapi.json`)).json()) as OpenApi
  const operations = Object.values(served.paths).flatMap((item) => Object.values(item))
  expect(operations.length).toBeGreaterThan(allOperations.length)
  for (const name of ['operationId', 'summary'] as const) {
    const names = operations.map((operation) => operation[name])
    expect(names.filter((it, index) => !it || names.indexOf(it) !== index)).toEqual([])
  }

  const text = JSON.stringify(served)
  const shared = Object.entries(served.components).flatMap(([kind, all]) =>
    kind === 'securitySchemes' ? [] : Object.keys(all as object).map((name) => `#/components/${kind}/${name}`),
  )
  expect(shared.filter((path) => !text.includes(`"${path}"`))).toEqual([])
})

test('the OpenAPI document says of every list what is in it', () => {
  const bare: string[] = []
  JSON.stringify(openApi, (key, value) => {
    const isList = value?.type === 'array' && !('items' in value) && !('prefixItems' in value)
    if (isList) bare.push(key)
    return value
  })

  expect(bare).toEqual([])
})

test('the OpenAPI document describes every attribute, and says which are for administrators', () => {
  for (const { type, attributes } of allResources) {
    const { properties, required = [] } = openApi.components.schemas[type]!.properties.attributes
    expect(Object.keys(properties), type).toEqual(Object.keys(attributes))
    // Sparse fieldsets leave out any of them.
    expect(required, type).toEqual([])
    for (const [name, { schema, only }] of Object.entries(attributes)) {
      const { description = '' } = (properties as Record<string, { description?: string }>)[name]!
      expect(description, `${type}.${name}`).toContain(schema.description)
      expect(description.includes('Only administrators'), `${type}.${name}`).toBe(only === 'admin')
    }
  }
})

test('the OpenAPI document says which credentials an operation accepts', () => {
  expect(operationOf('GET', '/ai-models').security).toEqual([{ bearer: [] }, { session: [] }])
  expect(operationOf('POST', '/ai-models').security).toEqual([{ bearer: [] }, { session: [] }])
  expect(operationOf('GET', '/configs').security).toEqual([{ bearer: [] }, { session: [] }, {}])
})

test('the OpenAPI document has the headers of conditional and repeated requests where they apply', () => {
  const headersOf = (method: string, path: string) =>
    parametersOf(operationOf(method, path)).flatMap((it) => (it.in === 'header' ? [it.name] : []))

  expect(headersOf('GET', '/ai-models')).toEqual(['If-None-Match'])
  expect(headersOf('POST', '/ai-models')).toEqual(['Idempotency-Key'])
  expect(headersOf('PATCH', '/ai-models/{id}')).toEqual(['If-Match'])
  expect(headersOf('DELETE', '/ai-models/{id}')).toEqual(['If-Match'])
  expect(headersOf('DELETE', '/ai-tools/{id}/relationships/models')).toEqual(['If-Match'])
})

test('the OpenAPI document describes each action as plain object and as document', () => {
  const of = allResources.find(({ type }) => type === 'ai-models') as Resource
  const input = z.strictObject({ id: z.string(), times: z.int().min(1) })
  const ring = rowAction(of, 'ring', userWith('write')).input(input)
  const look = action(of, 'look', sessionUser)
  const bells = router({ ring: ring.mutation(() => ({})), look: look.query(() => ({})) })
  const described = buildOpenApiDocument({
    router: router({ bells }),
    resources: allResources,
    names: createWireNames('svc'),
    baseUrl: '',
  }) as unknown as OpenApi
  const { requestBody, responses, operationId } = described.paths[`${BASE}/ai-models/{id}/actions/ring`]!['post']!
  const plain = { type: 'object', required: ['times'], properties: { times: { type: 'integer', minimum: 1 } } }

  expect(operationId).toBe('bells.ring')
  expect(requestBody!.content['application/json']!.schema).toMatchObject(plain)
  expect(requestBody!.content[MEDIA]!.schema.properties.data.properties.attributes).toMatchObject(plain)
  expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '404', '422']))
  expect(described.paths[`${BASE}/ai-models/actions/look`]!['get']!.security).toEqual([{ session: [] }])
})

test('GET /api/svc/v1/openapi.json is served to everybody with any Accept header', async () => {
  const plain = await svc.send('GET', `${BASE}/openapi.json`)
  const browser = await svc.send('GET', `${BASE}/openapi.json`, { headers: { accept: 'text/html' } })
  const stranger = await svc.send('GET', `${BASE}/openapi.json`, { token: 'svc_1_wrong' })

  expect([plain.status, browser.status, stranger.status]).toEqual([200, 200, 200])
  expect(plain.headers.get('content-type')).toMatch(/^application\/json/)
  const served = (await plain.json()) as OpenApi
  expect(served).toMatchObject({ ...openApi, tags: expect.arrayContaining(openApi.tags) })
  // The endpoints beside JSON:API are known to a running service alone.
  const others = Object.keys(served.paths).filter((path) => !openApi.paths[path])
  expect(others.filter((path) => !path.startsWith('/req/'))).toEqual([])
})

test('GET /api/svc/v1/openapi.json is not sent again to who has it', async () => {
  const etag = (await svc.send('GET', `${BASE}/openapi.json`)).headers.get('etag')!

  const known = await svc.send('GET', `${BASE}/openapi.json`, { headers: { 'if-none-match': etag } })
  const other = await svc.send('GET', `${BASE}/openapi.json`, { headers: { 'if-none-match': '"other"' } })

  expect([known.status, other.status]).toEqual([304, 200])
  expect(await known.text()).toBe('')
})

test('GET /api/svc/v1/openapi.json names the public address where there is one', async () => {
  await using published = await startApp({ BASE_URL: 'https://svc.localhost' })

  const { servers } = (await (await published.send('GET', `${BASE}/openapi.json`)).json()) as { servers: object[] }

  expect(servers).toEqual([{ url: 'https://svc.localhost' }])
})

import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openApiDocument } from '../facades/json-api/openapi.ts'
import { routesOf } from '../facades/json-api/routes.ts'
import { appRouter, resources } from '../routers/index.ts'
import { exposes, type Resource } from '../routers/resource.ts'
import { router, sessionUser, userWho } from '../routers/trpc.ts'
import { startApp, type TestApp, type TestUser } from './app.ts'

const BASE = '/api/svc/v1'
const MEDIA = 'application/vnd.api+json'

interface Parameter {
  name: string
  in: string
  schema: { items?: { enum: string[] }; maximum?: number; default?: number; maxItems?: number }
  explode?: boolean
}
interface Operation {
  operationId: string
  parameters: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, { schema: BodySchema }> }
  responses: Record<string, object>
  security: Record<string, string[]>[]
  tags: string[]
}
interface BodySchema {
  properties: {
    data: { properties: { attributes?: { required?: string[] }; relationships?: { required?: string[] } } }
  }
}
interface Shared {
  schemas: Record<string, { properties: { attributes: { properties: object; required?: string[] } } }>
  parameters: Record<string, Parameter>
}
interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: Shared
  tags: { name: string; description: string }[]
}

const made = openApiDocument({ router: appRouter, resources, baseUrl: '' })
const openApi = JSON.parse(JSON.stringify(made)) as OpenApi

const operations = Object.entries(openApi.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)
const operationOf = (method: string, path: string) => openApi.paths[path]![method.toLowerCase()]!
const parametersOf = ({ parameters }: Operation) =>
  parameters.map((it) => ('$ref' in it ? openApi.components.parameters[it.$ref.split('/').at(-1)!]! : it))

const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })
formats.default(ajv)
ajv.addSchema(openApi as object, 'svc')

const inPointer = (step: string) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

/** What is wrong with a value by the schema at a place of the document. */
function wrongWith(value: unknown, ...steps: string[]) {
  const isValid = ajv.validate({ $ref: `svc#/${steps.map(inPointer).join('/')}` }, value)
  return isValid ? [] : ajv.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`)
}

function wrongWithAnswer(method: string, path: string, status: number, body: unknown) {
  const place = ['paths', path, method.toLowerCase(), 'responses', String(status)]
  const response = operationOf(method, path).responses[status]
  if (!response) return [`the status ${status} is not described`]
  const at = '$ref' in response ? ['components', 'responses', String(status)] : place
  return wrongWith(body, ...at, 'content', MEDIA, 'schema')
}

const wrongWithBody = (method: string, path: string, body: unknown, media = MEDIA) =>
  wrongWith(body, 'paths', path, method.toLowerCase(), 'requestBody', 'content', media, 'schema')

interface Answer {
  status: number
  body: { data?: { id: string; type: string; attributes?: object } | { id: string }[] | null; included?: unknown[] }
  etag: string | null
}

async function ask(svc: TestApp, { token }: TestUser, method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { accept: MEDIA, ...(body !== undefined && { 'content-type': MEDIA }) }
  const response = await svc.send(method, BASE + path, { token, headers, ...(body !== undefined && { body }) })
  return {
    status: response.status,
    body: (await response.json()) as Answer['body'],
    etag: response.headers.get('etag'),
  }
}

/** At least one of everything that has rows, in all its relations. */
async function filled(svc: TestApp) {
  const admin = await svc.user({ role: 'admin', abilities: ['read', 'write', 'user', 'keychain'] })
  const create = async (type: string, attributes: object, relationships?: object) => {
    const { status, body } = await ask(svc, admin, 'POST', `/${type}`, {
      data: { type, attributes, ...(relationships && { relationships }) },
    })
    expect(status, JSON.stringify(body)).toBe(201)
    return (body.data as { id: string }).id
  }
  const one = (type: string, id: string) => ({ data: { type, id } })
  const provider = await create('ai-providers', { providerId: 'p1', name: 'P', adapter: 'openai', apiKey: 'secret' })
  const server = await create('mcp-servers', { url: 'https://tools.example', serverLabel: 'S', apiKey: 'secret' })
  const [tool] = await svc.rows<{ id: number }>(
    `insert into ai_tools (name, tool_type, server_id, mcp_name, mcp_config) values ('t', 'mcp', $1, 't', '{}') returning id`,
    [Number(server)],
  )
  const model = await create(
    'ai-models',
    { modelId: 'm1', label: 'M', usageTypes: ['main', 'external'], parameters: { deep: [1, { er: null }] } },
    { provider: one('ai-providers', provider), tools: { data: [{ type: 'ai-tools', id: String(tool!.id) }] } },
  )
  await create('ai-model-descriptions', { locale: 'en_US', description: 'D' }, { model: one('ai-models', model) })
  await create('system-models', { modelType: 'summary', usageType: 'external' }, { model: one('ai-models', model) })
  await create('system-prompts', { promptType: 'greeting', locale: 'en_US', prompt: 'Be kind.' })
  return { admin, user: await svc.user({ abilities: ['read', 'user'] }) }
}

/** The addresses that a route stands for: one for each of the first resources of the type. */
async function addressesOf(svc: TestApp, caller: TestUser, path: string): Promise<string[]> {
  if (!path.includes('{id}')) return [path]
  const [, type = ''] = path.split('/')
  if (type === 'translation-labels') return ['/translation-labels/de_DE']
  if (type === 'connections') return ['/connections/svc']
  const { body } = await ask(svc, caller, 'GET', `/${type}`)
  return (body.data as { id: string }[]).slice(0, 3).map(({ id }) => path.replace('{id}', id))
}

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()

    const { valid, errors } = await validator.validate(structuredClone(openApi) as never)

    expect(errors).toBeUndefined()
    expect({ valid, version: validator.version }).toEqual({ valid: true, version: '3.1' })
  })

  test('refers only to what is in it', () => {
    const references = JSON.stringify(openApi).matchAll(/"\$ref":"#\/([^"]+)"/g)
    const missing = [...references].flatMap(([, path = '']) => {
      const found = path.split('/').reduce<unknown>((at, step) => (at as Record<string, unknown>)?.[step], openApi)
      return found ? [] : [path]
    })

    expect(missing).toEqual([])
  })

  test('has every route that a procedure serves, and no other', () => {
    const served = routesOf(appRouter).filter(({ procedure }) => procedure)
    const expected = served.map(({ method, url }) => `${method} ${url.replace(':id', '{id}')}`)

    expect(operations.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(expected.toSorted())
  })

  test('gives each operation a name of its own, and each type its sentence', () => {
    const names = operations.map(({ operation }) => operation.operationId)

    expect(new Set(names).size).toBe(names.length)
    expect(openApi.tags).toEqual(resources.map(({ type, about }) => ({ name: type, description: about })))
    expect(new Set(operations.flatMap(({ operation }) => operation.tags))).toEqual(
      new Set(resources.map(({ type }) => type)),
    )
  })

  test('describes every attribute, and says which are for administrators', () => {
    for (const { type, attributes } of resources) {
      const { properties, required = [] } = openApi.components.schemas[type]!.properties.attributes
      expect(Object.keys(properties), type).toEqual(Object.keys(attributes))
      for (const [name, { schema, only, sparse }] of Object.entries(attributes)) {
        const { description = '' } = (properties as Record<string, { description?: string }>)[name]!
        expect(description, `${type}.${name}`).toContain(schema.description)
        expect(description.includes('Only administrators'), `${type}.${name}`).toBe(only === 'admin')
        expect(required.includes(name), `${type}.${name}`).toBe(!only && !sparse)
      }
    }
  })

  test('says what a token must be good for, and what needs none', () => {
    expect(operationOf('GET', '/ai-models').security).toEqual([{ bearer: ['read'] }, { session: [] }])
    expect(operationOf('POST', '/ai-models').security).toEqual([{ bearer: ['write'] }, { session: [] }])
    expect(operationOf('GET', '/configs').security).toEqual([{ bearer: [] }, { session: [] }, {}])
  })

  test('has the headers of conditional and repeated requests where they apply', () => {
    const headersOf = (method: string, path: string) =>
      parametersOf(operationOf(method, path)).flatMap((it) => (it.in === 'header' ? [it.name] : []))

    expect(headersOf('GET', '/ai-models')).toEqual(['If-None-Match'])
    expect(headersOf('POST', '/ai-models')).toEqual(['Idempotency-Key'])
    expect(headersOf('PATCH', '/ai-models/{id}')).toEqual(['If-Match'])
    expect(headersOf('DELETE', '/ai-models/{id}')).toEqual(['If-Match'])
    expect(headersOf('DELETE', '/ai-tools/{id}/relationships/models')).toEqual(['If-Match'])
  })

  test('describes an action as a plain object and as a document, and what only a session may do', () => {
    const of = resources.find(({ type }) => type === 'ai-models') as Resource
    const input = z.strictObject({ id: z.string(), times: z.int().min(1) })
    const ring = userWho('write')
      .meta(exposes(of, { action: 'ring', ofOne: true }))
      .input(input)
    const look = sessionUser.meta(exposes(of, { action: 'look' }))
    const bells = router({ ring: ring.mutation(() => ({})), look: look.query(() => ({})) })
    const described = openApiDocument({ router: router({ bells }), resources, baseUrl: '' }) as unknown as OpenApi
    const { requestBody, responses, operationId } = described.paths['/ai-models/{id}/actions/ring']!['post']!
    const plain = { type: 'object', required: ['times'], properties: { times: { type: 'integer', minimum: 1 } } }

    expect(operationId).toBe('bells.ring')
    expect(requestBody!.content['application/json']!.schema).toMatchObject(plain)
    expect(requestBody!.content[MEDIA]!.schema.properties.data.properties.attributes).toMatchObject(plain)
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '404', '422']))
    expect(described.paths['/ai-models/actions/look']!['get']!.security).toEqual([{ session: [] }])
  })
})

describe('GET /api/svc/v1/openapi.json', () => {
  test('is served to everybody, whatever they accept and whoever they say they are', async () => {
    await using svc = await startApp()

    const plain = await svc.send('GET', `${BASE}/openapi.json`)
    const browser = await svc.send('GET', `${BASE}/openapi.json`, { headers: { accept: 'text/html' } })
    const stranger = await svc.send('GET', `${BASE}/openapi.json`, { token: 'svc_1_wrong' })

    expect([plain.status, browser.status, stranger.status]).toEqual([200, 200, 200])
    expect(plain.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await plain.json()).toEqual({ ...openApi, servers: [{ url: BASE }] })
  })

  test('is not sent again to who has it', async () => {
    await using svc = await startApp()
    const etag = (await svc.send('GET', `${BASE}/openapi.json`)).headers.get('etag')!

    const known = await svc.send('GET', `${BASE}/openapi.json`, { headers: { 'if-none-match': etag } })
    const other = await svc.send('GET', `${BASE}/openapi.json`, { headers: { 'if-none-match': '"other"' } })

    expect([known.status, other.status]).toEqual([304, 200])
    expect(await known.text()).toBe('')
  })

  test('names the public address where there is one', async () => {
    await using svc = await startApp({ BASE_URL: 'https://svc.example.org' })

    const { servers } = (await (await svc.send('GET', `${BASE}/openapi.json`)).json()) as { servers: object[] }

    expect(servers).toEqual([{ url: `https://svc.example.org${BASE}` }])
  })
})

/** Nobody gets an answer with a token alone, or before they have made keys. */
const needsBrowser = /^\/(connections|user-keychain-values|migrations)\//

/** Every include path at once. */
function everythingOf(operation: Operation): string {
  const include = parametersOf(operation).find(({ name }) => name === 'include')?.schema.items?.enum
  return include ? `?include=${include}` : ''
}

/** Queries with each described value, which are answered, and with one beyond them, which are not. */
const queriesOf = (operation: Operation) =>
  parametersOf(operation)
    .filter((it) => it.in === 'query')
    .flatMap(({ name, schema }) => {
      const isPage = name.startsWith('page')
      const good = schema.items?.enum ?? (isPage ? [schema.default, schema.maximum] : [])
      const bad = schema.items ? ['none'] : isPage ? [Number(schema.maximum) + 1, 0] : []
      return [
        ...good.map((value) => ({ query: `?${name}=${value}`, status: 200 })),
        ...bad.map((value) => ({ query: `?${name}=${value}`, status: 400 })),
      ]
    })

describe('what is described is what is answered', () => {
  const reads = operations.filter(({ method }) => method === 'GET')

  test.for(['user', 'admin'] as const)('to every read of a %s', async (role) => {
    await using svc = await startApp()
    const caller = (await filled(svc))[role]
    const answers: { path: string; status: number; errors: string[] }[] = []

    for (const { path, operation } of reads) {
      for (const address of await addressesOf(svc, caller, path)) {
        const { status, body } = await ask(svc, caller, 'GET', address + everythingOf(operation))
        answers.push({ path, status, errors: wrongWithAnswer('GET', path, status, body) })
      }
    }

    expect(answers.filter(({ errors }) => errors.length > 0)).toEqual([])
    const good = new Set(answers.flatMap(({ path, status }) => (status === 200 ? [path] : [])))
    expect(reads.map(({ path }) => path).filter((path) => !good.has(path) && !needsBrowser.test(path))).toEqual([])
  })

  test('in every member: nothing comes that is not described', async () => {
    await using svc = await startApp()
    const { admin } = await filled(svc)

    for (const { path } of reads.filter(({ path }) => !path.includes('{id}') && !path.includes('actions'))) {
      const { body } = await ask(svc, admin, 'GET', path)
      for (const { type, attributes } of [body.data].flat() as { type: string; attributes: object }[]) {
        const { properties } = openApi.components.schemas[type]!.properties.attributes
        expect(Object.keys(properties), path).toEqual(expect.arrayContaining(Object.keys(attributes)))
      }
    }
  })

  test('to every parameter of a collection: each value works, and one beyond them does not', async () => {
    await using svc = await startApp()
    const { admin } = await filled(svc)
    const queries = reads
      .filter(({ path }) => !path.includes('{id}') && !path.includes('actions'))
      .flatMap(({ path, operation }) => queriesOf(operation).map(({ query, status }) => ({ at: path + query, status })))

    const found = await Promise.all(
      queries.map(async ({ at }) => ({ at, status: (await ask(svc, admin, 'GET', at)).status })),
    )

    expect(queries.length).toBeGreaterThan(100)
    expect(found).toEqual(queries)
  })

  test('to a write, and to a refusal of each kind', async () => {
    await using svc = await startApp()
    const { admin, user } = await filled(svc)
    const data = { type: 'ai-providers', attributes: { providerId: 'p2', name: 'P', adapter: 'openai' } }
    const created = await ask(svc, admin, 'POST', '/ai-providers', { data })
    const { id } = created.body.data as { id: string }
    const answers: [number, string, string, Answer][] = [
      [201, 'POST', '/ai-providers', created],
      [409, 'POST', '/ai-providers', await ask(svc, admin, 'POST', '/ai-providers', { data })],
      [422, 'POST', '/ai-providers', await ask(svc, admin, 'POST', '/ai-providers', { data: { type: data.type } })],
      [403, 'POST', '/ai-providers', await ask(svc, user, 'POST', '/ai-providers', { data })],
      [401, 'POST', '/ai-providers', await ask(svc, { ...user, token: '' }, 'POST', '/ai-providers', { data })],
      [400, 'GET', '/ai-providers', await ask(svc, user, 'GET', '/ai-providers?include=none')],
      [404, 'GET', '/ai-providers/{id}', await ask(svc, user, 'GET', '/ai-providers/999999')],
      [200, 'DELETE', '/ai-providers/{id}', await ask(svc, admin, 'DELETE', `/ai-providers/${id}`)],
    ]
    const [tool] = (await ask(svc, admin, 'GET', '/ai-tools')).body.data as { id: string }[]
    const links = `/ai-tools/${tool!.id}/relationships/models`
    answers.push([
      200,
      'PATCH',
      '/ai-tools/{id}/relationships/models',
      await ask(svc, admin, 'PATCH', links, { data: [] }),
    ])

    for (const [status, method, path, answer] of answers) {
      expect(answer.status, `${method} ${path}`).toBe(status)
      expect(wrongWithAnswer(method, path, status, answer.body), `${status} ${method} ${path}`).toEqual([])
    }
  })
})

describe('a body that is described is a body that is taken', () => {
  const creations = operations.filter(({ method, path }) => method === 'POST' && !/actions|relationships/.test(path))

  test('and one without a required member is neither', async () => {
    await using svc = await startApp()
    const { admin } = await filled(svc)
    const related = { data: { type: 'ai-models', id: await idOf(svc, admin, 'ai-models') } }
    const provider = { data: { type: 'ai-providers', id: await idOf(svc, admin, 'ai-providers') } }
    const bodies: Record<string, { attributes: object; relationships?: object }> = {
      'ai-providers': { attributes: { providerId: 'px', name: 'P', adapter: 'openai', apiUrl: null } },
      'ai-models': { attributes: { modelId: 'mx', label: 'M', flags: ['self-hosted'] }, relationships: { provider } },
      'ai-model-descriptions': { attributes: { locale: 'de_DE', description: 'D' }, relationships: { model: related } },
      'mcp-servers': { attributes: { url: 'https://other.example', serverLabel: 'S', timeouts: { read: 5 } } },
      'system-models': { attributes: { modelType: 'other' }, relationships: { model: related } },
      'system-prompts': { attributes: { promptType: 'other', locale: 'de_DE', prompt: 'P' } },
    }

    expect(creations.map(({ path }) => path.slice(1)).toSorted()).toEqual(Object.keys(bodies).toSorted())
    for (const [type, members] of Object.entries(bodies)) {
      for (const lacking of lacks(type, members)) await expectNeither(svc, admin, type, lacking)
      const body = { data: { type, ...members } }
      expect(wrongWithBody('POST', `/${type}`, body), type).toEqual([])
      expect((await ask(svc, admin, 'POST', `/${type}`, body)).status, type).toBe(201)
      await expectNeither(svc, admin, type, { ...members, attributes: { ...members.attributes, unheardOf: 1 } })
    }
  })

  test('of a change, which names what it changes', async () => {
    await using svc = await startApp()
    const { admin } = await filled(svc)
    const id = await idOf(svc, admin, 'ai-models')
    const change = { data: { type: 'ai-models', id, attributes: { label: 'New', limits: { maxInputTokens: 5 } } } }
    const nameless = { data: { type: 'ai-models', attributes: { label: 'New' } } }

    expect(wrongWithBody('PATCH', '/ai-models/{id}', change)).toEqual([])
    expect((await ask(svc, admin, 'PATCH', `/ai-models/${id}`, change)).status).toBe(200)
    expect(wrongWithBody('PATCH', '/ai-models/{id}', nameless)).not.toEqual([])
    expect((await ask(svc, admin, 'PATCH', `/ai-models/${id}`, nameless)).status).toBe(422)
  })

  type Members = { attributes: object; relationships?: object }

  const idOf = async (svc: TestApp, caller: TestUser, type: string) =>
    ((await ask(svc, caller, 'GET', `/${type}`)).body.data as { id: string }[])[0]!.id

  /** The members without one that the description says must be there, for each of these. */
  function lacks(type: string, members: Members): Members[] {
    const { schema } = operationOf('POST', `/${type}`).requestBody!.content[MEDIA]!
    const { attributes, relationships } = schema.properties.data.properties
    const without = (of: object, name: string) => Object.fromEntries(Object.entries(of).filter(([it]) => it !== name))
    const found = [
      ...(attributes?.required ?? []).map((name) => ({ ...members, attributes: without(members.attributes, name) })),
      ...(relationships?.required ?? []).map((name) => ({
        ...members,
        relationships: without(members.relationships ?? {}, name),
      })),
    ]
    expect(found.length, type).toBeGreaterThan(0)
    return found
  }

  async function expectNeither(svc: TestApp, caller: TestUser, type: string, members: Members) {
    const body = { data: { type, ...members } }
    expect(wrongWithBody('POST', `/${type}`, body), JSON.stringify(body)).not.toEqual([])
    expect((await ask(svc, caller, 'POST', `/${type}`, body)).status, JSON.stringify(body)).toBe(422)
  }
})

import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp, type TestUser } from '../../kit/app.ts'
import { appPublicKey } from '../../kit/apps/ext-app.ts'
import {
  BASE,
  MEDIA,
  type Operation,
  openApi,
  operationOf,
  operations,
  parametersOf,
} from '../../kit/json-api/openapi.ts'
import { queriesOf, requestTo } from '../../kit/json-api/openapi-requests.ts'
import { rounds } from '../../kit/rounds.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })

formats.default(ajv)

ajv.addSchema(openApi as object, 'svc')

const inPointer = (step: string) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

/** What is wrong with a value by the schema at a place of the document. */
function wrongWith(value: unknown, ...steps: string[]) {
  // By its place, so that each schema is compiled once.
  const validate = ajv.getSchema(`svc#/${steps.map(inPointer).join('/')}`)
  if (!validate) throw new Error(`no schema at ${steps.join(' ')}`)
  return validate(value) ? [] : validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`)
}

function wrongWithAnswer(method: string, path: string, status: number, body: unknown) {
  const place = ['paths', BASE + path, method.toLowerCase(), 'responses', String(status)]
  const response = operationOf(method, path).responses[status]
  if (!response) return [`the status ${status} is not described`]
  const at = '$ref' in response ? ['components', 'responses', String(status)] : place
  return wrongWith(body, ...at, 'content', MEDIA, 'schema')
}

const wrongWithBody = (method: string, path: string, body: unknown, media = MEDIA) =>
  wrongWith(body, 'paths', BASE + path, method.toLowerCase(), 'requestBody', 'content', media, 'schema')

interface Answer {
  status: number
  body: { data?: { id: string; type: string; attributes?: object } | { id: string }[] | null; included?: unknown[] }
  etag: string | null
}

/** The one file there is. */
const isText = ({ headers }: Response) => headers.get('content-type') === 'text/plain'

async function ask(svc: TestApp, { token }: TestUser, method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { accept: MEDIA, ...(body !== undefined && { 'content-type': MEDIA }) }
  const response = await svc.send(method, BASE + path, { token, headers, ...(body !== undefined && { body }) })
  return {
    status: response.status,
    body: (isText(response) ? await response.text() : await response.json()) as Answer['body'],
    etag: response.headers.get('etag'),
  }
}

const portal = {
  ...{ name: 'Portal', url: 'https://portal.example', redirectUrls: ['https://portal.example/back'] },
  publicKey: appPublicKey,
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
  await create('ext-apps', portal)
  const user = await svc.user({ abilities: ['read', 'user', 'write'] })
  for (const caller of [admin, user]) {
    const room = { data: { type: 'rooms', attributes: { name: 'R' } } }
    const made = await ask(svc, caller, 'POST', '/rooms', room)
    expect(made.status).toBe(201)
    await sendTwo(svc, caller, (made.body.data as { id: string }).id)
  }
  return { admin, user }
}

/** Writes a message in a room, and a reply to it. */
async function sendTwo(svc: TestApp, caller: TestUser, roomId: string) {
  const room = { data: { type: 'rooms', id: roomId } }
  const send = async (relationships: object) => {
    const message = { data: { type: 'room-messages', attributes: { content: 'aQ==|dA==|Yw==' }, relationships } }
    const { status, body } = await ask(svc, caller, 'POST', '/room-messages', message)
    expect(status).toBe(201)
    return { data: { type: 'room-messages', id: (body.data as { id: string }).id } }
  }
  const attachments = { data: [{ type: 'attachments', id: await uploadOne(svc, caller) }] }
  await send({ room, attachments, thread: await send({ room }) })
}

async function uploadOne(svc: TestApp, { token }: TestUser): Promise<string> {
  const body = new FormData()
  body.append('file', new Blob(['Hello']), 'hello.txt')
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${svc.url}${BASE}/attachments/actions/upload`, { method: 'POST', headers, body })
  const answer = await response.json()
  expect(wrongWithAnswer('POST', '/attachments/actions/upload', response.status, answer)).toEqual([])
  return (answer as { data: { id: string } }).data.id
}

/** The addresses that a route stands for: one for each of the first resources of the type. */
async function addressesOf(svc: TestApp, caller: TestUser, path: string): Promise<string[]> {
  if (!path.includes('{id}')) return [path]
  const [, type = ''] = path.split('/')
  if (type === 'translation-labels') return ['/translation-labels/de_DE']
  if (type === 'connections') return ['/connections/svc']
  const { body } = await ask(svc, caller, 'GET', `/${type}`)
  return ((body.data ?? []) as { id: string }[]).slice(0, 3).map(({ id }) => path.replace('{id}', id))
}

/** Nobody gets an answer with a token alone, or before they have made keys. */
const needsBrowser = /^\/(connections|user-keychain-values|migrations)\/|^\/ext-apps\/\{id\}$|\/actions\/link$/

/** Every include path at once. */
function everythingOf(operation: Operation): string {
  const include = parametersOf(operation).find(({ name }) => name === 'include')?.schema.items?.enum
  return include ? `?include=${include}` : ''
}

const isFile = ({ responses }: Operation) =>
  '*/*' in ((responses[200] as { content?: object } | undefined)?.content ?? {})

const reads = operations.filter(({ method, operation }) => method === 'GET' && !isFile(operation))

test('what is described is what is answered to every request for a file', async () => {
  await using svc = await startApp()
  const { user } = await filled(svc)
  const { body } = await ask(svc, user, 'GET', '/attachments')
  const { id, attributes } = (body.data as { id: string; attributes: { identifier: string } }[])[0]!
  const files = operations.filter(({ operation }) => isFile(operation))
  const asked: [status: number, headers: Record<string, string>][] = [
    [200, {}],
    [206, { range: 'bytes=1-3' }],
    [304, { 'if-none-match': '*' }],
    [412, { 'if-match': '"other"' }],
    [416, { range: 'bytes=5-' }],
  ]

  expect(files.map(({ path }) => path)).toEqual([
    '/attachments/{id}/actions/download',
    '/proxy/storage/{identifier}',
    '/attachments/{id}/actions/text',
  ])
  const text = () => svc.send('GET', `${BASE}/attachments/${id}/actions/text`, { token: user.token })
  await expect.poll(async () => (await text()).status, { timeout: 20_000 }).toBe(200)
  for (const { path, operation } of files)
    for (const [status, headers] of asked) {
      const address = BASE + path.replace('{id}', id).replace('{identifier}', attributes.identifier)
      const answer = await svc.send('GET', address, { token: user.token, headers })
      const errors = status > 400 ? wrongWithAnswer('GET', path, status, await answer.json()) : []
      expect([answer.status, String(status) in operation.responses, errors]).toEqual([status, true, []])
    }
})

/** One for all tests that only read. */
let read: Awaited<ReturnType<typeof filled>> & { svc: TestApp }
beforeAll(async () => {
  const svc = await startApp()
  read = { svc, ...(await filled(svc)) }
})
afterAll(() => read.svc[Symbol.asyncDispose]())

test.for(['user', 'admin'] as const)('what is described is what is answered to every read of a %s', async (role) => {
  const { svc, [role]: caller } = read
  const answers: { path: string; status: number; errors: string[] }[] = []

  for (const { path, operation } of reads) {
    for (const address of await addressesOf(svc, caller, path)) {
      const { status, body } = await ask(svc, caller, 'GET', address + everythingOf(operation))
      answers.push({ path, status, errors: wrongWithAnswer('GET', path, status, body) })
    }
  }

  expect(answers.filter(({ errors }) => errors.length > 0)).toEqual([])
  const good = new Set(answers.flatMap(({ path, status }) => (status === 200 ? [path] : [])))
  const closed = (path: string) => needsBrowser.test(path) || (role === 'user' && path === '/ext-apps/{id}')
  expect(reads.map(({ path }) => path).filter((path) => !good.has(path) && !closed(path))).toEqual([])
})

test('what is described is what is answered to every read that asks for some fields alone', async () => {
  const { svc, admin } = read
  const answers: { at: string; errors: string[] }[] = []

  for (const { path, operation } of reads) {
    const types = parametersOf(operation).filter(({ name }) => name.startsWith('fields'))
    const queries = types.flatMap(({ name, schema }) => [`${name}=`, `${name}=${schema.items?.enum.at(-1)}`])
    for (const address of (await addressesOf(svc, admin, path)).slice(0, 1))
      for (const query of queries) {
        const include = everythingOf(operation).replace('?', '&')
        const at = `${address}?${query}${include}`
        const { status, body } = await ask(svc, admin, 'GET', at)
        answers.push({ at, errors: wrongWithAnswer('GET', path, status, body) })
      }
  }

  expect(answers.length).toBeGreaterThan(50)
  expect(answers.filter(({ errors }) => errors.length > 0)).toEqual([])
})

test('what is described is what is answered to whatever is sent to every operation', async () => {
  await using svc = await startApp()
  const callers = Object.values(await filled(svc))
  const answers: { at: string; status: number; errors: string[] }[] = []
  const seen = new Set<string>()

  for (const { method, path, operation } of operations) {
    const [known = path] = await addressesOf(svc, callers[0]!, path)
    const sent = fc.sample(requestTo(method, path, operation), { numRuns: rounds(4, 16), seed: 42 })
    for (const { who, id, query, body } of sent) {
      const at = (id === undefined ? known : path.replace('{id}', encodeURIComponent(id))) + query
      const answer = await ask(svc, callers[who]!, method, at, body)
      const isSent = isFile(operation) && answer.status === 200
      const errors = isSent ? [] : wrongWithAnswer(method, path, answer.status, answer.body)
      answers.push({ at: `${method} ${at} ${JSON.stringify(body)}`, status: answer.status, errors })
      seen.add(`${method} ${path}`)
    }
  }

  expect(answers.filter(({ errors, status }) => errors.length > 0 || status >= 500)).toEqual([])
  expect(seen.size).toBe(operations.length)
  // Not everything is refused.
  expect(answers.filter(({ status }) => status < 300).length).toBeGreaterThan(100)
})

test('what is described is what is answered in every member: nothing comes that is not described', async () => {
  const { svc, admin } = read

  for (const { path } of reads.filter(({ path }) => !path.includes('{id}') && !path.includes('actions'))) {
    const { body } = await ask(svc, admin, 'GET', path)
    for (const { type, attributes } of [body.data].flat() as { type: string; attributes: object }[]) {
      const { properties } = openApi.components.schemas[type]!.properties.attributes
      expect(Object.keys(properties), path).toEqual(expect.arrayContaining(Object.keys(attributes)))
    }
  }
})

test('what is described is what is answered to every parameter of a collection: each value works, and one beyond them does not', async () => {
  const { svc, admin } = read
  const queries = reads
    .filter(({ path }) => !path.includes('{id}') && !path.includes('actions'))
    .flatMap(({ path, operation }) => queriesOf(operation).map(({ query, status }) => ({ at: path + query, status })))

  const found = await Promise.all(
    queries.map(async ({ at }) => ({ at, status: (await ask(svc, admin, 'GET', at)).status })),
  )

  expect(queries.length).toBeGreaterThan(100)
  expect(found).toEqual(queries)
})

test('what is described is what is answered to a write, and to a refusal of each kind', async () => {
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

const wrongWithPlain = async (response: Response, method: string, path: string) => {
  const place = ['paths', path, method, 'responses', String(response.status), 'content', 'application/json', 'schema']
  return wrongWith(await response.json(), ...place)
}

test('what is described of the endpoints beside JSON:API is what is answered, and what the introduction says to send is taken', async () => {
  await using svc = await startApp()
  const { token } = await svc.user()
  const body = /-d '(.*)'/.exec(openApi.info.description)![1]!
  const ask = (body: string, token?: string) => svc.send('POST', '/api/ai-req', { token, body })
  const invalid = JSON.stringify({ payload: { model: 'demo', messages: [{ role: 'parrot' }] } })
  const answers: [number, string, string, Response][] = [
    [200, 'post', '/api/ai-req', await ask(body, token)],
    [401, 'post', '/api/ai-req', await ask(body)],
    [422, 'post', '/api/ai-req', await ask(invalid, token)],
    [200, 'get', '/api/user', await svc.send('GET', '/api/user', { token })],
    [401, 'get', '/api/user', await svc.send('GET', '/api/user')],
    [200, 'get', '/health', await svc.send('GET', '/health')],
  ]

  for (const [status, method, path, response] of answers) {
    expect([method, path, response.status]).toEqual([method, path, status])
    expect(await wrongWithPlain(response, method, path), `${method} ${path} ${status}`).toEqual([])
  }
  const request = ['paths', '/api/ai-req', 'post', 'requestBody', 'content', 'application/json', 'schema']
  expect(wrongWith(JSON.parse(body), ...request)).toEqual([])
  expect(wrongWith(JSON.parse(invalid), ...request)).not.toEqual([])
})

const creations = operations.filter(({ method, path }) => method === 'POST' && !/actions|relationships/.test(path))

test('a body that is described is a body that is taken and one without a required member is neither', async () => {
  await using svc = await startApp()
  const { admin, user } = await filled(svc)
  const related = { data: { type: 'ai-models', id: await idOf(svc, admin, 'ai-models') } }
  const provider = { data: { type: 'ai-providers', id: await idOf(svc, admin, 'ai-providers') } }
  const room = { data: { type: 'rooms', id: await idOf(svc, admin, 'rooms') } }
  const bodies: Record<string, { attributes: object; relationships?: object }> = {
    'ai-providers': { attributes: { providerId: 'px', name: 'P', adapter: 'openai', apiUrl: null } },
    'ai-models': { attributes: { modelId: 'mx', label: 'M', flags: ['self-hosted'] }, relationships: { provider } },
    'ai-model-descriptions': { attributes: { locale: 'de_DE', description: 'D' }, relationships: { model: related } },
    'ext-apps': { attributes: { ...portal, name: 'Another' } },
    'mcp-servers': { attributes: { url: 'https://other.example', serverLabel: 'S', timeouts: { read: 5 } } },
    'room-members': {
      attributes: { role: 'viewer', wrappedKey: 'a2V5', keyEpoch: 0 },
      relationships: {
        room: { data: { type: 'rooms', id: '1' } },
        user: { data: { type: 'users', id: `${user.id}` } },
      },
    },
    'room-messages': { attributes: { content: 'aQ==|dA==|Yw==' }, relationships: { room } },
    rooms: { attributes: { name: 'Chess', roomDescription: null } },
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

test('a body that is described is a body that is taken of a change, which names what it changes', async () => {
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

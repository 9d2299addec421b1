import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp, type TestUser } from '../../kit/app.ts'
import { withAssistants } from '../../kit/json-api/assistants.ts'
import {
  anyOperationRequest,
  BASE,
  buildQueries,
  findResponseErrors,
  findSchemaErrors,
  jsonApiOperations,
  type Operation,
  openApi,
  parametersOf,
} from '../../kit/json-api/openapi.ts'
import { type Answer, fillDatabase, sendJsonApi } from '../../kit/json-api/sample-rows.ts'
import { UNTIL_READ } from '../../kit/rooms/attachments.ts'
import { chooseRounds } from '../../kit/rounds.ts'

/** Returns the addresses of a route, one for each of the first resources of its type. */
async function addressesOf(svc: TestApp, caller: TestUser, path: string): Promise<string[]> {
  if (!path.includes('{id}')) return [path]
  const [, type = ''] = path.split('/')
  if (type === 'translation-labels') return ['/translation-labels/de_DE']
  if (type === 'connections') return ['/connections/svc']
  // Starters are read with their assistants, and have no list.
  const isStarter = type === 'assistant-user-prompts'
  const list = isStarter ? '/assistants?include=assistantUserPrompts' : `/${type}`
  const { body } = await sendJsonApi(svc, caller, 'GET', list)
  return ((isStarter ? body.included : (body.data ?? [])) as { id: string }[])
    .slice(0, 3)
    .map(({ id }) => path.replace('{id}', id))
}

/** These routes need a session with keys, so no token gets an answer. */
const needsBrowser = /^\/(connections|user-keychain-values|migrations)\/|^\/ext-apps\/\{id\}$|\/actions\/link$/

/** Every include path at once. */
function everythingOf(operation: Operation): string {
  const include = parametersOf(operation).find(({ name }) => name === 'include')?.schema.items?.enum
  return include ? `?include=${include}` : ''
}

const isFile = ({ responses }: Operation) =>
  '*/*' in ((responses[200] as { content?: object } | undefined)?.content ?? {})

const reads = jsonApiOperations.filter(({ method, operation }) => method === 'GET' && !isFile(operation))

/** One service for all tests but the one that changes data. */
let shared: Awaited<ReturnType<typeof fillDatabase>> & { svc: TestApp }
beforeAll(async () => {
  const svc = await startApp(withAssistants)
  shared = { svc, ...(await fillDatabase(svc)) }
})
afterAll(() => shared.svc[Symbol.asyncDispose]())

test('what is described is what is answered to every request for a file', async () => {
  const { svc, user } = shared
  const { body } = await sendJsonApi(svc, user, 'GET', '/attachments')
  const { id, attributes } = (body.data as { id: string; attributes: { identifier: string } }[])[0]!
  const files = jsonApiOperations.filter(({ operation }) => isFile(operation))
  const responses: [status: number, headers: Record<string, string>][] = [
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
  await expect.poll(async () => (await text()).status, UNTIL_READ).toBe(200)
  for (const { path, operation } of files)
    for (const [status, headers] of responses) {
      const address = BASE + path.replace('{id}', id).replace('{identifier}', attributes.identifier)
      const answer = await svc.send('GET', address, { token: user.token, headers })
      const errors = status > 400 ? findResponseErrors('GET', path, status, await answer.json()) : []
      expect([answer.status, String(status) in operation.responses, errors]).toEqual([status, true, []])
    }
})

test.for(['user', 'admin'] as const)('what is described is what is answered to every read of a %s', async (role) => {
  const { svc, [role]: caller } = shared
  const answers: { path: string; status: number; errors: string[] }[] = []

  for (const { path, operation } of reads) {
    for (const address of await addressesOf(svc, caller, path)) {
      const { status, body } = await sendJsonApi(svc, caller, 'GET', address + everythingOf(operation))
      answers.push({ path, status, errors: findResponseErrors('GET', path, status, body) })
    }
  }

  expect(answers.filter(({ errors }) => errors.length > 0)).toEqual([])
  const good = new Set(answers.flatMap(({ path, status }) => (status === 200 ? [path] : [])))
  const closed = (path: string) => needsBrowser.test(path) || (role === 'user' && path === '/ext-apps/{id}')
  expect(reads.map(({ path }) => path).filter((path) => !good.has(path) && !closed(path))).toEqual([])
})

test('responses to sparse reads match the OpenAPI document', async () => {
  const { svc, admin } = shared
  const answers: { at: string; errors: string[] }[] = []

  for (const { path, operation } of reads) {
    const types = parametersOf(operation).filter(({ name }) => name.startsWith('fields'))
    const queries = types.flatMap(({ name, schema }) => [`${name}=`, `${name}=${schema.items?.enum.at(-1)}`])
    for (const address of (await addressesOf(svc, admin, path)).slice(0, 1))
      for (const query of queries) {
        const include = everythingOf(operation).replace('?', '&')
        const at = `${address}?${query}${include}`
        const { status, body } = await sendJsonApi(svc, admin, 'GET', at)
        answers.push({ at, errors: findResponseErrors('GET', path, status, body) })
      }
  }

  expect(answers.length).toBeGreaterThan(50)
  expect(answers.filter(({ errors }) => errors.length > 0)).toEqual([])
})

test('what is described is what is answered to whatever is sent to every operation', async () => {
  await using svc = await startApp(withAssistants)
  const callers = Object.values(await fillDatabase(svc))
  const answers: { at: string; status: number; errors: string[] }[] = []
  const seen = new Set<string>()

  for (const { method, path, operation } of jsonApiOperations) {
    const [known = path] = await addressesOf(svc, callers[0]!, path)
    const sent = fc.sample(anyOperationRequest(method, path, operation), { numRuns: chooseRounds(4, 8), seed: 42 })
    for (const { who, id, query, body } of sent) {
      const at = (id === undefined ? known : path.replace('{id}', encodeURIComponent(id))) + query
      const answer = await sendJsonApi(svc, callers[who]!, method, at, body)
      const isSent = isFile(operation) && answer.status === 200
      const errors = isSent ? [] : findResponseErrors(method, path, answer.status, answer.body)
      answers.push({ at: `${method} ${at} ${JSON.stringify(body)}`, status: answer.status, errors })
      seen.add(`${method} ${path}`)
    }
  }

  expect(answers.filter(({ errors, status }) => errors.length > 0 || status >= 500)).toEqual([])
  expect(seen.size).toBe(jsonApiOperations.length)
  // Not everything is refused.
  expect(answers.filter(({ status }) => status < 300).length).toBeGreaterThan(100)
})

test('no response has a member that the OpenAPI document lacks', async () => {
  const { svc, admin } = shared

  for (const { path } of reads.filter(({ path }) => !path.includes('{id}') && !path.includes('actions'))) {
    const { body } = await sendJsonApi(svc, admin, 'GET', path)
    for (const { type, attributes } of [body.data].flat() as { type: string; attributes: object }[]) {
      const { properties } = openApi.components.schemas[type]!.properties.attributes
      expect(Object.keys(properties), path).toEqual(expect.arrayContaining(Object.keys(attributes)))
    }
  }
})

test('every described parameter value works, and one beyond them is refused', async () => {
  const { svc, admin } = shared
  const queries = reads
    .filter(({ path }) => !path.includes('{id}') && !path.includes('actions'))
    .flatMap(({ path, operation }) =>
      buildQueries(operation).map(({ query, status }) => ({ at: path + query, status })),
    )

  const found: typeof queries = []
  for (const { at } of queries) found.push({ at, status: (await sendJsonApi(svc, admin, 'GET', at)).status })

  expect(queries.length).toBeGreaterThan(100)
  expect(found).toEqual(queries)
})

test('responses to writes and refusals match the OpenAPI document', async () => {
  const { svc, admin, user } = shared
  const data = { type: 'ai-providers', attributes: { providerId: 'p2', name: 'P', adapter: 'openai' } }
  const created = await sendJsonApi(svc, admin, 'POST', '/ai-providers', { data })
  const { id } = created.body.data as { id: string }
  const answers: [number, string, string, Answer][] = [
    [201, 'POST', '/ai-providers', created],
    [409, 'POST', '/ai-providers', await sendJsonApi(svc, admin, 'POST', '/ai-providers', { data })],
    [
      422,
      'POST',
      '/ai-providers',
      await sendJsonApi(svc, admin, 'POST', '/ai-providers', { data: { type: data.type } }),
    ],
    [403, 'POST', '/ai-providers', await sendJsonApi(svc, user, 'POST', '/ai-providers', { data })],
    [401, 'POST', '/ai-providers', await sendJsonApi(svc, { ...user, token: '' }, 'POST', '/ai-providers', { data })],
    [400, 'GET', '/ai-providers', await sendJsonApi(svc, user, 'GET', '/ai-providers?include=none')],
    [404, 'GET', '/ai-providers/{id}', await sendJsonApi(svc, user, 'GET', '/ai-providers/999999')],
    [200, 'DELETE', '/ai-providers/{id}', await sendJsonApi(svc, admin, 'DELETE', `/ai-providers/${id}`)],
  ]
  const [tool] = (await sendJsonApi(svc, admin, 'GET', '/ai-tools')).body.data as { id: string }[]
  const links = `/ai-tools/${tool!.id}/relationships/models`
  answers.push([
    200,
    'PATCH',
    '/ai-tools/{id}/relationships/models',
    await sendJsonApi(svc, admin, 'PATCH', links, { data: [] }),
  ])

  for (const [status, method, path, answer] of answers) {
    expect(answer.status, `${method} ${path}`).toBe(status)
    expect(findResponseErrors(method, path, status, answer.body), `${status} ${method} ${path}`).toEqual([])
  }
})

const wrongWithPlain = async (response: Response, method: string, path: string) => {
  const place = ['paths', path, method, 'responses', String(response.status), 'content', 'application/json', 'schema']
  return findSchemaErrors(await response.json(), ...place)
}

test('endpoints beside JSON:API answer as the OpenAPI document describes', async () => {
  const { svc } = shared
  const { token } = await svc.user()
  const body = /-d '(.*)'/.exec(openApi.info.description)![1]!
  const sendQuestion = (body: string, token?: string) => svc.send('POST', '/api/ai-req', { token, body })
  const invalid = JSON.stringify({ payload: { model: 'demo', messages: [{ role: 'parrot' }] } })
  const answers: [number, string, string, Response][] = [
    [200, 'post', '/api/ai-req', await sendQuestion(body, token)],
    [401, 'post', '/api/ai-req', await sendQuestion(body)],
    [422, 'post', '/api/ai-req', await sendQuestion(invalid, token)],
    [200, 'get', '/api/user', await svc.send('GET', '/api/user', { token })],
    [401, 'get', '/api/user', await svc.send('GET', '/api/user')],
    [200, 'get', '/health', await svc.send('GET', '/health')],
  ]

  for (const [status, method, path, response] of answers) {
    expect([method, path, response.status]).toEqual([method, path, status])
    expect(await wrongWithPlain(response, method, path), `${method} ${path} ${status}`).toEqual([])
  }
  const request = ['paths', '/api/ai-req', 'post', 'requestBody', 'content', 'application/json', 'schema']
  expect(findSchemaErrors(JSON.parse(body), ...request)).toEqual([])
  expect(findSchemaErrors(JSON.parse(invalid), ...request)).not.toEqual([])
})

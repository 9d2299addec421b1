import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { beforeAll, expect, test } from 'vitest'
import { startApp, type TestUser } from '../../kit/app.ts'
import { allOperations, BASE, openApi } from '../../kit/json-api/openapi.ts'
import { shareResource } from '../../kit/share-resource.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })
formats.default(ajv)
ajv.addSchema(openApi as object, 'svc')

let ada: TestUser
const svc = shareResource(startApp)
beforeAll(async () => {
  ada = await svc.user({ abilities: ['ai', 'user', 'read'] })
})

const inPointer = (step: string) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

function wrongWith(value: unknown, ...steps: string[]) {
  const validate = ajv.getSchema(`svc#/${steps.map(inPointer).join('/')}`)
  if (!validate) return [`nothing is described at ${steps.join(' ')}`]
  return validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

const messages = [{ role: 'user', content: 'Hello' }]
const link = '?url=http%3A%2F%2F127.0.0.1%2F'
const proxy = `${BASE}/proxy/link-preview`
const version = { 'anthropic-version': '2023-06-01' }
const responses: [
  method: string,
  path: string,
  sent?: { query?: string; at?: string; body?: object; headers?: Record<string, string>; status?: number },
][] = [
  ['POST', '/v1/chat/completions', { body: { model: 'demo', messages } }],
  ['POST', '/v1/responses', { body: { model: 'demo', input: 'Hello' } }],
  ['POST', '/v1/messages', { body: { model: 'demo', max_tokens: 100, messages }, headers: version }],
  ['GET', '/v1/models'],
  ['GET', '/v1/models', { headers: version }],
  ['GET', '/v1/models/{model}', { at: '/v1/models/demo' }],
  ['GET', '/v1/models/{model}', { at: '/v1/models/demo', headers: version }],
  ['GET', '/v1/models/{model}', { at: '/v1/models/none', status: 404 }],
  ['POST', '/v1/messages/count_tokens', { body: { model: 'demo', messages }, headers: version }],
  // The demo model answers with text only.
  ['POST', '/v1/embeddings', { body: { model: 'demo', input: 'Hello' }, status: 404 }],
  [
    'POST',
    '/api/ai-req',
    { body: { payload: { model: 'demo', messages: [{ role: 'user', content: { text: 'Hello' } }] } } },
  ],
  ['GET', '/api/user'],
  ['GET', '/health'],
  ['POST', '/api/link-preview', { body: { url: 'http://127.0.0.1/' } }],
  ['GET', `${proxy}/metadata`, { query: link }],
  ['GET', `${proxy}/image`, { query: link }],
  ['GET', `${proxy}/favicon`, { query: link }],
]

const described = allOperations.filter(
  ({ path, operation }) => !path.startsWith(BASE) || operation.tags.includes('links'),
)

/** Returns the errors of a response by its description; pictures are described as bytes. */
async function wrongWithAnswer(method: string, path: string, response: Response) {
  const of = openApi.paths[path]?.[method.toLowerCase()]?.responses[response.status] as { $ref?: string } | undefined
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  if (!of) return [`the status ${response.status} is not described`]
  if (type.startsWith('image/')) return 'content' in of && JSON.stringify(of).includes('image/*') ? [] : ['an image']
  const at = of.$ref
    ? of.$ref.slice(2).split('/')
    : ['paths', path, method.toLowerCase(), 'responses', `${response.status}`]
  return wrongWith(await response.json(), ...at, 'content', type, 'schema')
}

test('the OpenAPI document has every endpoint beside JSON:API that programs call', () => {
  expect(new Set(described.map(({ method, path }) => `${method} ${path}`))).toEqual(
    new Set(responses.map(([method, path]) => `${method} ${path}`)),
  )
})

test.each(responses)(
  '%s %s answers as described, and refuses a stranger as described',
  async (method, path, sent = {}) => {
    const { query = '', at = path, body, headers = {}, status = 200 } = sent
    const answer = await svc.send(method, at + query, { token: ada.token, headers, ...(body && { body }) })
    const stranger = await svc.send(method, at + query, { headers, ...(body && { body }) })

    expect(answer.status).toBe(status)
    if (body) {
      const place = ['paths', path, method.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema']
      expect(wrongWith(body, ...place)).toEqual([])
    }
    expect(await wrongWithAnswer(method, path, answer)).toEqual([])
    expect([stranger.status, await wrongWithAnswer(method, path, stranger)]).toEqual([
      path === '/health' ? 200 : 401,
      [],
    ])
  },
)

test.each(responses.filter(([, , sent]) => sent?.body))(
  '%s %s refuses a body that is none as it is described',
  async (method, path, sent) => {
    const answer = await svc.send(method, path, {
      token: ada.token,
      headers: sent?.headers ?? {},
      body: { nothing: 1 },
    })

    expect([answer.status >= 400, await wrongWithAnswer(method, path, answer)]).toEqual([true, []])
  },
)

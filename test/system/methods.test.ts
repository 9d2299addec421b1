import { beforeAll, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { shareResource } from '../kit/share-resource.ts'

const ORIGIN = 'https://chat.example.org'
let documented: [path: string, methods: string[]][]

const svc = shareResource(() => startApp({ CORS_ORIGINS: ORIGIN }))
beforeAll(async () => {
  const { paths } = (await (await svc.send('GET', '/api/svc/v1/openapi.json')).json()) as {
    paths: Record<string, object>
  }
  documented = Object.entries(paths).map(([path, item]) => [
    path.replaceAll(/\{\w+\}/g, '1'),
    Object.keys(item)
      .filter((name) => /^(get|post|put|patch|delete)$/.test(name))
      .map((name) => name.toUpperCase()),
  ])
})

const allowed = ({ headers }: Response) => headers.get('allow')?.split(', ') ?? []

test('each address refuses an unsupported method and lists the supported ones', async () => {
  expect(documented.length).toBeGreaterThan(100)
  for (const [path, methods] of documented) {
    const refused = await svc.send('PUT', path)
    expect([path, refused.status]).toEqual([path, 405])
    expect(allowed(refused), path).toEqual(expect.arrayContaining(methods))
    if (methods.includes('GET')) expect(allowed(refused), path).toContain('HEAD')
  }
})

test('OPTIONS tells the methods of an address to everybody, and finds nothing elsewhere', async () => {
  for (const [path, methods] of documented) {
    const response = await svc.send('OPTIONS', path, { token: 'svc_1_wrong' })
    expect([path, response.status, await response.text()]).toEqual([path, 204, ''])
    expect(allowed(response), path).toEqual(expect.arrayContaining([...methods, 'OPTIONS']))
  }
  for (const path of ['/nothing', '/api/svc/v1/nothing', '/v1/nothing'])
    expect((await svc.send('OPTIONS', path)).status, path).toBe(404)
})

test('a preflight is answered with what pages of other origins may do and read', async () => {
  const preflightHeaders = { origin: ORIGIN, 'access-control-request-method': 'POST' }
  const preflight = await svc.send('OPTIONS', '/v1/chat/completions', { headers: preflightHeaders })
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN])

  const { headers } = await svc.send('OPTIONS', '/v1/chat/completions', { headers: { origin: ORIGIN } })
  expect(headers.get('allow')).toBe('POST, OPTIONS')
  const exposed = headers.get('access-control-expose-headers')?.split(', ')
  const read = ['sunset', 'ratelimit', 'ratelimit-policy', 'x-answered-by', 'x-ignored-parameters', 'allow']
  expect(exposed).toEqual(expect.arrayContaining(read))
})

test('an unknown address below /v1 answers in the error format of its API', async () => {
  const versioned = { 'anthropic-version': '2023-06-01' }
  const openAi = await svc.send('POST', '/v1/audio/speech', { body: {} })
  const anthropic = await svc.send('POST', '/v1/complete', { body: {}, headers: versioned })
  const method = await svc.send('DELETE', '/v1/models/demo')

  expect([openAi.status, await openAi.json()]).toEqual([
    404,
    { error: { message: expect.any(String), type: 'invalid_request_error', param: null, code: 'not_found' } },
  ])
  expect([anthropic.status, await anthropic.json()]).toMatchObject([
    404,
    { type: 'error', error: { type: 'not_found_error', message: expect.any(String) } },
  ])
  expect([method.status, allowed(method), await method.json()]).toMatchObject([
    405,
    ['GET', 'HEAD', 'OPTIONS'],
    { error: { type: 'invalid_request_error', code: 'method_not_allowed' } },
  ])
})

test('a slash at the end of an address changes nothing', async () => {
  const { token } = await svc.user()
  for (const path of ['/health', '/v1/models', '/api/user', '/api/svc/v1/users/me', '/trpc/ai.models']) {
    const [plain, slashed] = [await svc.send('GET', path, { token }), await svc.send('GET', `${path}/`, { token })]
    expect([path, slashed.status]).toEqual([path, plain.status])
    expect(plain.status, path).toBe(200)
  }
  const { status } = await svc.send('PUT', '/v1/models/')
  expect(status).toBe(405)
})

test('an answer has the form that the program gives more weight', async () => {
  const { token } = await svc.user()
  const body = { payload: { model: 'demo', messages: [{ role: 'user', content: { text: 'Hello' } }] } }
  const typeFor = async (accept: string) => {
    const { headers } = await svc.send('POST', '/api/ai-req', { token, body, headers: { accept } })
    return headers.get('content-type')?.split(';')[0]
  }
  for (const accept of [
    'text/event-stream',
    'text/event-stream, */*',
    'application/json;q=0.5, text/event-stream;q=0.9',
  ])
    expect([accept, await typeFor(accept)]).toEqual([accept, 'text/event-stream'])
  for (const accept of [
    'text/event-stream;q=0',
    'text/event-stream;q=0.5, application/json',
    '*/*',
    'text/*;q=0.1, */*',
  ])
    expect([accept, await typeFor(accept)]).toEqual([accept, 'application/json'])

  const page = async (accept: string) =>
    (await svc.send('GET', '/nothing', { headers: { accept } })).headers.get('content-type')
  expect(await page('text/html, */*;q=0.8')).toContain('text/html')
  expect(await page('application/json, text/html;q=0.1')).toContain('application/json')
})

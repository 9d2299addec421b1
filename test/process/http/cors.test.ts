import { beforeAll, expect, test } from 'vitest'
import { readEnv } from '../../../server/config/env.ts'
import { startApp } from '../../kit/app.ts'
import { shareResource } from '../../kit/share-resource.ts'

const ours = 'https://app.example.org'
const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }

let token: string
const svc = shareResource(() => startApp({ CORS_ORIGINS: `${ours}, http://localhost:5173` }))
beforeAll(async () => {
  token = (await svc.user()).token
})

const surfaces = ['/api/user', '/api/svc/v1/users', '/api/svc/v1/openapi.json', '/trpc/users.me', '/health']

async function headersOf(method: string, path: string, origin: string, more: Record<string, string> = {}) {
  const response = await svc.send(method, path, { token, headers: { origin, ...more } })
  await response.arrayBuffer()
  const allows = Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('access-control-')))
  return { status: response.status, allows, vary: response.headers.get('vary') ?? '' }
}

test.for(surfaces)('a page of a listed origin may read responses of %s without cookies', async (path) => {
  const { status, allows, vary } = await headersOf('GET', path, ours)

  expect(status).toBe(200)
  expect(allows['access-control-allow-origin']).toBe(ours)
  expect(allows['access-control-expose-headers']).toContain('x-request-id')
  expect(allows).not.toHaveProperty('access-control-allow-credentials')
  expect(vary).toContain('Origin')
})

test.for(surfaces)('a page of a listed origin may send a preflight request to %s', async (path) => {
  const { status, allows } = await headersOf('OPTIONS', path, 'http://localhost:5173', preflight)

  expect([status, allows['access-control-allow-origin']]).toEqual([204, 'http://localhost:5173'])
  expect(allows['access-control-allow-headers']).toContain('authorization')
  expect(allows['access-control-allow-methods']).toContain('PATCH')
  expect(allows).not.toHaveProperty('access-control-allow-credentials')
})

test('a page of a listed origin may read refusals, and JSON:API varies by Accept', async () => {
  const refused = await svc.send('GET', '/api/svc/v1/users', { headers: { origin: ours } })

  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, ours])
  expect(refused.headers.get('vary')?.split(', ')).toEqual(['Origin', 'Accept', 'accept-encoding'])
})

test('a page of a listed origin may not read pages or session endpoints', async () => {
  for (const path of ['/login', '/docs', '/req/login', '/chat-preview', '/chat-diagram'])
    expect([path, (await headersOf('GET', path, ours)).allows]).toEqual([path, {}])
})

test('a program on a page of another origin may read nothing', async () => {
  for (const path of surfaces)
    for (const other of ['https://evil.example.org', 'null', `${ours}.evil.example`, `${ours}:8443`]) {
      expect((await headersOf('GET', path, other)).allows).not.toHaveProperty('access-control-allow-origin')
      const headers = await headersOf('OPTIONS', path, other, preflight)
      expect(headers.allows).not.toHaveProperty('access-control-allow-origin')
    }
})

test('without the setting no page but ours may read anything', async () => {
  await using closed = await startApp()

  const answer = await closed.send('GET', '/health', { headers: { origin: ours } })
  const preflightAnswer = await closed.send('OPTIONS', '/api/svc/v1/users', { headers: { origin: ours, ...preflight } })

  for (const { headers } of [answer, preflightAnswer]) expect(headers.get('access-control-allow-origin')).toBeNull()
})

test.for(['*', 'app.example.org', `${ours}/`, `${ours}/app`, 'ftp://app.example.org', `${ours}, null`])(
  'CORS_ORIGINS does not take %s',
  (given) => {
    expect(() => readEnv({ CORS_ORIGINS: given })).toThrow(/CORS_ORIGINS/)
  },
)

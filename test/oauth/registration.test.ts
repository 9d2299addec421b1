import { expect, test } from 'vitest'
import { CALLBACK, startOAuth } from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startOAuth({ OAUTH_REDIRECTS: 'house://back' }))

const register = async (body: unknown, headers: Record<string, string> = {}) => {
  const answer = await svc.send('POST', '/oauth/register', { body, headers })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
}

test('a program gets back its registration, and an id that holds all of it', async () => {
  const { status, headers, body } = await register({
    client_name: 'Agent',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'implicit'],
    token_endpoint_auth_method: 'client_secret_basic',
    logo_uri: 'https://evil.example/logo.png',
  })

  expect([status, headers.get('cache-control')]).toEqual([201, 'no-store'])
  expect(body).toEqual({
    client_id: expect.stringMatching(/^dyn_[\w.-]{100,260}$/),
    client_id_issued_at: expect.any(Number),
    client_name: 'Agent',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  })
})

test('addresses that are not allowed are left out of a registration', async () => {
  const allowed = [
    'https://site.example/a',
    'http://localhost/b',
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'house://back',
  ]
  const refused = [
    'http://site.example/a',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://user:password@site.example/a',
    'https://site.example/a#b',
    'cursor://elsewhere/callback',
    'https://site.example/a b',
    'nonsense',
  ]

  const { body } = await register({ redirect_uris: [...refused, ...allowed] })
  const none = await register({ redirect_uris: refused })

  expect(body['redirect_uris']).toEqual(allowed)
  expect([none.status, none.body['error']]).toEqual([400, 'invalid_redirect_uri'])
})

test('a registration that is no object with addresses is refused', async () => {
  for (const body of [{}, { redirect_uris: 'x' }, { redirect_uris: [1] }, [], 'text']) {
    const { status, body: refusal } = await register(body)
    expect([body, status, typeof refusal['error']]).toEqual([body, 400, 'string'])
  }
  const long = Array.from({ length: 40 }, (_, n) => `https://site.example/${'x'.repeat(100)}${n}`)
  expect((await register({ redirect_uris: long })).body['error']).toBe('invalid_redirect_uri')
  expect((await register({ client_name: 'x'.repeat(20_000), redirect_uris: [CALLBACK] })).status).toBe(413)
})

test('registrations of one IPv6 network are limited together, and of others apart', async () => {
  await using limited = await startOAuth({ OAUTH_REQUESTS_PER_MINUTE: '2', TRUSTED_PROXIES: '127.0.0.1' })
  const statuses: number[] = []
  for (const from of ['2001:db8:1:2::1', '2001:db8:1:2:a::2', '2001:db8:1:2:ffff::3', '2001:db8:1:3::1']) {
    const headers = { 'x-forwarded-for': from }
    statuses.push(
      (await limited.send('POST', '/oauth/register', { body: { redirect_uris: [CALLBACK] }, headers })).status,
    )
  }

  expect(statuses).toEqual([201, 201, 429, 201])
})

test('registrations of one address are limited by the minute', async () => {
  await using limited = await startOAuth({ OAUTH_REQUESTS_PER_MINUTE: '2' })
  const send = () => limited.send('POST', '/oauth/register', { body: { redirect_uris: [CALLBACK] } })
  const statuses = [(await send()).status, (await send()).status]
  const refused = await send()

  expect([...statuses, refused.status]).toEqual([201, 201, 429])
  expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})

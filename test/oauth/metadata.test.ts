import { expect, test, vi } from 'vitest'
import { signIn } from '../kit/browser.ts'
import { callFromPage, postForm, startOAuth } from '../kit/oauth/program.ts'

const SERVER = '/.well-known/oauth-authorization-server'
const RESOURCE = '/.well-known/oauth-protected-resource'

test('metadata agree on the issuer, and pages of any origin may read them', async () => {
  await using svc = await startOAuth({ SITE_NAME: 'Uni Chat', OAUTH_CLIENT_HOSTS: 'claude.ai' })
  const read = async (path: string) => {
    const answer = await svc.send('GET', path, { headers: { accept: 'text/html', origin: 'https://page.example' } })
    expect([path, answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([path, 200, '*'])
    return (await answer.json()) as Record<string, unknown>
  }

  expect(await read(SERVER)).toEqual({
    issuer: svc.url,
    authorization_endpoint: `${svc.url}/oauth/authorize`,
    token_endpoint: `${svc.url}/oauth/token`,
    revocation_endpoint: `${svc.url}/oauth/revoke`,
    registration_endpoint: `${svc.url}/oauth/register`,
    client_id_metadata_document_supported: true,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ['mcp'],
  })
  for (const path of ['', '/mcp', '/mcp/library'])
    expect(await read(RESOURCE + path)).toEqual({
      resource: svc.url + path,
      authorization_servers: [svc.url],
      scopes_supported: ['mcp'],
      bearer_methods_supported: ['header'],
      resource_name: 'Uni Chat',
    })
  const preflight = await svc.send('OPTIONS', '/oauth/token', {
    headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
  })
  expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'POST'])
  expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
})

test.each([
  ['off', [404, 404, 404, 404], undefined, undefined],
  ['registered', [200, 200, 400, 404], undefined, undefined],
  ['documents', [200, 200, 400, 404], undefined, true],
  ['any', [200, 200, 400, 400], 'string', true],
])('with OAUTH_CLIENTS=%s no more is promised than works', async (OAUTH_CLIENTS, statuses, register, documents) => {
  await using svc = await startOAuth({ OAUTH_CLIENTS, OAUTH_CLIENT_HOSTS: 'claude.ai' })
  const get = (path: string) => svc.send('GET', path)
  const post = (path: string) => svc.send('POST', path, { body: {} })
  const answers = await Promise.all([
    get(SERVER),
    get(`${RESOURCE}/mcp`),
    post('/oauth/token'),
    post('/oauth/register'),
  ])
  const metadata = (await answers[0]?.json()) as Record<string, unknown>

  expect(answers.map(({ status }) => status)).toEqual(statuses)
  expect(typeof metadata['registration_endpoint']).toBe(register ?? 'undefined')
  expect(metadata['client_id_metadata_document_supported']).toBe(documents)
  const { browser } = await signIn(svc, 'ada')
  const query = 'client_id=dyn_x&redirect_uri=http://127.0.0.1/'
  const { problem } = await callFromPage(browser, 'oauth.request', { query })
  expect(problem).toBe(OAUTH_CLIENTS === 'off' ? 'not_found' : 'authorization_invalid')
})

test.each([
  [true, true],
  [false, undefined],
])('documents are promised only where one can be fetched (%s)', async (isReachable, promised) => {
  await using svc = await startOAuth()
  const fetch = vi.spyOn(svc.services.process.clientDocuments, 'fetch').mockImplementation(async () => {
    if (!isReachable) throw new Error('no way out')
    return { text: '{}', maxAge: undefined }
  })
  const read = async () => (await (await svc.send('GET', SERVER)).json()) as Record<string, unknown>

  expect((await read())['client_id_metadata_document_supported']).toBe(promised)
  const tried = fetch.mock.calls.length
  expect(await read()).toMatchObject({ registration_endpoint: `${svc.url}/oauth/register` })
  expect(fetch).toHaveBeenCalledTimes(tried)
})

test('without tokens of people there is nothing, and without their permission no consent', async () => {
  await using closed = await startOAuth({ ALLOW_EXTERNAL_COMMUNICATION: 'false' })
  await using silent = await startOAuth({ ALLOW_USER_TOKEN_CREATION: 'false' })
  const { browser } = await signIn(silent, 'ada')

  expect((await closed.send('GET', SERVER)).status).toBe(404)
  expect((await callFromPage(browser, 'oauth.request', { query: 'a=b' })).problem).toBe('token_creation_off')
})

test('requests in another form than that of the standard are refused', async () => {
  await using svc = await startOAuth()
  const url = `${svc.url}/oauth/token`
  const errorOf = async (form: [string, string][], headers = {}) => (await postForm(url, form, headers)).body['error']
  const basic = { authorization: `Basic ${Buffer.from('reg_a:b').toString('base64')}` }

  expect(
    await errorOf([
      ['client_id', 'a'],
      ['client_id', 'a'],
      ['grant_type', 'refresh_token'],
    ]),
  ).toBe('invalid_request')
  expect(await errorOf([['client_id', 'a']])).toBe('invalid_request')
  expect(await errorOf([['grant_type', 'refresh_token']])).toBe('invalid_request')
  expect(
    await errorOf(
      [
        ['grant_type', 'x'],
        ['client_secret', 'b'],
      ],
      basic,
    ),
  ).toBe('invalid_request')
  expect(
    await errorOf(
      [
        ['grant_type', 'x'],
        ['client_id', 'reg_b'],
      ],
      basic,
    ),
  ).toBe('invalid_request')
  const unknown = await postForm(url, [['grant_type', 'refresh_token']], basic)
  expect([unknown.status, unknown.body['error'], unknown.headers.get('www-authenticate')]).toEqual([
    401,
    'invalid_client',
    'Basic realm="oauth"',
  ])
  expect((await postForm(url, { grant_type: 'x'.repeat(20_000) })).status).toBe(413)
})

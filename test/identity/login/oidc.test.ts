import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AuthorizationState, RedirectSource } from '../../../routers/ports/login.ts'
import { readEnv } from '../../../server/config/env.ts'
import { openLoginSources } from '../../../server/login/index.ts'
import { findFreePort } from '../../kit/free-port.ts'
import { recordLog } from '../../kit/log.ts'
import { type OidcProvider, openOidcBrowser, startOidcProvider } from '../../kit/parts/oidc.ts'

const SVC = 'https://svc.localhost/ai'
const unavailable = { problem: 'unavailable' }
const ann = {
  subject: expect.stringMatching(/^oidc:http:\/\/127\.0\.0\.1:\d+ ann$/),
  username: 'ann',
  email: 'ann@example.org',
  name: 'The ann',
}

let provider: OidcProvider
beforeAll(async () => {
  provider = await startOidcProvider(SVC)
})
afterAll(async () => provider[Symbol.asyncDispose]())

const settings = () => ({
  AUTHENTICATION_METHOD: 'oidc',
  BASE_URL: `${SVC}/`,
  OIDC_IDP: provider.issuer,
  OIDC_CLIENT_ID: 'svc',
  OIDC_CLIENT_SECRET: 'the client secret',
  OIDC_ALLOW_HTTP: 'true',
})

async function open(more: Record<string, string> = {}) {
  const log = recordLog()
  const { redirect } = await openLoginSources(readEnv({ ...settings(), ...more }), log)
  return { source: redirect!, log }
}

/** Signs in at the provider as a person; returns the query of the redirect back. */
async function goAs(source: RedirectSource, login: string): Promise<{ query: string; pending: AuthorizationState }> {
  const { url, pending } = await source.begin()
  return { query: new URL(await openOidcBrowser().signIn(url, SVC, login)).search, pending }
}

const changeQuery = (query: string, values: Record<string, string | undefined>) => {
  const parameters = new URLSearchParams(query)
  for (const [name, value] of Object.entries(values)) {
    parameters.delete(name)
    if (value !== undefined) parameters.set(name, value)
  }
  return `?${parameters}`
}

test('an OpenID provider signs a person in by its pages, without a role', async () => {
  const { source, log } = await open()
  const { query, pending } = await goAs(source, 'ann')

  expect(await source.finish(query, pending)).toEqual(ann)
  expect(log.lines).toEqual([])
})

test('an OpenID provider is asked for a code with fresh PKCE, state and nonce', async () => {
  const { source } = await open()
  const [first, second] = [await source.begin(), await source.begin()]

  const parameters = Object.fromEntries(new URL(first.url).searchParams)
  expect(parameters).toMatchObject({
    client_id: 'svc',
    response_type: 'code',
    redirect_uri: `${SVC}/req/login`,
    scope: 'openid profile email',
    code_challenge_method: 'S256',
    state: first.pending.state,
    nonce: first.pending.nonce,
  })
  expect(first.url).not.toContain(first.pending.verifier)
  const secrets = [first, second].flatMap(({ pending: { state, nonce, verifier } }) => [state, nonce, verifier])
  expect(new Set(secrets).size).toBe(6)
  for (const secret of secrets) expect(secret.length).toBeGreaterThanOrEqual(43)
})

test('an OpenID provider is not asked for anything where the state is not ours', async () => {
  const { source, log } = await open()
  const { query, pending } = await goAs(source, 'ann')
  const { pending: another } = await source.begin()

  for (const state of ['forged', '', undefined, another.state])
    expect(await source.finish(changeQuery(query, { state }), pending)).toBeUndefined()
  expect(await source.finish(`${query}&state=${pending.state}`, pending)).toBeUndefined()
  expect(await source.finish(query, another)).toBeUndefined()
  expect(await source.finish('', pending)).toBeUndefined()

  expect(log.lines).toHaveLength(7)
  expect(log.lines.join()).not.toContain(pending.state)
  // The code was never sent to the provider, so it is still valid.
  expect(await source.finish(query, pending)).toEqual(ann)
})

test('an OpenID provider is not believed with a foreign nonce or verifier', async () => {
  const { source } = await open()
  for (const wrong of [{ nonce: 'another' }, { verifier: 'another-verifier-of-at-least-43-characters-length' }]) {
    const { query, pending } = await goAs(source, 'ann')

    expect(await source.finish(query, { ...pending, ...wrong })).toBeUndefined()
  }
})

test('an OpenID provider accepts only its own codes, and each of them once', async () => {
  const { source, log } = await open()
  const { query, pending } = await goAs(source, 'ann')
  expect(await source.finish(query, pending)).toEqual(ann)

  expect(await source.finish(query, pending)).toBeUndefined()
  expect(await source.finish(changeQuery(query, { code: 'made-up' }), pending)).toBeUndefined()
  expect(await source.finish(changeQuery(query, { code: undefined }), pending)).toBeUndefined()

  expect(log.lines).toHaveLength(3)
})

test('an OpenID provider is not believed for another issuer or after expiry', async () => {
  const { source } = await open()
  const { query, pending } = await goAs(source, 'ann')

  expect(await source.finish(changeQuery(query, { iss: 'https://other.example.org' }), pending)).toBeUndefined()
  expect(await source.finish(changeQuery(query, { iss: undefined }), pending)).toBeUndefined()
  expect(await source.finish(query, { ...pending, until: Date.now() - 1 })).toBeUndefined()
  expect(await source.finish(query, pending)).toEqual(ann)
})

test('an OpenID provider may refuse, and the log has its word for it', async () => {
  const { source, log } = await open()
  const { url, pending } = await source.begin()

  const back = await openOidcBrowser().turnRound(url, SVC)

  expect(back).toContain('error=access_denied')
  expect(await source.finish(new URL(back).search, pending)).toBeUndefined()
  expect(log.lines.join()).toContain('access_denied')
})

test('an OpenID provider that says it is out of order is unavailable', async () => {
  const { source } = await open()
  const { pending } = await source.begin()
  const back = `?error=server_error&state=${pending.state}&iss=${encodeURIComponent(provider.issuer)}`

  await expect(source.finish(back, pending)).rejects.toMatchObject(unavailable)
  const { query, pending: another } = await goAs(source, 'broken')
  await expect(source.finish(query, another)).rejects.toMatchObject(unavailable)
})

test('an ID token that has the claims is enough where userinfo fails', async () => {
  await using telling = await startOidcProvider(SVC, { CLAIMS_IN_ID_TOKEN: 'true' })
  const { source, log } = await open({ OIDC_IDP: telling.issuer })
  const { query, pending } = await goAs(source, 'broken')

  expect(await source.finish(query, pending)).toEqual({
    subject: `oidc:${telling.issuer} broken`,
    username: 'broken',
    email: 'broken@example.org',
    name: 'The broken',
  })
  expect(log.lines).toEqual([expect.stringContaining('userinfo')])

  const { source: withGroups } = await open({ OIDC_IDP: telling.issuer, OIDC_GROUPS_VAR: 'groups' })
  const again = await goAs(withGroups, 'broken')
  await expect(withGroups.finish(again.query, again.pending)).rejects.toMatchObject(unavailable)
})

test.for([
  ['blank', { username: 'blank', name: 'Ann Müller' }],
  ['listed', { username: 'listed', email: 'listed@example.org' }],
  ['bea as ann', { subject: expect.stringMatching(/ bea as ann$/), username: 'ann', email: 'bea@example.org' }],
] as const)('an OpenID provider may tell of %s in another shape', async ([login, expected]) => {
  const { source } = await open()
  const { query, pending } = await goAs(source, login)

  expect(await source.finish(query, pending)).toMatchObject(expected)
})

test('an OpenID provider with unusable data is reported without a value in the log', async () => {
  const { source, log } = await open()
  for (const login of ['CANARY', 'CANARY with blanks']) {
    const { query, pending } = await goAs(source, login)

    await expect(source.finish(query, pending)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  }
  expect(log.lines).toHaveLength(2)
  expect(log.lines.join()).not.toContain('CANARY')
})

test('an OpenID provider may use other claims for the identity', async () => {
  const by = async (more: Record<string, string>) => {
    const { source } = await open(more)
    const { query, pending } = await goAs(source, 'ann')
    return source.finish(query, pending)
  }

  expect(await by({ OIDC_USERNAME_VAR: 'email', OIDC_NAME_VAR: 'preferred_username' })).toMatchObject({
    username: 'ann@example.org',
    email: 'ann@example.org',
    name: 'ann',
  })
  expect(await by({ OIDC_FIRSTNAME_VAR: 'given_name', OIDC_LASTNAME_VAR: 'family_name' })).toMatchObject({
    name: 'Ann Müller',
  })
  expect(await by({ OIDC_GROUPS_VAR: 'email' })).toMatchObject({ groups: ['ann@Example.org'] })
  expect(await by({ OIDC_GROUPS_VAR: 'absent' })).toMatchObject({ groups: [] })
  await expect(by({ OIDC_EMAIL_VAR: 'mail' })).rejects.toMatchObject({ problem: 'account_without_email' })
  await expect(by({ OIDC_USERNAME_VAR: '__proto__' })).rejects.toMatchObject({ problem: 'account_without_username' })
  await expect(by({ OIDC_SCOPES: 'openid' })).rejects.toMatchObject({ problem: 'account_without_username' })
})

test('an OpenID provider may know us without a secret, not with a wrong one', async () => {
  const { source: open1 } = await open({ OIDC_CLIENT_ID: 'public', OIDC_CLIENT_SECRET: '' })
  const come = await goAs(open1, 'ann')
  expect(await open1.finish(come.query, come.pending)).toEqual(ann)

  const { source, log } = await open({ OIDC_CLIENT_SECRET: 'wrong' })
  const { query, pending } = await goAs(source, 'ann')
  await expect(source.finish(query, pending)).rejects.toMatchObject(unavailable)
  expect(log.lines.join()).toContain('invalid_client')
})

test('an OpenID provider may want the secret in the body', async () => {
  await using strict = await startOidcProvider(SVC, { AUTH_METHOD: 'client_secret_post' })
  const { source } = await open({ OIDC_IDP: strict.issuer, OIDC_CLIENT_ID: 'by-body' })
  const { query, pending } = await goAs(source, 'ann')

  expect(await source.finish(query, pending)).toEqual(ann)
})

test('an OpenID provider that is down is unavailable, and asked again when back', async () => {
  const port = `${await findFreePort()}`
  const { source, log } = await open({ OIDC_IDP: `http://127.0.0.1:${port}` })
  await expect(source.begin()).rejects.toMatchObject(unavailable)
  expect(await source.logoutUrl()).toBeUndefined()

  await using late = await startOidcProvider(SVC, { PORT: port })
  const { query, pending } = await goAs(source, 'ann')
  await late.kill()

  await expect(source.finish(query, pending)).rejects.toMatchObject(unavailable)
  expect(log.lines).toHaveLength(2)
  expect(log.lines.join()).not.toMatch(/code=|eyJ|\bann/)
})

test('an OpenID provider that calls itself something else is not believed', async () => {
  const { source } = await open({ OIDC_IDP: `http://localhost:${provider.port}` })

  await expect(source.begin()).rejects.toMatchObject(unavailable)
})

test('an OpenID provider signs a person out, and sends them back to us', async () => {
  const { source } = await open()
  const browser = openOidcBrowser()
  const { url } = await source.begin()
  await browser.signIn(url, SVC, 'ann')
  expect((await browser.go((await source.begin()).url, SVC)).url).toContain('code=')

  const out = await source.logoutUrl()

  expect(out).not.toContain('id_token_hint')
  expect(await browser.signOut(out!, SVC)).toBe(`${SVC}/login`)
  expect((await browser.go((await source.begin()).url, SVC)).page).toContain('name="login"')
})

test('an OpenID provider may have another address for signing out', async () => {
  const { source } = await open({ OIDC_LOGOUT_URI: 'https://idp.example.org/out?tenant=7' })

  const out = new URL((await source.logoutUrl())!)

  expect(out.href).toMatch(/^https:\/\/idp\.example\.org\/out\?tenant=7&/)
  expect(out.searchParams.get('post_logout_redirect_uri')).toBe(`${SVC}/login`)
})

test.for([
  ['BASE_URL', ''],
  ['OIDC_IDP', ''],
  ['OIDC_IDP', 'idp.example.org'],
  ['OIDC_CLIENT_ID', ''],
  ['OIDC_ALLOW_HTTP', 'false'],
] as const)('an OpenID provider with %s=%s stops the start', ([name, value]) => {
  expect(() => readEnv({ ...settings(), [name]: value })).toThrow(/BASE_URL|OIDC_IDP|OIDC_CLIENT_ID/)
})

import { expect, test } from 'vitest'
import { startApp } from '../../kit/app.ts'
import { openBrowser } from '../../kit/browser.ts'
import { findFreePort } from '../../kit/free-port.ts'
import { proxyHeaders } from '../../kit/identity/sessions.ts'
import { openOidcBrowser as openForms, startOidcProvider } from '../../kit/parts/oidc.ts'

const returns = [
  '?state=x&code=%0d%0aset-cookie:%20a=b',
  '?state[]=x',
  '?state=x&state=y',
  '?state=&code=',
  `?state=${'x'.repeat(9000)}`,
  '?error=access_denied&state=x',
]

/** Starts a service whose people sign in at an OpenID provider. */
async function withProvider() {
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const provider = await startOidcProvider(url)
  const svc = await startApp({
    PORT: `${port}`,
    BASE_URL: url,
    AUTHENTICATION_METHOD: 'oidc',
    OIDC_IDP: provider.issuer,
    OIDC_CLIENT_ID: 'svc',
    OIDC_CLIENT_SECRET: 'the client secret',
    OIDC_ALLOW_HTTP: 'true',
    OIDC_GROUPS_VAR: 'preferred_username',
  })
  const browser = openBrowser(svc.url)
  return {
    svc,
    browser,
    async begin(path = '/req/login/oidc') {
      const { status, headers } = await browser.send('GET', path)
      return { status, location: headers.get('location') ?? '', cookies: headers.getSetCookie() }
    },
    /** Signs in at the provider and returns the address at which the browser comes back. */
    async comeBack(location: string, login = 'ann') {
      const back = await openForms().signIn(location, url, login)
      return back.slice(url.length)
    },
    async [Symbol.asyncDispose]() {
      await svc[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

test('signing in at a provider returns to the page that was requested', async () => {
  await using t = await withProvider()

  const begun = await t.begin('/req/login/oidc?redirectUri=%2Fprofile')
  expect(begun.status).toBe(302)
  expect(begun.cookies).toEqual([
    expect.stringMatching(/^svc_login=[\w.-]+; Max-Age=900; Path=\/req\/login; HttpOnly; SameSite=Lax$/),
  ])
  const { status, headers } = await t.browser.send('GET', await t.comeBack(begun.location), {
    headers: { 'sec-fetch-site': 'cross-site' },
  })

  expect([status, headers.get('location')]).toEqual([302, '/register?redirectUri=%2Fprofile'])
  expect(t.browser.cookies.has('svc_login')).toBe(false)
  expect(await t.browser.standing()).toBe('internal_registering_user')
})

test('signing in at a provider sets exactly the groups that the provider names', async () => {
  await using t = await withProvider()
  await t.svc.host.admin.addUser({ username: 'ann', email: 'ann@example.org', name: 'Ann' })
  await t.svc.host.admin.setGroups({ user: { username: 'ann' }, groups: ['before'] })

  await t.browser.send('GET', await t.comeBack((await t.begin()).location))

  expect(await t.svc.rows(`select groups from users where username = 'ann'`)).toEqual([{ groups: ['ann'] }])
})

test("signing in at a provider opens no account of a username's former owner", async () => {
  await using t = await withProvider()
  await t.svc.user({ username: 'ann' })
  const come = async (login: string) => {
    const { headers } = await t.browser.send('GET', await t.comeBack((await t.begin()).location, login))
    await t.browser.send('POST', '/logout')
    return headers.get('location')
  }

  expect(await come('ann')).toBe('/handshake')
  expect(await come('bea as ann')).toBe('/login?error=username_taken')
  expect(await come('ann')).toBe('/handshake')

  expect(await t.svc.rows('select username, subject, email from users where id > 1')).toEqual([
    { username: 'ann', subject: expect.stringMatching(/^oidc:http:\S+ ann$/), email: 'ann@example.org' },
  ])
})

test('signing in at a provider lets the logout go to the provider, too', async () => {
  await using t = await withProvider()
  await t.browser.send('GET', await t.comeBack((await t.begin()).location))

  const { body } = await t.browser.send('POST', '/logout')

  expect(body['redirectUri']).toMatch(/\/session\/end\?.*post_logout_redirect_uri=/)
})

test('signing in at a provider works once for each beginning', async () => {
  await using t = await withProvider()
  const back = await t.comeBack((await t.begin()).location)
  await t.browser.send('GET', back)
  await t.browser.send('POST', '/logout')

  const { headers } = await t.browser.send('GET', back)

  expect(headers.get('location')).toBe('/login?error=login_failed')
  expect(await t.browser.standing()).toBe('internal')
})

test('signing in at a provider is refused in browsers that did not begin it', async () => {
  await using t = await withProvider()
  const back = await t.comeBack((await t.begin()).location)
  const victim = openBrowser(t.svc.url)

  const without = await victim.send('GET', back)
  await victim.send('GET', '/req/login/oidc')
  const another = await victim.send('GET', back)

  for (const { status, headers } of [without, another])
    expect([status, headers.get('location')]).toEqual([302, '/login?error=login_failed'])
  expect(await victim.standing()).toBe('internal')
})

test('signing in at a provider is refused with a beginning that somebody made up', async () => {
  await using t = await withProvider()
  const back = await t.comeBack((await t.begin()).location)
  t.browser.cookies.set('svc_login', 'v1.made.up.text')

  const { headers } = await t.browser.send('GET', back)

  expect(headers.get('location')).toBe('/login?error=login_failed')
})

test('signing in at a provider fails for a return that nobody began', async () => {
  await using t = await withProvider()

  for (const query of returns) {
    const { status, headers } = await t.browser.send('GET', `/req/login${query}`)
    expect(status, query).toBe(302)
    expect(headers.get('location'), query).toMatch(/^(\/login\?error=\w+|http:\/\/127\.0\.0\.1:\d+\/auth\?.*)$/)
    expect(headers.get('set-cookie') ?? '', query).not.toContain('a=b')
  }
  expect(t.browser.session).toBeUndefined()
})

const settings = {
  AUTHENTICATION_METHOD: 'proxy',
  PROXY_ADDRESSES: '127.0.0.1',
  ...proxyHeaders,
  PROXY_LOGIN_URL: '/sso/login',
  PROXY_LOGOUT_URL: '/sso/logout',
}
const identityHeaders = { 'x-user': 'ada', 'x-email': 'ada@example.org', 'x-name': 'Ada' }

test("signing in by a reverse proxy takes the proxy's person, and signs out there", async () => {
  await using svc = await startApp(settings)
  const browser = openBrowser(svc.url)

  const { status, headers } = await browser.send('GET', '/req/login', { headers: identityHeaders })

  expect([status, headers.get('location')]).toEqual([302, '/register'])
  expect(await browser.standing()).toBe('internal_registering_user')
  expect((await browser.send('POST', '/logout')).body).toEqual({ success: true, redirectUri: '/sso/logout' })
})

test('signing in by a reverse proxy believes no header of anybody else', async () => {
  await using svc = await startApp({ ...settings, PROXY_ADDRESSES: '10.9.9.9' })
  const browser = openBrowser(svc.url)

  const { headers } = await browser.send('GET', '/req/login', {
    headers: { ...identityHeaders, 'x-forwarded-for': '10.9.9.9' },
  })

  expect(headers.get('location')).toContain('/sso/login?target=')
  expect(await browser.standing()).toBe('internal')
})

test('signing in by a reverse proxy sends an unknown person to the proxy', async () => {
  await using svc = await startApp({ ...settings, BASE_URL: 'https://svc.localhost' })

  const { headers } = await openBrowser(svc.url).send('GET', '/req/login?redirectUri=/profile')

  const target = encodeURIComponent('https://svc.localhost/req/login/proxy?redirectUri=%2Fprofile')
  expect(headers.get('location')).toBe(`https://svc.localhost/sso/login?target=${target}`)
})

test('signing in by a reverse proxy is over without a place to sign in', async () => {
  await using svc = await startApp({ ...settings, PROXY_LOGIN_URL: '' })

  const { headers } = await openBrowser(svc.url).send('GET', '/req/login/proxy')

  expect(headers.get('location')).toBe('/login?error=login_failed')
})

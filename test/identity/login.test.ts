import { describe, expect, test, vi } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addAccount, identityOf, openBrowser, PASSWORD, signIn } from '../kit/browser.ts'
import { freePort } from '../kit/free-port.ts'
import { openBrowser as openForms, startOidcProvider } from '../kit/oidc.ts'

const failed = { success: false, error: 'Wrong username or password.', message: 'Login Failed!' }

const notCredentials = [
  ['no account', { password: 'x' }],
  ['no password', { account: 'ada' }],
  ['an empty account', { account: '', password: 'x' }],
  ['numbers', { account: 1, password: 2 }],
  ['lists', { account: ['ada'], password: ['x'] }],
  ['objects', { account: { $ne: null }, password: { $ne: null } }],
  ['a password that is too long', { account: 'ada', password: 'x'.repeat(1025) }],
  ['an account that is too long', { account: 'a'.repeat(255), password: 'x' }],
  ['a member too many', { account: 'ada', password: PASSWORD, role: 'admin' }],
  ['a list', []],
  ['null', 'null'],
  ['broken JSON', '{"account":'],
  ['nothing', ''],
  ['a prototype', '{"account":"ada","password":"x","__proto__":{"role":"admin"}}'],
  ['a constructor', '{"account":"ada","password":"x","constructor":{"prototype":{"role":"admin"}}}'],
] as const

describe('signing in with a password', () => {
  test.for([
    ['who has keys', '/handshake', 'internal_authenticated', { known: true, keys: true }],
    ['who has no keys yet', '/register', 'internal_registering_user', { known: true, keys: false }],
    ['whom nobody knows yet', '/register', 'internal_registering_user', { known: false, keys: false }],
  ] as const)('sends on a person %s', async ([, redirectUri, standing, { known, keys }]) => {
    await using svc = await startApp()
    await addAccount(svc, 'ada', { known, keys })
    const browser = openBrowser(svc.url)

    const { status, body, headers } = await browser.login('ada')

    expect([status, body]).toEqual([200, { success: true, redirectUri }])
    expect(headers.get('cache-control')).toBe('no-store')
    expect(await browser.standing()).toBe(standing)
  })

  test('takes a form as well, and the account in any case', async () => {
    await using svc = await startApp()
    await addAccount(svc, 'ada')

    const { status, body } = await openBrowser(svc.url).send('POST', '/req/login', {
      form: { account: ' ADA', password: PASSWORD },
    })

    expect([status, body]).toEqual([200, { success: true, redirectUri: '/handshake' }])
  })

  test('tells who is registering who they are', async () => {
    await using svc = await startApp()
    const { browser } = await signIn(svc, 'ada', { known: false })

    const { text } = await browser.send('GET', '/api/svc/v1/connections/svc')

    expect(JSON.parse(text).data.attributes.userinfo).toMatchObject({ id: 0, ...identityOf('ada') })
  })

  test('answers an unknown account and a wrong password with the same bytes, and puts nothing in the cookie', async () => {
    await using svc = await startApp()
    await addAccount(svc, 'ada')
    const browser = openBrowser(svc.url)

    const answers = [await browser.login('ada', 'wrong'), await browser.login('nobody', 'wrong')]

    for (const { status, body } of answers) expect([status, body]).toEqual([401, failed])
    const seen = answers.map(({ headers }) => [...headers.keys()].sort())
    expect(seen[0]).toEqual(seen[1])
    expect(browser.session).toBeUndefined()
  })

  test('refuses what is no account and password', async () => {
    await using svc = await startApp()
    await addAccount(svc, 'ada')
    const browser = openBrowser(svc.url)

    for (const [what, body] of notCredentials) {
      const answer = await browser.send('POST', '/req/login', { body })
      expect(answer.status, what).toBe(422)
      expect(answer.body, what).toEqual({ success: false, error: expect.any(String), message: 'Login Failed!' })
    }
    expect(browser.session).toBeUndefined()
    expect(({} as Record<string, unknown>)['role']).toBeUndefined()
  })

  test('refuses a form with the members of every object', async () => {
    await using svc = await startApp()
    await addAccount(svc, 'ada')

    const form = { account: 'ada', password: PASSWORD, ['__proto__']: 'x' }
    const { status } = await openBrowser(svc.url).send('POST', '/req/login', { form })

    expect(status).toBe(422)
  })

  test('refuses a body that is too large, or of another kind', async () => {
    await using svc = await startApp()
    const browser = openBrowser(svc.url)

    const large = await browser.send('POST', '/req/login', { body: { account: 'ada', password: 'x'.repeat(20_000) } })
    const other = await browser.send('POST', '/req/login', { body: '<a/>', headers: { 'content-type': 'text/xml' } })

    expect([large.status, large.body['message']]).toEqual([413, 'Login Failed!'])
    expect([other.status, other.body['message']]).toEqual([415, 'Login Failed!'])
  })

  test('is throttled for an account, wherever it is known, and says until when', async () => {
    await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ACCOUNT: '2' })
    await addAccount(svc, 'ada')
    await addAccount(svc, 'bob')
    const browser = openBrowser(svc.url)

    for (const account of ['ada', 'nobody']) {
      for (let tries = 0; tries < 2; tries++) expect((await browser.login(account, 'wrong')).status).toBe(401)
      const { status, headers, body } = await browser.login(account)

      expect(status, account).toBe(429)
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(body).toEqual({ success: false, error: expect.stringContaining('Too many'), message: 'Login Failed!' })
    }
    expect(browser.session).toBeUndefined()
    expect((await browser.login('bob')).status).toBe(200)
  })

  test('counts anew after it worked', async () => {
    await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ACCOUNT: '2' })
    await addAccount(svc, 'ada')
    const browser = openBrowser(svc.url)

    for (let round = 0; round < 3; round++) {
      expect((await browser.login('ada', 'wrong')).status).toBe(401)
      expect((await browser.login('ada')).status).toBe(200)
    }
  })

  test('is throttled for an address, which a header does not change', async () => {
    await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ADDRESS: '3' })
    const browser = openBrowser(svc.url)
    const tryFrom = (account: string, from: string) =>
      browser.send('POST', '/req/login', {
        body: { account, password: 'wrong' },
        headers: { 'x-forwarded-for': from, 'x-real-ip': from },
      })

    const statuses = []
    for (const number of [1, 2, 3, 4]) statuses.push((await tryFrom(`user${number}`, `10.0.0.${number}`)).status)

    expect(statuses).toEqual([401, 401, 401, 429])
  })

  test('counts only failures for an address: any number of people sign in from it', async () => {
    await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ADDRESS: '2' })
    await addAccount(svc, 'ada')

    for (let i = 0; i < 5; i++) expect((await openBrowser(svc.url).login('ada')).status).toBe(200)
    for (let i = 0; i < 2; i++) expect((await openBrowser(svc.url).login('ada', 'wrong')).status).toBe(401)

    expect((await openBrowser(svc.url).login('ada')).status).toBe(429)
  })

  test('is open to a browser that signed in before, whatever strangers try on the account from its address', async () => {
    await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ACCOUNT: '2', LOGIN_ATTEMPTS_PER_ADDRESS: '4' })
    for (const account of ['ada', 'bob']) await addAccount(svc, account)
    const browser = openBrowser(svc.url)
    await browser.login('ada')
    await browser.send('POST', '/logout')
    for (let i = 0; i < 6; i++) await openBrowser(svc.url).login('ada', 'wrong')
    expect((await openBrowser(svc.url).login('ada')).status).toBe(429)

    expect((await browser.login('ada')).status).toBe(200)
    expect((await browser.login('bob')).status).toBe(429)
  })

  test('locks a browser that signed in before, too, when it fails too often, and that one only', async () => {
    await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ACCOUNT: '2' })
    await addAccount(svc, 'ada')
    const browser = openBrowser(svc.url)
    await browser.login('ada')

    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await browser.login('ada', 'wrong')).status)

    expect(statuses).toEqual([401, 401, 429])
    expect((await browser.login('ada')).status).toBe(429)
    expect((await openBrowser(svc.url).login('ada')).status).toBe(200)
  })

  test('tells a known browser by a sealed cookie that scripts cannot read, and that stands for these accounts only', async () => {
    await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ACCOUNT: '1' })
    await addAccount(svc, 'ada')
    const browser = openBrowser(svc.url)
    const { headers } = await browser.login('ada')
    const cookie = headers.getSetCookie().find((line) => line.startsWith('svc_known=')) ?? ''
    expect(cookie).toMatch(/^svc_known=v1\.[\w.-]+; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/)
    expect(cookie.length).toBeLessThan(400)
    const sealed = browser.cookies.get('svc_known') ?? ''
    await openBrowser(svc.url).login('ada', 'wrong')

    const changed = `${sealed.slice(0, 40)}${sealed[40] === 'x' ? 'y' : 'x'}${sealed.slice(41)}`

    for (const forged of [changed, sealed.slice(0, -3), 'v1.x.y.z', 'ada']) {
      const stranger = openBrowser(svc.url)
      stranger.cookies.set('svc_known', forged)
      expect((await stranger.login('ada')).status, forged).toBe(429)
    }
    expect((await browser.login('ada')).status).toBe(200)
  })

  test('forgets a known browser when its time is over', async () => {
    await using svc = await startApp({ LOGIN_ATTEMPTS_PER_ACCOUNT: '1' })
    await addAccount(svc, 'ada')
    const browser = openBrowser(svc.url)
    const ninetyDaysAgo = Date.now() - 91 * 86_400_000
    vi.useFakeTimers({ toFake: ['Date'], now: ninetyDaysAgo })
    await browser.login('ada').finally(() => vi.useRealTimers())
    await openBrowser(svc.url).login('ada', 'wrong')

    expect((await browser.login('ada')).status).toBe(429)
  })

  test('lets nobody in as the AI user', async () => {
    await using svc = await startApp()
    await addAccount(svc, 'svc', { known: false })
    const browser = openBrowser(svc.url)

    const { status, body } = await browser.login('svc')

    expect([status, body]).toEqual([401, failed])
    expect(await browser.standing()).toBe('internal')
  })

  test('writes no account and no password into the log', async () => {
    await using svc = await startApp({ LOG_LEVEL: 'trace' })
    await addAccount(svc, 'ada')
    const browser = openBrowser(svc.url)

    await browser.login('hunter-account', 'hunter-password')
    await browser.login('ada')

    const log = svc.log.join('')
    expect(log).toContain('a login was refused')
    expect(log).toContain('signed in')
    for (const secret of ['hunter', PASSWORD, browser.session!, 'ada@'])
      expect(log.includes(secret), secret).toBe(false)
  })

  test('is not there where people sign in elsewhere only', async () => {
    await using svc = await startApp({
      AUTHENTICATION_METHOD: 'proxy',
      PROXY_ADDRESSES: '10.9.9.9',
      PROXY_USERNAME_HEADER: 'x-user',
      PROXY_EMAIL_HEADER: 'x-email',
      PROXY_NAME_HEADER: 'x-name',
    })

    expect((await openBrowser(svc.url).login('ada')).status).toBe(404)
  })
})

const wishes = [
  ['/profile', '/profile'],
  ['/profile?tab=tokens#top', '/profile?tab=tokens#top'],
  ['https://evil.example/', undefined],
  ['//evil.example/', undefined],
  ['/\\evil.example/', undefined],
  ['\\\\evil.example', undefined],
  ['/\t/evil.example', undefined],
  ['/..//evil.example', undefined],
  ['/./\\evil.example', undefined],
  ['javascript:alert(1)', undefined],
  ['evil.example', undefined],
  ['/profile\r\nset-cookie: a=b', undefined],
  [`/${'x'.repeat(600)}`, undefined],
  ['', undefined],
] as const

test('the address to go on to after a login is one of ours, or left out', async () => {
  await using svc = await startApp()
  await addAccount(svc, 'ada')
  const browser = openBrowser(svc.url)

  for (const [redirectUri, kept] of wishes) {
    const { body } = await browser.send('POST', '/req/login', {
      body: { account: 'ada', password: PASSWORD, redirectUri },
    })
    const expected = kept === undefined ? '/handshake' : `/handshake?redirectUri=${encodeURIComponent(kept)}`
    expect(body, redirectUri).toEqual({ success: true, redirectUri: expected })
  }
})

const returns = [
  '?state=x&code=%0d%0aset-cookie:%20a=b',
  '?state[]=x',
  '?state=x&state=y',
  '?state=&code=',
  `?state=${'x'.repeat(9000)}`,
  '?error=access_denied&state=x',
]

/** A service whose people sign in at a provider of their own. */
async function withProvider() {
  const port = await freePort()
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

describe('signing in at a provider', () => {
  test('goes there and back, and then on to where somebody wished to go', async () => {
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

  test('lets the logout go to the provider, too', async () => {
    await using t = await withProvider()
    await t.browser.send('GET', await t.comeBack((await t.begin()).location))

    const { body } = await t.browser.send('POST', '/logout')

    expect(body['redirectUri']).toMatch(/\/session\/end\?.*post_logout_redirect_uri=/)
  })

  test('works once for each beginning', async () => {
    await using t = await withProvider()
    const back = await t.comeBack((await t.begin()).location)
    await t.browser.send('GET', back)
    await t.browser.send('POST', '/logout')

    const { headers } = await t.browser.send('GET', back)

    expect(headers.get('location')).toBe('/login?error=login_failed')
    expect(await t.browser.standing()).toBe('internal')
  })

  test('is refused in a browser that did not begin it, or began another one', async () => {
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

  test('is refused with a beginning that somebody made up', async () => {
    await using t = await withProvider()
    const back = await t.comeBack((await t.begin()).location)
    t.browser.cookies.set('svc_login', 'v1.made.up.text')

    const { headers } = await t.browser.send('GET', back)

    expect(headers.get('location')).toBe('/login?error=login_failed')
  })

  test('comes to nothing with a return that nobody was sent on', async () => {
    await using t = await withProvider()

    for (const query of returns) {
      const { status, headers } = await t.browser.send('GET', `/req/login${query}`)
      expect(status, query).toBe(302)
      expect(headers.get('location'), query).toMatch(/^(\/login\?error=\w+|http:\/\/127\.0\.0\.1:\d+\/auth\?.*)$/)
      expect(headers.get('set-cookie') ?? '', query).not.toContain('a=b')
    }
    expect(t.browser.session).toBeUndefined()
  })
})

describe('signing in by a reverse proxy', () => {
  const settings = {
    AUTHENTICATION_METHOD: 'proxy',
    PROXY_ADDRESSES: '127.0.0.1',
    PROXY_USERNAME_HEADER: 'x-user',
    PROXY_EMAIL_HEADER: 'x-email',
    PROXY_NAME_HEADER: 'x-name',
    PROXY_LOGIN_URL: '/sso/login',
    PROXY_LOGOUT_URL: '/sso/logout',
  }
  const told = { 'x-user': 'ada', 'x-email': 'ada@example.org', 'x-name': 'Ada' }

  test('takes who is told of by the proxy itself, and signs out there', async () => {
    await using svc = await startApp(settings)
    const browser = openBrowser(svc.url)

    const { status, headers } = await browser.send('GET', '/req/login', { headers: told })

    expect([status, headers.get('location')]).toEqual([302, '/register'])
    expect(await browser.standing()).toBe('internal_registering_user')
    expect((await browser.send('POST', '/logout')).body).toEqual({ success: true, redirectUri: '/sso/logout' })
  })

  test('believes no header of anybody else', async () => {
    await using svc = await startApp({ ...settings, PROXY_ADDRESSES: '10.9.9.9' })
    const browser = openBrowser(svc.url)

    const { headers } = await browser.send('GET', '/req/login', { headers: { ...told, 'x-forwarded-for': '10.9.9.9' } })

    expect(headers.get('location')).toContain('/sso/login?target=')
    expect(await browser.standing()).toBe('internal')
  })

  test('sends who is told of by nobody to the proxy', async () => {
    await using svc = await startApp({ ...settings, BASE_URL: 'https://svc.example.org' })

    const { headers } = await openBrowser(svc.url).send('GET', '/req/login?redirectUri=/profile')

    const target = encodeURIComponent('https://svc.example.org/req/login/proxy?redirectUri=%2Fprofile')
    expect(headers.get('location')).toBe(`https://svc.example.org/sso/login?target=${target}`)
  })

  test('is over without a place to sign in', async () => {
    await using svc = await startApp({ ...settings, PROXY_LOGIN_URL: '' })

    const { headers } = await openBrowser(svc.url).send('GET', '/req/login/proxy')

    expect(headers.get('location')).toBe('/login?error=login_failed')
  })
})

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { openBrowser, signIn } from '../kit/browser.ts'
import { startGateway } from '../kit/mcp/gateway.ts'
import { startToolServer } from '../kit/mcp/tool-server.ts'
import { startSite } from '../kit/net/site.ts'
import { answerConsent, startBrowserCommand, visitConsent } from '../kit/oauth/consenting-browser.ts'
import { CALLBACK, postForm, registerProgram } from '../kit/oauth/program.ts'
import { buildPath, OAUTH_ON, registerPath, startWithTools, VERIFIER } from '../kit/oauth/tool-service.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startWithTools(['Archive', 'Library']))

const CROSS_SITE = { 'sec-fetch-site': 'cross-site', 'content-type': 'application/json' }

test('a program that opens a browser gets its code there, and tokens for it', async () => {
  const { browser } = await signIn(svc, 'ada')
  await using command = await startBrowserCommand(browser)
  await using program = await startSite('127.0.0.1', { '/callback': (_, response) => void response.end('Thank you.') })
  const redirectUri = `${program.url}/callback`
  const path = await registerPath(svc, { redirectUri: 'http://127.0.0.1/callback' })
  const query = new URLSearchParams(path.split('?')[1])
  query.set('redirect_uri', redirectUri)

  await promisify(execFile)(command.command, [`${svc.url}/oauth/authorize?${query}`])

  expect(command.visited).toEqual([`${svc.url}/oauth/authorize?${query}`])
  const answer = new URL(program.requestedPaths[0] ?? '', program.url).searchParams
  const tokens = await postForm(`${svc.url}/oauth/token`, {
    grant_type: 'authorization_code',
    client_id: query.get('client_id') ?? '',
    code: answer.get('code') ?? '',
    code_verifier: VERIFIER,
    redirect_uri: redirectUri,
  })
  expect(tokens.body).toMatchObject({ access_token: expect.stringMatching(/^svc_\d+_/), scope: 'mcp' })
})

test('the page leads through the sign-in and back, with its whole query', async () => {
  const path = await registerPath(svc)
  const { browser: registering } = await signIn(svc, 'newcomer', { known: false })

  const returns = `?redirectUri=${encodeURIComponent(path)}`
  expect((await visitConsent(openBrowser(svc.url), path)).location).toBe(`/login${returns}`)
  expect((await visitConsent(registering, path)).location).toBe(`/register${returns}`)
})

test("the consent page needs a script, and can't be framed or answered elsewhere", async () => {
  const { browser } = await signIn(svc, 'grace')
  const path = await registerPath(svc)

  const { headers, text } = await browser.send('GET', path, { headers: { accept: 'text/html' } })
  expect(text).toMatch(/<noscript>.*This page needs JavaScript, because your answer/)
  expect(headers.get('content-security-policy')).toMatch(/frame-ancestors 'none'.*require-trusted-types-for 'script'/)
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
  expect(headers.get('cache-control')).toBe('no-store')
  const { shown } = await visitConsent(browser, path)
  const input = JSON.stringify({ request: shown?.request, servers: null })
  for (const headers of [CROSS_SITE, { ...CROSS_SITE, 'sec-fetch-site': 'same-site' }]) {
    const { status } = await browser.send('POST', '/trpc/oauth.agree', { body: input, headers })
    expect(status).toBe(403)
  }
  expect((await answerConsent(browser, 'agree', { request: shown?.request, servers: null })).status).toBe(200)
})

test('a request is answered once, by its person in its session alone', async () => {
  const { browser } = await signIn(svc, 'linus')
  const { browser: stranger } = await signIn(svc, 'mallory')
  const elsewhere = openBrowser(svc.url)
  await elsewhere.login('linus')
  const { shown } = await visitConsent(browser, await registerPath(svc))
  const input = { request: shown?.request, servers: null }

  for (const other of [stranger, elsewhere]) expect((await answerConsent(other, 'agree', input)).status).toBe(400)
  expect((await answerConsent(openBrowser(svc.url), 'agree', input)).status).toBe(401)
  expect((await answerConsent(browser, 'agree', input)).status).toBe(200)
  expect((await answerConsent(browser, 'agree', input)).status).toBe(400)
  expect((await answerConsent(browser, 'decline', { request: shown?.request })).status).toBe(400)
})

test('servers with own accounts say how the account of this person stands', async () => {
  const path = await registerPath(svc)
  const [connected, expired, other] = await Promise.all(['mary', 'nina', 'olga'].map((name) => signIn(svc, name)))
  await svc.rows("update mcp_servers set account = 'person' where server_label = 'Library'")
  for (const [person, state] of [
    [connected, 'active'],
    [expired, 'expired'],
  ] as const)
    await svc.rows(
      `insert into mcp_connections (user_id, server_id, url, issuer, client, state)
         select $1, id, url, 'https://issuer.example', '-', $2 from mcp_servers where server_label = 'Library'`,
      [person?.id, state],
    )

  const accounts = [connected, expired, other].map(async (person) => {
    const { shown } = person ? await visitConsent(person.browser, path) : {}
    return shown?.servers.map(({ label, account }) => [label, account])
  })

  expect(await Promise.all(accounts)).toEqual(
    ['active', 'expired', 'none'].map((account) => [
      ['Archive', undefined],
      ['Library', account],
    ]),
  )
})

test('servers are listed with what they offer the person, also those without tools', async () => {
  await using desk = await startToolServer([])
  desk.prompts = [{ name: 'review' }, { name: 'greet' }]
  desk.resources = [{ uri: 'desk://rules', name: 'rules' }]
  desk.templates = [{ uriTemplate: 'desk://shelf/{shelf}', name: 'shelf' }]
  const offers = ['prompts', 'resources']
  await using gateway = await startGateway(
    [
      { label: 'Desk', url: desk.url, offers },
      { label: 'Closed', url: `${desk.url}?closed`, offers, groups: ['staff'] },
    ],
    OAUTH_ON,
  )
  const [{ browser }, { browser: guest }] = [await signIn(gateway, 'ada'), await signIn(gateway, 'bob')]
  const { shown } = await visitConsent(browser, await registerPath(gateway))
  expect(shown?.servers).toEqual([{ id: expect.any(Number), label: 'Desk', tools: 0, prompts: 2, resources: 2 }])
  await gateway.rows("update ai_tools set groups = '{staff}' where kind = 'prompt'")
  const { shown: later } = await visitConsent(guest, await registerPath(gateway))
  expect(later?.servers).toMatchObject([{ label: 'Desk', prompts: 0, resources: 2 }])
})

const wrongRequests = [
  ['another address', (path: string) => path.replace('4567%2Fcallback', '4567%2Felsewhere')],
  ['another host', (path: string) => path.replace('127.0.0.1', 'evil.example')],
  ['an altered id', (path: string) => path.replace('client_id=dyn_', 'client_id=dyn_A')],
  ['no address', (path: string) => path.replace('redirect_uri', 'redirect')],
  ['nothing', () => '/oauth/authorize'],
  ['an empty query', () => '/oauth/authorize?'],
  ['a query that is too long', (path: string) => `${path}&more=${'x'.repeat(8192)}`],
  ['two ids', (path: string) => `${path}&client_id=other`],
] as const

test('a request of an uncertain program is refused on a page of ours', async () => {
  const { browser } = await signIn(svc, 'edsger')
  const path = await registerPath(svc)
  const headers = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }

  for (const [what, change] of wrongRequests) {
    const answer = await browser.send('GET', change(path), { headers })
    expect([what, answer.status, answer.headers.get('location')]).toEqual([what, 400, null])
    expect(answer.text).toContain('This program cannot be signed in')
    expect(answer.text).toContain('Reason, for the developers of the program:')
  }
})

test('a request that needs no answer goes back to its program at once', async () => {
  const { browser } = await signIn(svc, 'barbara')
  const path = await registerPath(svc)

  const { status, location } = await visitConsent(browser, path.replace('scope=mcp', 'scope=admin'))

  expect(status).toBe(302)
  const { searchParams } = new URL(location ?? '')
  expect(location?.startsWith(`${CALLBACK}?`)).toBe(true)
  expect(Object.fromEntries(searchParams)).toMatchObject({
    error: 'invalid_scope',
    state: 'a state',
    iss: svc.services.settings.baseUrl,
  })
})

test('only registered programs and those on this computer get refusals at once', async () => {
  const { browser } = await signIn(svc, 'radia')
  const sites = [
    ['https://evil.example/back', 'evil.example'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor:'],
  ] as const
  const headers = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }
  const visit = async (clientId: string, redirectUri: string) => {
    const path = buildPath(clientId, redirectUri).replace('response_type=code', 'response_type=x')
    const answer = await browser.send('GET', path, { headers })
    return { ...answer, location: answer.headers.get('location') }
  }

  for (const [address, target] of sites) {
    const { status, location, text } = await visit(await registerProgram(svc, [address]), address)
    expect([status, location]).toEqual([400, null])
    const [, href = '', label] = /<a href="([^"]+)" rel="noreferrer">(Go to [^<]+)<\/a>/.exec(text) ?? []
    expect([label, href.startsWith(`${address}?error=unsupported_response_type`)]).toEqual([`Go to ${target}`, true])
  }
  const registered = await svc.host.oauth.registerClient({ name: 'House', redirectUris: ['https://house.example/'] })
  const { status, location } = await visit(registered.clientId, 'https://house.example/')
  expect([status, location]).toEqual([302, expect.stringContaining('https://house.example/?error=')])
})

test('there is no page while the sign-in is off; without tokens, it says so', async () => {
  await using off = await startApp({ ...OAUTH_ON, OAUTH_CLIENTS: 'off' })
  await using closed = await startApp({ ...OAUTH_ON, ALLOW_USER_TOKEN_CREATION: 'false' })
  const visit = async (service: TestApp) => {
    const { browser } = await signIn(service, 'ada')
    const headers = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }
    const { status, text } = await browser.send('GET', buildPath('reg_x'), { headers })
    return [status, /<h1>([^<]*)/.exec(text)?.[1]]
  }

  expect(await visit(off)).toEqual([404, 'Page not found'])
  expect(await visit(closed)).toEqual([403, 'Programs cannot be signed in here'])
})

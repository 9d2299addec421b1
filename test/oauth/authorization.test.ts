import { describe, expect, test } from 'vitest'
import { openBrowser, signIn } from '../kit/browser.ts'
import {
  buildQuery,
  CALLBACK,
  callFromPage,
  makeVerifier,
  postForm,
  registerProgram,
  requestCode,
  showRequest,
  startOAuth,
  tryToken,
} from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startOAuth({ OAUTH_ABILITIES: 'mcp,ai,read' }))

const ask = (clientId: string, parameters: Record<string, string | undefined> = {}) =>
  buildQuery({ clientId, verifier: makeVerifier(), parameters })

describe('the address to which a program has people sent back', () => {
  const registered = [
    'http://127.0.0.1/callback',
    'http://localhost:33418/',
    'http://[::1]:80/back?a=1',
    'https://site.example/back',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ]

  test.each([
    'http://127.0.0.1/callback',
    'http://127.0.0.1:51234/callback',
    'http://localhost:1/',
    'http://localhost/',
    'http://[::1]:9/back?a=1',
    'https://site.example/back',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ])('is accepted with any loopback port: %s', async (redirect_uri) => {
    const { browser } = await signIn(svc, `here${redirect_uri.length}${registered.indexOf(redirect_uri) + 1}`)
    const clientId = await registerProgram(svc, registered)

    const { status, data } = await showRequest(browser, ask(clientId, { redirect_uri }))

    expect([status, data?.view?.client.kind]).toEqual([200, 'dynamic'])
  })

  test('leads to no redirect with any other difference', async () => {
    const { browser } = await signIn(svc, 'cleo')
    const clientId = await registerProgram(svc, registered)
    const refused = [
      'http://127.0.0.1:51234/callback/',
      'http://127.0.0.1:51234/callback?a=1',
      'http://127.0.0.1:51234/other',
      'http://localhost:51234/callback',
      'https://127.0.0.1/callback',
      'http://127.0.0.1:99999/callback',
      'http://127.0.0.1:1@evil.example/callback',
      'http://127.0.0.1.evil.example/callback',
      'https://site.example:8443/back',
      'https://site.example/back#x',
      'https://site.example/back/../back',
      'cursor://anysphere.cursor-mcp/oauth/callback?x=1',
      'http://127.0.0.2/callback',
      'javascript:alert(1)',
      '',
    ]

    for (const redirect_uri of refused)
      expect([redirect_uri, await showRequest(browser, ask(clientId, { redirect_uri }))]).toEqual([
        redirect_uri,
        { status: 400, problem: 'authorization_invalid', data: undefined },
      ])
  })
})

describe('the request of a program', () => {
  test('is refused on a page of ours while the program is not known', async () => {
    const { browser } = await signIn(svc, 'dora')
    const clientId = await registerProgram(svc)
    const altered = clientId.replace(/.(?=.{9}$)/, (sign) => (sign === 'A' ? 'B' : 'A'))
    const twice = `${ask(clientId)}&client_id=${clientId}`
    const queries = [
      ...[altered, `${clientId}x`, `${clientId}.`, `${clientId}.AAAA`, 'dyn_', 'reg_nobody', 'made-up', ''].map((id) =>
        ask(id),
      ),
      twice,
      'a=1',
    ]

    for (const query of queries)
      expect([query, (await showRequest(browser, query)).problem]).toEqual([query, 'authorization_invalid'])
  })

  test('goes back with an error, the state and the issuer if it asks wrongly', async () => {
    const { browser } = await signIn(svc, 'emil')
    const clientId = await registerProgram(svc)
    const wrong: [string, Record<string, string | undefined>][] = [
      ['unsupported_response_type', { response_type: 'token' }],
      ['invalid_request', { code_challenge: undefined }],
      ['invalid_request', { code_challenge_method: 'plain' }],
      ['invalid_request', { response_mode: 'fragment' }],
      ['invalid_target', { resource: 'https://elsewhere.example/mcp' }],
      ['invalid_target', { resource: `${svc.url}/api` }],
      ['invalid_scope', { scope: 'admin keychain' }],
    ]

    for (const [error, parameters] of wrong) {
      const { data } = await showRequest(browser, ask(clientId, parameters))
      const target = new URL(data?.redirectTo ?? '')
      const { error_description, ...answer } = Object.fromEntries(target.searchParams)
      expect([parameters, answer]).toEqual([parameters, { error, state: 'state-1', iss: svc.url }])
      expect(target.href.startsWith(`${CALLBACK}?`)).toBe(true)
      expect(error_description).toMatch(/^[\x20-\x7e]+$/)
    }
    const { data } = await showRequest(browser, `${ask(clientId)}&scope=ai&scope=mcp`)
    expect(new URL(data?.redirectTo ?? '').searchParams.get('error')).toBe('invalid_request')
  })

  test('shows who asks, who is signed in, and what is asked for', async () => {
    const { browser } = await signIn(svc, 'fay')
    const clientId = await registerProgram(svc, [CALLBACK], 'Agent\u202e\u200b \u{e0041}one')

    const { data } = await showRequest(browser, ask(clientId, { scope: 'ai offline_access', resource: `${svc.url}/` }))

    expect(data?.view).toEqual({
      request: expect.any(String),
      client: { kind: 'dynamic', name: 'Agent one', host: null },
      target: { type: 'this computer' },
      person: { username: 'fay', name: 'The fay' },
      abilities: ['ai'],
      servers: [],
      hasFixedServers: false,
      hasNewAddresses: false,
      grantLifetime: 90 * 86_400_000,
    })
  })

  test('is answered once, in the session that was shown it', async () => {
    const { browser } = await signIn(svc, 'gus')
    const { browser: foreign } = await signIn(svc, 'hans')
    const later = openBrowser(svc.url)
    await later.login('gus')
    const clientId = await registerProgram(svc)
    const shown = await showRequest(browser, ask(clientId))
    const answer = { request: shown.data?.view?.request, servers: null }
    const altered = { ...answer, request: `${answer.request}`.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) }
    const crossSite = { body: answer, headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } }

    expect((await callFromPage(openBrowser(svc.url), 'oauth.agree', answer)).problem).toBe('signed_out')
    expect((await callFromPage(foreign, 'oauth.agree', answer)).problem).toBe('authorization_invalid')
    expect((await callFromPage(later, 'oauth.agree', answer)).problem).toBe('authorization_invalid')
    expect((await callFromPage(browser, 'oauth.agree', altered)).problem).toBe('authorization_invalid')
    expect((await browser.send('POST', '/trpc/oauth.agree', crossSite)).status).toBe(403)
    expect((await callFromPage(browser, 'oauth.agree', answer)).data).toEqual({ redirectTo: expect.any(String) })
    expect((await callFromPage(browser, 'oauth.agree', answer)).problem).toBe('authorization_invalid')
    expect((await callFromPage(browser, 'oauth.decline', { request: answer.request })).problem).toBe(
      'authorization_invalid',
    )
  })

  test('can be declined, which the program is told', async () => {
    const { browser } = await signIn(svc, 'ines')
    const shown = await showRequest(browser, ask(await registerProgram(svc)))

    const { data } = await callFromPage(browser, 'oauth.decline', { request: shown.data?.view?.request })

    const { searchParams } = new URL((data as { redirectTo: string }).redirectTo)
    expect(Object.fromEntries(searchParams)).toEqual({
      error: 'access_denied',
      error_description: 'The person has declined.',
      state: 'state-1',
      iss: svc.url,
    })
  })
})

describe('a code', () => {
  const exchange = (form: Record<string, string>) => postForm(`${svc.url}/oauth/token`, form)

  test('is exchanged only with its verifier, client and address', async () => {
    const { browser } = await signIn(svc, 'jan')
    const { form } = await requestCode(svc, browser)
    const wrong = [
      { code_verifier: makeVerifier() },
      { redirect_uri: 'http://127.0.0.1:1/callback' },
      { client_id: await registerProgram(svc) },
      { code: `${form.code}x` },
    ]

    for (const change of wrong) {
      const { status, body } = await exchange({ ...form, ...change })
      expect([change, status, body['error']]).toEqual([change, 400, 'invalid_grant'])
    }
    expect((await exchange({ ...form, client_id: 'made-up' })).status).toBe(401)
    expect((await exchange(form)).status).toBe(200)
  })

  test('that is used twice ends what it gave', async () => {
    const { browser } = await signIn(svc, 'karl')
    const { form } = await requestCode(svc, browser)
    const first = await exchange(form)
    const token = String(first.body['access_token'])
    expect(await tryToken(svc, token)).toBe(200)

    const second = await exchange(form)

    expect([second.status, second.body['error']]).toEqual([400, 'invalid_grant'])
    expect(await tryToken(svc, token)).toBe(401)
  })

  test('expires after a minute', async () => {
    const { browser } = await signIn(svc, 'lea')
    const { form } = await requestCode(svc, browser)
    await svc.rows(`update oauth_codes set expires_at = expires_at - interval '1 minute'
                     where user_id = (select id from users where username like '%lea')`)

    expect((await exchange(form)).body).toEqual({
      error: 'invalid_grant',
      error_description: 'This code has expired.',
    })
  })
})

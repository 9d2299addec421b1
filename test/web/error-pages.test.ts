import { afterAll, expect, test, vi } from 'vitest'
import { Problem } from '../../routers/core/problems.ts'
import { startApp } from '../kit/app.ts'
import { signIn } from '../kit/browser.ts'
import { testWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'

const svc = await startApp()
afterAll(() => svc[Symbol.asyncDispose]())

/** The Accept header of browsers for an address. */
const navigation = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const german = { ...navigation, 'accept-language': 'de' }

const open = (path: string, headers: Record<string, string> = navigation) =>
  fetch(svc.url + path, { headers, redirect: 'manual' })

test('the start page leads guests to sign-in, and others to their chats', async () => {
  const { browser } = await signIn(svc, 'ada')

  const guest = await open('/')
  const person = await browser.send('GET', '/')

  expect([guest.status, guest.headers.get('location')]).toEqual([302, '/login'])
  expect([person.status, person.headers.get('location')]).toEqual([302, '/chat'])
  expect(guest.headers.get('cache-control')).toBe('no-store')
})

test.for([
  ['English', navigation, 'en', 'Page not found', 'To the start page'],
  ['German', german, 'de', 'Seite nicht gefunden', 'Zur Startseite'],
] as const)('a missing address shows a page in %s with a link and request id', async (row) => {
  const [, headers, lang, title, back] = row

  for (const path of ['/nope', '/login/nope', '/assets/nope.js', '/%']) {
    const answer = await open(path, headers)
    const text = await answer.text()

    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 404, 'text/html; charset=utf-8'])
    expect(text).toContain(`<html lang="${lang}"`)
    expect(text).toContain(`<h1>${title}</h1>`)
    expect(text).toContain(`href="/">${back}</a>`)
    expect(text).toContain(answer.headers.get('x-request-id'))
  }
})

test('a missing address sends a page with its policy, and is not cached', async () => {
  const { headers } = await open('/nope')

  expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
  expect(headers.get('cache-control')).toBe('no-store')
})

test('an address where nothing is speaks the language that was chosen in the browser', async () => {
  const answer = await open('/nope', { ...navigation, cookie: 'locale=de_DE' })

  expect(await answer.text()).toContain('Seite nicht gefunden')
})

test('a missing address answers programs, and below /api and /trpc, with JSON', async () => {
  const requests = [
    ['/nope', {}],
    ['/nope', { accept: '*/*' }],
    ['/nope', { accept: 'application/json' }],
    ['/api/nope', navigation],
    ['/api/svc/v1/nope', navigation],
    ['/trpc/nope', navigation],
  ] as const

  for (const [path, headers] of requests) {
    const answer = await open(path, headers)
    expect([path, answer.status]).toEqual([path, 404])
    expect(answer.headers.get('content-type')).toMatch(/json/)
  }
  const answer = await open('/nope', {})
  expect(await answer.json()).toEqual({
    success: false,
    message: 'There is nothing at this address.',
    code: 'not_found',
    requestId: answer.headers.get('x-request-id'),
  })
})

test("a failed page says so in the person's language, without internals", async () => {
  const spy = vi.spyOn(svc.services.login, 'sources').mockRejectedValue(new Error('no such directory: /secret'))

  const answer = await open('/login?x=1', german)
  const program = await open('/login', {})
  spy.mockRestore()
  const text = await answer.text()

  expect(answer.status).toBe(500)
  expect(text).toContain('<h1>Etwas ist schiefgelaufen</h1>')
  expect(text).toContain('<a href="">Erneut versuchen</a>')
  expect(text).toContain(answer.headers.get('x-request-id'))
  expect(text).not.toContain('secret')
  expect(await program.json()).toMatchObject({ success: false, code: 'internal' })
})

test('a failed page says no more than that the service is unavailable', async () => {
  const spy = vi.spyOn(svc.services.login, 'sources').mockRejectedValue(new Problem('unavailable'))

  const answer = await open('/login')
  spy.mockRestore()

  expect(answer.status).toBe(503)
  expect(await answer.text()).toContain('<h1>Back in a moment</h1>')
})

test('a form of another site is refused with a page, a script with JSON', async () => {
  const { browser } = await signIn(svc, 'bob')
  const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }

  const page = await browser.send('POST', '/logout', { headers: { ...foreign, ...german }, form: {} })
  const script = await browser.send('POST', '/logout', { headers: foreign })

  expect([page.status, page.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8'])
  expect(page.text).toContain('<h1>Kein Zugriff</h1>')
  expect([script.status, script.body]).toMatchObject([403, { code: 'csrf' }])
})

testWith('chromium')('a person comes from a missing page back to where they can go on', async () => {
  await using chromium = await openPage(svc.url, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
  const { page } = chromium

  await page.goto('/nope')
  await expectAccessible(page)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
  await page.getByRole('link', { name: 'To the start page' }).click()
  await waitForAddress(page, /login/)

  expect(await page.textContent('h1')).toBe('Sign in')
})

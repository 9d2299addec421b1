import { describe, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { cloneDatabase } from '../kit/database.ts'
import { newName } from '../kit/identity/people.ts'
import { whileEndingSessions } from '../kit/locks.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)

const change = (browser: TestBrowser, inputLang: unknown) =>
  browser.send('POST', '/req/changeLanguage', { body: { inputLang } })

interface Wishes {
  query?: string
  headers?: Record<string, string>
}

/** Returns the language of a response to a browser. */
async function languageOf(browser: TestBrowser, { query = '', headers = {} }: Wishes = {}) {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await browser.send('GET', `/api/svc/v1/connections/svc${query}`, { headers: { cookie, ...headers } })
  return (answer.body as { data: { attributes: { locale: string } } }).data.attributes.locale
}

type Locale = 'de_DE' | 'en_US'

/** The sources of a request's language, from the highest priority to the lowest. */
const sources = ['header', 'query lang', 'query locale', 'session', 'cookie', 'preference'] as const
type Words = Partial<Record<(typeof sources)[number], string>>

/** Sends a request with all language sources; the session has a language only where it was set. */
async function answered(browser: TestBrowser, words: Words) {
  if (words.session) await change(browser, words.session)
  browser.cookies.delete('locale')
  if (words.cookie) browser.cookies.set('locale', words.cookie)
  const query = [
    words['query locale'] && `locale=${words['query locale']}`,
    words['query lang'] && `lang=${words['query lang']}`,
  ]
  return languageOf(browser, {
    query: `?${query.filter(Boolean).join('&')}`,
    headers: {
      ...(words.header !== undefined && { 'x-app-locale': words.header }),
      ...(words.preference && { 'accept-language': words.preference }),
    },
  })
}

describe('the language of an answer', () => {
  test.for([
    ['de_DE', 'en_US'],
    ['en_US', 'de_DE'],
  ] as [Locale, Locale][])(
    'is %s by the strongest word there is, where all weaker ones say %s',
    async ([wish, other]) => {
      await using svc = await startApp({ APP_LOCALE: other })
      const { browser } = await signIn(svc)

      expect(await answered(browser, {})).toBe(other)
      for (const [at, source] of [...sources.entries()].reverse()) {
        const weaker = Object.fromEntries(sources.slice(at + 1).map((name) => [name, other]))
        expect(await answered(browser, { ...weaker, [source]: wish }), source).toBe(wish)
      }
    },
  )

  test("the response's language is not changed by unknown language names", async () => {
    const { browser } = await signIn(svc, newName())
    const unknown = { header: 'fr_FR', 'query lang': 'xx', 'query locale': '__proto__' }

    expect(await answered(browser, { ...unknown, cookie: 'de_DE', preference: 'en' })).toBe('de_DE')
    expect(await answered(browser, { ...unknown, session: 'de_DE', cookie: 'en_US' })).toBe('de_DE')
    expect(await answered(openBrowser(svc.url), { header: '', cookie: 'fr_FR', preference: 'fr' })).toBe('en_US')
  })
})

test('choosing a language holds for the session and, in a cookie, for the browser', async () => {
  const { browser } = await signIn(svc, newName())

  const { status, body, headers } = await change(browser, 'de_DE')

  expect([status, body]).toEqual([200, { success: true }])
  expect(headers.getSetCookie()).toEqual(['locale=de_DE; Max-Age=10368000; Path=/; HttpOnly; SameSite=Lax'])
  expect(headers.get('cache-control')).toBe('no-store')
  expect(await languageOf(browser)).toBe('de_DE')
  browser.cookies.delete('locale')
  expect(await languageOf(browser)).toBe('de_DE')
  await change(browser, 'en-us')
  expect(await languageOf(browser, { headers: { 'accept-language': 'de' } })).toBe('en_US')
})

test('choosing a language is for guests, too, whom it gives no session', async () => {
  const browser = openBrowser(svc.url)

  const { status } = await browser.send('POST', '/req/changeLanguage', { form: { inputLang: 'de_DE' } })

  expect(status).toBe(200)
  expect([...browser.cookies]).toEqual([['locale', 'de_DE']])
  expect(await languageOf(browser)).toBe('de_DE')
  expect((await browser.send('GET', '/login')).text).toContain('<html lang="de"')
})

test('choosing a language outlasts signing in, signing in again and signing out', async () => {
  const ada = newName()
  const { browser } = await signIn(svc, ada)
  await change(browser, 'de_DE')

  browser.cookies.delete('locale')
  const before = browser.session
  await browser.login(ada)
  expect(browser.session).not.toBe(before)
  expect(await languageOf(browser)).toBe('de_DE')
  await change(browser, 'de_DE')
  await browser.send('POST', '/logout')
  expect(await languageOf(browser)).toBe('de_DE')
  await browser.login(ada)
  expect(await languageOf(browser)).toBe('de_DE')
})

test('choosing a language is one of those that the service speaks', async () => {
  const { browser } = await signIn(svc, newName())

  for (const inputLang of ['fr_FR', 'xx_XX', '\t\t\t\t\t', '     ']) {
    const { status, body, headers } = await change(browser, inputLang)
    expect([status, body], inputLang).toEqual([400, { success: false, error: 'Invalid language' }])
    expect(headers.getSetCookie()).toEqual([])
  }
  expect(await languageOf(browser)).toBe('en_US')
})

test.for([['de'], ['de_DE_'], [''], [undefined], [null], [12345], [['de_DE']]])(
  'choosing a language takes five characters, and not %j',
  async ([inputLang]) => {
    const { status, body } = await change(openBrowser(svc.url), inputLang)

    expect([status, body]).toEqual([
      422,
      {
        success: false,
        error: expect.any(String),
        errors: { inputLang: expect.arrayContaining([expect.stringMatching(/^The inputLang/)]) },
      },
    ])
  },
)

test('choosing a language is not for tokens, nor for pages of others', async () => {
  const { browser, token } = await signIn(svc, newName())
  const body = { inputLang: 'de_DE' }

  const foreign = await browser.send('POST', '/req/changeLanguage', {
    body,
    headers: { 'sec-fetch-site': 'cross-site' },
  })

  expect(foreign.status).toBe(403)
  expect((await svc.send('POST', '/req/changeLanguage', { token, body })).status).toBe(403)
  expect(await languageOf(browser)).toBe('en_US')
})

test('choosing a language does not revive a session that ends meanwhile', async () => {
  const { browser } = await signIn(svc, newName())

  const { status } = await whileEndingSessions(svc, () => change(browser, 'de_DE'))

  expect(status).toBe(200)
  expect(await svc.rows('select * from sessions')).toEqual([])
  expect(await browser.standing()).toBe('internal')
  expect(await languageOf(browser)).toBe('de_DE')
})

test('choosing a language holds on every replica', async () => {
  await using database = await cloneDatabase()
  const settings = { DATABASE_URL: database.url, APP_KEY: 'aVzdCBrZXkgb2YgdGhlIHNlcnZpY2U6IGxvbmcgZW5vdWdo' }
  await using first = await startApp(settings)
  await using second = await startApp(settings)
  const { browser } = await signIn(first)
  const across = openBrowser(second.url)
  across.cookies.set('svc_session', browser.session!)

  await change(browser, 'de_DE')

  expect(await languageOf(across)).toBe('de_DE')
})

import { expect } from 'vitest'
import { startApp, type TestApp } from '../app.ts'
import { addAccount, openBrowser, PASSWORD, type TestBrowser } from '../browser.ts'

/** Settings of the headers by which a reverse proxy says whom it has signed in. */
export const proxyHeaders = {
  PROXY_USERNAME_HEADER: 'x-user',
  PROXY_EMAIL_HEADER: 'x-email',
  PROXY_NAME_HEADER: 'x-name',
}

export const SIGNED_IN = 'internal_authenticated'

export const GUEST = 'internal'

/** The key that signs cookies; replicas share it. */
export const APP_KEY = 'aVzdCBrZXkgb2YgdGhlIHNlcnZpY2U6IGxvbmcgZW5vdWdo'

export const readSessionCookie = (headers: Headers) =>
  headers.getSetCookie().find((line) => line.startsWith('svc_session=')) ?? ''

export interface ListedSession {
  handle: string
  beganAt: string
  lastUsedAt: string
  browser: string | null
  system: string | null
  isCurrent: boolean
}

export const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

export const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36'

export const ANY_HANDLE = expect.stringMatching(/^[\w-]{43}$/)

/** Signs in to an existing account. */
export async function signInWithAgent(svc: TestApp, userAgent = FIREFOX, account = 'ada') {
  const browser = openBrowser(svc.url)
  const headers = { 'sec-fetch-site': 'same-origin', 'user-agent': userAgent }
  const { status } = await browser.send('POST', '/req/login', { body: { account, password: PASSWORD }, headers })
  expect(status).toBe(200)
  return browser
}

export const requestSessions = (browser: TestBrowser) => browser.send('GET', '/trpc/sessions.list')

export async function readSessionList(browser: TestBrowser): Promise<ListedSession[]> {
  const { status, body } = await requestSessions(browser)
  expect([status, body]).toEqual([200, { result: { data: expect.any(Array) } }])
  return (body['result'] as { data: ListedSession[] }).data
}

export const endSession = (browser: TestBrowser, which: unknown) =>
  browser.send('POST', '/trpc/sessions.end', { body: { handle: which } })

export const endOtherSessions = (browser: TestBrowser) => browser.send('POST', '/trpc/sessions.endOthers', { body: {} })

export const readStandings = (...browsers: TestBrowser[]) => Promise.all(browsers.map((browser) => browser.standing()))

/** Reads the handle of the browser's own session. */
export const readOwnHandle = async (browser: TestBrowser) =>
  (await readSessionList(browser)).find(({ isCurrent }) => isCurrent)?.handle ?? ''

export async function startWithAda(settings: Record<string, string> = {}) {
  const svc = await startApp(settings)
  await addAccount(svc, 'ada')
  return svc
}

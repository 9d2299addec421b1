import { expect } from 'vitest'
import { startApp, type TestApp } from '../app.ts'
import { addAccount, openBrowser, PASSWORD, type TestBrowser } from '../browser.ts'

export interface Listed {
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

export const handle = expect.stringMatching(/^[\w-]{43}$/)

/** Signs in to an account there is. */
export async function come(svc: TestApp, userAgent = FIREFOX, account = 'ada') {
  const browser = openBrowser(svc.url)
  const headers = { 'sec-fetch-site': 'same-origin', 'user-agent': userAgent }
  const { status } = await browser.send('POST', '/req/login', { body: { account, password: PASSWORD }, headers })
  expect(status).toBe(200)
  return browser
}

export const ask = (browser: TestBrowser) => browser.send('GET', '/trpc/sessions.list')

export async function list(browser: TestBrowser): Promise<Listed[]> {
  const { status, body } = await ask(browser)
  expect([status, body]).toEqual([200, { result: { data: expect.any(Array) } }])
  return (body['result'] as { data: Listed[] }).data
}

export const end = (browser: TestBrowser, which: unknown) =>
  browser.send('POST', '/trpc/sessions.end', { body: { handle: which } })

export const endOthers = (browser: TestBrowser) => browser.send('POST', '/trpc/sessions.endOthers', { body: {} })

export const standings = (...browsers: TestBrowser[]) => Promise.all(browsers.map((browser) => browser.standing()))

/** What a session is called in its own list. */
export const handleOf = async (browser: TestBrowser) =>
  (await list(browser)).find(({ isCurrent }) => isCurrent)?.handle ?? ''

export async function start(settings: Record<string, string> = {}) {
  const svc = await startApp(settings)
  await addAccount(svc, 'ada')
  return svc
}

import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeConfig } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { addAccount, PASSWORD } from '../../kit/browser.ts'
import { productionSettings } from '../../kit/production.ts'

const contact = { SECURITY_CONTACT: 'mailto:security@example.org', SECURITY_EXPIRES: '2099-12-31' }

let svc: TestApp
const config = await writeConfig('http://127.0.0.1:9/v1')
beforeAll(async () => {
  svc = await startApp({
    ...productionSettings,
    AI_CONFIG: config.file,
    TRUSTED_PROXIES: '127.0.0.1',
    BASE_URL: 'https://chat.example.org',
    ...contact,
  })
})
afterAll(async () => {
  await svc[Symbol.asyncDispose]()
  await config[Symbol.asyncDispose]()
})

/** Headers of the proxy that ends TLS. */
const proxied = { 'x-forwarded-proto': 'https' }
const get = (path: string) => svc.send('GET', path, { headers: proxied })

const HALF_A_YEAR = 15_768_000

const policyOf = (headers: Headers) => {
  const parts = (headers.get('content-security-policy') ?? '').split(';').map((part) => part.trim().split(/\s+/))
  return Object.fromEntries(parts.map(([name = '', ...sources]) => [name, sources]))
}

/** The rules of Mozilla's HTTP Observatory about responses, by their names there. */
const rules: Record<string, (headers: Headers) => boolean> = {
  'csp: implemented without unsafe-inline, unsafe-eval and broad sources': (headers) => {
    const { 'default-src': fallback, 'script-src': scripts = fallback } = policyOf(headers)
    return scripts?.every((source) => !/unsafe|^\*|^https?:$|^data:/.test(source)) ?? false
  },
  'csp: default-src none or self': (headers) => /^'(none|self)'$/.test(policyOf(headers)['default-src']?.[0] ?? ''),
  'csp: clickjacking is prevented by frame-ancestors': (headers) => policyOf(headers)['frame-ancestors'] !== undefined,
  'cors: no other origin reads answers': (headers) => headers.get('access-control-allow-origin') === null,
  'hsts: at least half a year': (headers) =>
    Number(/max-age=(\d+)/.exec(headers.get('strict-transport-security') ?? '')?.[1]) >= HALF_A_YEAR,
  'referrer-policy: none leaves the site': (headers) =>
    /^(no-referrer|same-origin|strict-origin)$/.test(headers.get('referrer-policy') ?? ''),
  'x-content-type-options: nosniff': (headers) => headers.get('x-content-type-options') === 'nosniff',
  'x-frame-options: DENY or SAMEORIGIN': (headers) => /^(DENY|SAMEORIGIN)$/.test(headers.get('x-frame-options') ?? ''),
  'cross-origin-resource-policy: same-origin': (headers) =>
    headers.get('cross-origin-resource-policy') === 'same-origin',
}

test.for([
  '/login',
  '/register',
  '/handshake',
  '/logout',
  '/chat',
  '/rooms',
  '/settings/profile',
  '/docs',
  '/health',
  '/nothing',
  '/api/svc/v1/configs',
  '/.well-known/security.txt',
])('%s keeps the published rules for headers', async (path) => {
  const { headers } = await get(path)

  const broken = Object.entries(rules).filter(([, isKept]) => !isKept(headers))
  expect(broken.map(([name]) => name)).toEqual([])
})

test('the session cookie is Secure, HttpOnly and SameSite', async () => {
  await using signing = await startApp({ TRUSTED_PROXIES: '127.0.0.1', BASE_URL: 'https://localhost' })
  await addAccount(signing, 'ada')

  const answer = await signing.send('POST', '/req/login', {
    body: { account: 'ada', password: PASSWORD },
    headers: { ...proxied, 'sec-fetch-site': 'same-origin' },
  })

  expect(answer.status).toBe(200)
  const cookies = answer.headers.getSetCookie()
  expect(cookies.length).toBeGreaterThan(0)
  for (const attribute of ['Secure', 'HttpOnly', 'SameSite=Lax'])
    expect(cookies.filter((cookie) => !cookie.includes(attribute))).toEqual([])
})

test('security.txt says to whom weaknesses are reported, where the settings do', async () => {
  const answer = await get('/.well-known/security.txt')

  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(await answer.text()).toBe(
    [
      'Contact: mailto:security@example.org',
      'Expires: 2099-12-31T23:59:59.000Z',
      'Preferred-Languages: de, en',
      'Canonical: https://chat.example.org/.well-known/security.txt',
      '',
    ].join('\n'),
  )
})

test('without settings, and after its day, there is no security.txt', async () => {
  await using silent = await startApp()
  await using late = await startApp({ ...contact, SECURITY_EXPIRES: '2026-01-31' })

  expect((await silent.send('GET', '/.well-known/security.txt')).status).toBe(404)
  expect((await late.send('GET', '/.well-known/security.txt')).status).toBe(404)
  await expect(startApp({ SECURITY_CONTACT: contact.SECURITY_CONTACT })).rejects.toThrow('SECURITY_EXPIRES')
})

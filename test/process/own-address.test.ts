import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'

const page = { accept: 'text/html,*/*;q=0.8' }

/** One service under its own address, and one behind a trusted proxy. */
const services = {} as Record<'direct' | 'proxied', TestApp>
beforeAll(async () => {
  const settings = { BASE_URL: 'https://svc.localhost' }
  services.direct = await startApp(settings)
  services.proxied = await startApp({ ...settings, TRUSTED_PROXIES: '127.0.0.1' })
})
afterAll(async () => {
  await services.direct[Symbol.asyncDispose]()
  await services.proxied[Symbol.asyncDispose]()
})

/** Sends a request with the Host header of another name. */
function open(svc: TestApp, headers: Record<string, string>, path = '/login'): Promise<void> {
  return new Promise((done, failed) => {
    request(svc.url + path, { headers }, (response) => response.resume().once('end', done))
      .once('error', failed)
      .end()
  })
}

const warnings = ({ log }: TestApp) =>
  log.filter((line) => line.includes('Set BASE_URL to the address')).map((line) => JSON.parse(line))

test('a service at another address than BASE_URL logs the seen address once', async () => {
  const { direct } = services

  for (let times = 0; times < 3; times++) await open(direct, { ...page, host: 'intranet:8080' })

  expect(warnings(direct)).toMatchObject([{ level: 40, host: 'intranet:8080', baseUrl: 'https://svc.localhost' }])
})

test('a service at another address than BASE_URL logs a bounded number of names', async () => {
  await using svc = await startApp({ BASE_URL: 'https://svc.localhost' })

  for (let times = 0; times < 20; times++) await open(svc, { ...page, host: `host${times}` })

  expect(warnings(svc).length).toBeLessThan(10)
})

test.for([
  ['opened at BASE_URL', 'direct', { ...page, host: 'svc.localhost' }],
  ['asked by a probe', 'direct', { host: '10.0.0.7:3000' }],
  ['asked by a program that takes anything', 'direct', { accept: '*/*', host: 'svc:3000' }],
  ['behind a proxy that nobody trusts', 'direct', { ...page, host: 'svc:3000', 'x-forwarded-for': '192.0.2.7' }],
  [
    'behind a trusted proxy that tells the address',
    'proxied',
    { ...page, host: 'svc:3000', 'x-forwarded-host': 'svc.localhost', 'x-forwarded-proto': 'https' },
  ],
  ['behind a trusted proxy that does not', 'proxied', { ...page, host: 'svc', via: '1.1 proxy' }],
] as const)('a service at another address than BASE_URL logs nothing when it is %s', async ([, service, headers]) => {
  const svc = services[service]
  const before = warnings(svc)

  await open(svc, headers)

  expect(warnings(svc)).toEqual(before)
})

test('a service at another address than BASE_URL sees it through a trusted proxy', async () => {
  const { proxied } = services

  await open(proxied, {
    ...page,
    host: 'svc:3000',
    'x-forwarded-host': 'other.example.org',
    'x-forwarded-proto': 'https',
  })

  expect(warnings(proxied)).toMatchObject([{ host: 'other.example.org' }])
})

test('a service at another address than BASE_URL accepts all names of localhost', async () => {
  await using svc = await startApp()

  await open(svc, { ...page, host: `localhost:${new URL(svc.url).port}` })

  expect(warnings(svc)).toEqual([])
})

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { runAdminStatement } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { checkNames, deepChecks, findCheck, getHealth } from '../kit/health.ts'

let deepSvc: TestApp
let closed: TestApp
beforeAll(async () => {
  deepSvc = await startApp({ HEALTH_DEEP_EVERY: '1' })
  closed = await startApp({ ALLOW_EXTERNAL_COMMUNICATION: 'false' })
})
afterAll(() => Promise.all([deepSvc, closed].map((one) => one[Symbol.asyncDispose]())))

test('GET /health runs the full check every tenth time', async () => {
  await using svc = await startApp()

  const reports = []
  for (let turn = 1; turn <= 20; turn++) reports.push(await getHealth(svc))

  const quick = Array.from({ length: 9 }, () => ['quick_database'])
  expect(reports.map(checkNames)).toEqual([...quick, deepChecks, ...quick, deepChecks])
  expect(new Set(reports.map(({ code, status }) => `${code} ${status}`))).toEqual(new Set(['200 healthy']))
})

test('GET /health runs four deep checks in forty probes', async () => {
  await using svc = await startApp()
  const seen: string[][] = []
  svc.services.process.hooks.on('health-check', ({ results }) => void seen.push([...results.keys()]))

  for (let probe = 1; probe <= 40; probe++) await getHealth(svc)

  expect(seen).toEqual([deepChecks, deepChecks, deepChecks, deepChecks])
})

test('GET /health reports result, duration and time of each check', async () => {
  const report = await getHealth(deepSvc)

  expect(report.checks).toEqual(
    deepChecks.map((name) => ({
      name,
      status: 'ok',
      message: expect.any(String),
      response_time: expect.any(Number),
    })),
  )
  expect(Object.keys(report).sort()).toEqual(['checks', 'code', 'status', 'timestamp'])
  expect(report.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/)
  expect(Math.abs(Date.parse(report.timestamp) - Date.now())).toBeLessThan(60_000)
})

test.for([
  { every: '1', expected: [deepChecks, deepChecks, deepChecks] },
  { every: '3', expected: [['quick_database'], ['quick_database'], deepChecks, ['quick_database']] },
])('GET /health runs a deep check every $every requests when told so', async ({ every, expected }) => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: every })

  const reports = []
  for (const _ of expected) reports.push(checkNames(await getHealth(svc)))

  expect(reports).toEqual(expected)
})

test('GET /health looks at no credential, and is open where external access is off', async () => {
  const report = await getHealth(closed, {
    headers: { authorization: 'Bearer rubbish', cookie: 'svc_session=rubbish' },
  })

  expect(report.code).toBe(200)
})

test('GET /health is kept by nobody on the way', async () => {
  expect((await closed.send('GET', '/health')).headers.get('cache-control')).toBe('no-store')
})

const ok = { status: 'ok', message: 'Fine.' } as const

type Check = Parameters<typeof deepSvc.services.process.hooks.on<'health-check'>>[1]

/** Adds a check to every deep check until the test ends. */
function addCheck(check: Check) {
  const stop = deepSvc.services.process.hooks.on('health-check', check)
  onTestFinished(stop)
  return stop
}

test('custom checks stand after the built-in ones, without a time where they give none', async () => {
  addCheck(({ results }) => void results.set('queue', { name: 'queue', ...ok }))
  addCheck(async ({ results }) => void results.set('mail', { name: 'mail', ...ok, response_time: 3 }))

  const report = await getHealth(deepSvc)

  expect(checkNames(report)).toEqual([...deepChecks, 'queue', 'mail'])
  expect(findCheck(report, 'queue')).toEqual({ name: 'queue', ...ok, response_time: null })
  expect(findCheck(report, 'mail')).toEqual({ name: 'mail', ...ok, response_time: 3 })
})

test('custom checks see the results before them, and overwrite by name', async () => {
  let seen: string[] = []
  addCheck(({ results }) => {
    seen = [...results.keys()]
    results.set('cache', { name: 'cache', status: 'error', message: 'Too slow.', response_time: 900 })
  })

  const report = await getHealth(deepSvc)

  expect(seen).toEqual(deepChecks)
  expect(report).toMatchObject({ code: 503, status: 'unhealthy' })
  expect(checkNames(report)).toEqual(deepChecks)
  expect(findCheck(report, 'cache')).toEqual({ name: 'cache', status: 'error', message: 'Too slow.' })
})

test('custom checks that fail make the next request deep, until one succeeds', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '2' })
  let status: 'ok' | 'error' = 'error'
  svc.services.process.hooks.on(
    'health-check',
    ({ results }) => void results.set('queue', { name: 'queue', ...ok, status }),
  )

  const before = [await getHealth(svc), await getHealth(svc), await getHealth(svc)]
  status = 'ok'
  const after = [await getHealth(svc), await getHealth(svc)]

  expect(before.map(({ code, checks }) => [code, checks.length])).toEqual([
    [200, 1],
    [503, deepChecks.length + 1],
    [503, deepChecks.length + 1],
  ])
  expect(after.map(({ code, checks }) => [code, checks.length])).toEqual([
    [200, deepChecks.length + 1],
    [200, 1],
  ])
})

test('custom checks that throw or never end are failures, not a failed answer', async () => {
  const stop = addCheck(() => {
    throw new Error('CANARY')
  })

  const thrown = await getHealth(deepSvc)
  stop()
  addCheck(() => new Promise(() => {}))
  const endless = await getHealth(deepSvc)

  for (const report of [thrown, endless]) {
    expect(report.code).toBe(503)
    expect(findCheck(report, 'custom')).toEqual({ name: 'custom', status: 'error', message: expect.any(String) })
    expect(JSON.stringify(report)).not.toContain('CANARY')
  }
})

test('without Redis a service starts with a warning and serves people and tokens', async () => {
  const port = await findFreePort()
  await using svc = await startApp({ REDIS_URL: `redis://:CANARY@127.0.0.1:${port}` })
  const { token } = await svc.user()
  const ada = { username: 'ada', email: 'ada@example.org', name: 'Ada' }
  await svc.host.admin.addUser({ ...ada, password: 'correct horse' })

  const ready = await svc.send('GET', '/health/ready')
  const browser = openBrowser(svc.url)
  const login = await browser.login('ada', 'correct horse')
  const withToken = await svc.send('GET', '/api/user', { token })

  expect([ready.status, login.status, withToken.status]).toEqual([200, 200, 200])
  expect(await browser.standing()).toBe('internal_registering_user')
  expect(svc.log.filter((line) => line.includes('"level":40')).join('')).toMatch(/REDIS_URL/)
  expect(svc.log.join('')).not.toContain('CANARY')
})

test('a replica is not ready while its connections are all in use', async () => {
  await using svc = await startApp({ DATABASE_POOL: '2' })
  const ready = async () => {
    const response = await svc.send('GET', '/health/ready')
    return [response.status, await response.json()]
  }
  const busy = [svc.services.em.fork(), svc.services.em.fork()]
  for (const em of busy) await em.begin()

  expect(await ready()).toEqual([503, { status: 'unavailable', message: expect.stringContaining('connections') }])
  for (const em of busy) await em.rollback()
  expect(await ready()).toEqual([200, { status: 'ready' }])
})

test('readiness and the deep check tell of a database that only reads', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '1' })
  const database = new URL(svc.env.DATABASE_URL ?? '').pathname.slice(1)
  const endSessions = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`
  await runAdminStatement(`alter database ${database} set default_transaction_read_only = on`)
  await runAdminStatement(endSessions)

  const message = 'The database is read-only.'
  // A connection whose session has ended may still be taken for open.
  await expect.poll(async () => (await getHealth(svc)).checks.map((check) => check.message)).toContain(message)
  const report = await getHealth(svc)
  const ready = await svc.send('GET', '/health/ready')
  await runAdminStatement(`alter database ${database} reset default_transaction_read_only`)
  await runAdminStatement(endSessions)

  expect([report.code, checkNames(report)]).toEqual([503, deepChecks])
  expect(report.checks.filter(({ status }) => status === 'error')).toEqual([
    { name: 'database', status: 'error', message },
  ])
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'unavailable', message }])
  await expect.poll(async () => (await getHealth(svc)).status).toBe('healthy')
  expect((await svc.send('GET', '/health/ready')).status).toBe(200)
})

test.for([
  ['/health/live', { status: 'live' }],
  ['/health/ready', { status: 'ready' }],
] as const)('GET %s answers 200 without a look at credentials', async ([path, body]) => {
  const response = await closed.send('GET', path, { headers: { authorization: 'Bearer rubbish' } })

  expect(response.status).toBe(200)
  expect(await response.json()).toEqual(body)
})

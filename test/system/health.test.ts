import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { startCluster } from '../../server/database/embedded-postgres.ts'
import { createHealthTimer } from '../../server/ops/health-timer.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { freePort } from '../kit/free-port.ts'
import { testWith } from '../kit/parts/with-parts.ts'

type Check = { name: string; status: string; message: string; response_time?: number | null }
type Report = { status: string; timestamp: string; checks: Check[] }

async function health(svc: TestApp, options = {}) {
  const response = await svc.send('GET', '/health', options)
  return { code: response.status, ...((await response.json()) as Report) }
}

const namesOf = ({ checks }: Report) => checks.map(({ name }) => name)
const checkOf = ({ checks }: Report, name: string) => checks.find((check) => check.name === name)
const deep = ['database', 'cache', 'kvstore', 'storage']
const markerOf = (folder: string) => join(folder, 'svc_health_timer_marker.json')
const failed = JSON.stringify({ failed: true, quickChecks: 0 })

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'svc-health-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

test('GET /health answers nine times with the quick check, and the tenth time with all', async () => {
  await using svc = await startApp()

  const reports = []
  for (let turn = 1; turn <= 20; turn++) reports.push(await health(svc))

  const quick = Array.from({ length: 9 }, () => ['quick_database'])
  expect(reports.map(namesOf)).toEqual([...quick, deep, ...quick, deep])
  expect(new Set(reports.map(({ code, status }) => `${code} ${status}`))).toEqual(new Set(['200 healthy']))
})

test('GET /health says of each check how it went and how long it took, and when', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '1' })

  const report = await health(svc)

  expect(report.checks).toEqual(
    deep.map((name) => ({ name, status: 'ok', message: expect.any(String), response_time: expect.any(Number) })),
  )
  expect(Object.keys(report).sort()).toEqual(['checks', 'code', 'status', 'timestamp'])
  expect(report.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/)
  expect(Math.abs(Date.parse(report.timestamp) - Date.now())).toBeLessThan(60_000)
})

test.for([
  { every: '1', expected: [deep, deep, deep] },
  { every: '3', expected: [['quick_database'], ['quick_database'], deep, ['quick_database']] },
])('GET /health runs a deep check every $every requests when told so', async ({ every, expected }) => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: every })

  const reports = []
  for (const _ of expected) reports.push(namesOf(await health(svc)))

  expect(reports).toEqual(expected)
})

test('GET /health looks at no credential, and is open where external access is off', async () => {
  await using svc = await startApp({ ALLOW_EXTERNAL_COMMUNICATION: 'false' })

  const report = await health(svc, { headers: { authorization: 'Bearer rubbish', cookie: 'svc_session=rubbish' } })

  expect(report.code).toBe(200)
})

test('GET /health is kept by nobody on the way', async () => {
  await using svc = await startApp()

  expect((await svc.send('GET', '/health')).headers.get('cache-control')).toBe('no-store')
})

describe('a part that fails', () => {
  test('the database: 503 while it is away, healthy when it is back, and no detail of it', async () => {
    await using folder = await temporaryFolder()
    const port = await freePort()
    const start = () => startCluster(join(folder.path, 'postgres'), ['-c', 'fsync=off'], port)
    let cluster = await start()
    const svc = await startApp({ DATABASE_URL: cluster.url })
    try {
      await cluster.stop('fast')
      const quick = await health(svc)
      await writeFile(markerOf(svc.folder), failed)
      const down = await health(svc)
      const still = await health(svc)
      cluster = await start()
      const back = await health(svc)
      const after = await health(svc)

      expect(quick).toMatchObject({
        code: 503,
        status: 'unhealthy',
        checks: [{ name: 'quick_database', status: 'error' }],
      })
      expect(quick.checks[0]).not.toHaveProperty('response_time')
      expect(down).toMatchObject({ code: 503, status: 'unhealthy' })
      expect(namesOf(down)).toEqual(deep)
      expect(checkOf(down, 'database')).toEqual({ name: 'database', status: 'error', message: expect.any(String) })
      expect(checkOf(down, 'kvstore')).toMatchObject({ status: 'ok', response_time: expect.any(Number) })
      expect(namesOf(still)).toEqual(deep)
      expect(JSON.stringify(down)).not.toMatch(new RegExp(`ECONNREFUSED|${port}|127\\.0\\.0\\.1`))
      expect(back).toMatchObject({ code: 200, status: 'healthy' })
      expect(namesOf(back)).toEqual(deep)
      expect(namesOf(after)).toEqual(['quick_database'])
      expect(
        svc.log.some((line) => line.includes('a health check failed') && /"check":"database".*ECONN/.test(line)),
      ).toBe(true)
    } finally {
      await svc[Symbol.asyncDispose]()
      await cluster.stop('fast')
    }
  })

  test('a quick check that fails does not change the state', async () => {
    await using folder = await temporaryFolder()
    const cluster = await startCluster(join(folder.path, 'postgres'), ['-c', 'fsync=off'])
    const svc = await startApp({ DATABASE_URL: cluster.url })
    try {
      await cluster.stop('fast')
      const first = await health(svc)
      const second = await health(svc)

      expect([first, second].map(namesOf)).toEqual([['quick_database'], ['quick_database']])
      expect(JSON.parse(await readFile(markerOf(svc.folder), 'utf8'))).toEqual({ failed: false, quickChecks: 2 })
    } finally {
      await svc[Symbol.asyncDispose]()
      await cluster.stop('fast')
    }
  })

  testWith('redis')('Redis: cache and key-value store fail, the rest goes on, and both recover', async () => {
    await using folder = await temporaryFolder()
    const port = await freePort()
    let redis = await startRedis(port, folder.path)
    const svc = await startApp({ REDIS_URL: `redis://127.0.0.1:${port}`, HEALTH_DEEP_EVERY: '2' })
    try {
      await vi.waitFor(async () => expect((await health(svc)).checks).toHaveLength(4), { timeout: 20_000 })
      await stopRedis(redis)
      await health(svc)
      const down = await health(svc)
      redis = await startRedis(port, folder.path)
      await vi.waitFor(async () => expect(await health(svc)).toMatchObject({ code: 200 }), {
        timeout: 20_000,
        interval: 100,
      })

      expect(down.code).toBe(503)
      expect(down.checks.map(({ name, status }) => `${name} ${status}`)).toEqual([
        'database ok',
        'cache error',
        'kvstore error',
        'storage ok',
      ])
    } finally {
      await stopRedis(redis)
      await svc[Symbol.asyncDispose]()
    }
  })

  testWith('redis')('Redis that takes connections and never answers does not hang the probe', async () => {
    await using folder = await temporaryFolder()
    const port = await freePort()
    const redis = await startRedis(port, folder.path)
    const svc = await startApp({ REDIS_URL: `redis://127.0.0.1:${port}`, HEALTH_DEEP_EVERY: '1' })
    try {
      expect((await health(svc)).code).toBe(200)
      redis.kill('SIGSTOP')
      const report = await health(svc)

      expect(report.code).toBe(503)
    } finally {
      redis.kill('SIGCONT')
      await stopRedis(redis)
      await svc[Symbol.asyncDispose]()
    }
  })

  test('the storage directory', async () => {
    await using svc = await startApp({ HEALTH_DEEP_EVERY: '1' })
    await rm(join(svc.folder, 'cache'), { recursive: true, force: true })
    await writeFile(join(svc.folder, 'cache'), 'a file where the directory should be')

    const down = await health(svc)
    await rm(join(svc.folder, 'cache'))
    const back = await health(svc)

    expect(down.code).toBe(503)
    expect(checkOf(down, 'storage')).toEqual({ name: 'storage', status: 'error', message: expect.any(String) })
    expect(back.code).toBe(200)
    expect(await readdir(join(svc.folder, 'cache'))).toEqual([])
  })
})

const ok = { status: 'ok', message: 'Fine.' } as const

test('custom checks stand after the built-in ones, without a time where they give none', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '1' })
  const { hooks } = svc.services
  hooks.on('health-check', ({ results }) => void results.set('queue', { name: 'queue', ...ok }))
  hooks.on('health-check', async ({ results }) => void results.set('mail', { name: 'mail', ...ok, response_time: 3 }))

  const report = await health(svc)

  expect(namesOf(report)).toEqual([...deep, 'queue', 'mail'])
  expect(checkOf(report, 'queue')).toEqual({ name: 'queue', ...ok, response_time: null })
  expect(checkOf(report, 'mail')).toEqual({ name: 'mail', ...ok, response_time: 3 })
})

test('custom checks see the results before them, and overwrite by name', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '1' })
  let seen: string[] = []
  svc.services.hooks.on('health-check', ({ results }) => {
    seen = [...results.keys()]
    results.set('cache', { name: 'cache', status: 'error', message: 'Too slow.', response_time: 900 })
  })

  const report = await health(svc)

  expect(seen).toEqual(deep)
  expect(report).toMatchObject({ code: 503, status: 'unhealthy' })
  expect(namesOf(report)).toEqual(deep)
  expect(checkOf(report, 'cache')).toEqual({ name: 'cache', status: 'error', message: 'Too slow.' })
})

test('custom checks that fail make the next request deep, until one succeeds', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '2' })
  let status: 'ok' | 'error' = 'error'
  svc.services.hooks.on('health-check', ({ results }) => void results.set('queue', { name: 'queue', ...ok, status }))

  const before = [await health(svc), await health(svc), await health(svc)]
  status = 'ok'
  const after = [await health(svc), await health(svc)]

  expect(before.map(({ code, checks }) => [code, checks.length])).toEqual([
    [200, 1],
    [503, 5],
    [503, 5],
  ])
  expect(after.map(({ code, checks }) => [code, checks.length])).toEqual([
    [200, 5],
    [200, 1],
  ])
})

test('custom checks that throw or never end are failures, not a failed answer', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '1' })
  const { hooks } = svc.services
  const stop = hooks.on('health-check', () => {
    throw new Error('CANARY')
  })

  const thrown = await health(svc)
  stop()
  hooks.on('health-check', () => new Promise(() => {}))
  const endless = await health(svc)

  for (const report of [thrown, endless]) {
    expect(report.code).toBe(503)
    expect(checkOf(report, 'custom')).toEqual({ name: 'custom', status: 'error', message: expect.any(String) })
    expect(JSON.stringify(report)).not.toContain('CANARY')
  }
})

test.for(['', '{', 'null', '{"failed":"perhaps","quickChecks":1}', '{"failed":false,"quickChecks":-4}', '\u0000'])(
  'the marker counts as absent when it says %j',
  async (content) => {
    await using svc = await startApp({ HEALTH_DEEP_EVERY: '3' })
    await writeFile(markerOf(svc.folder), content)

    expect(namesOf(await health(svc))).toEqual(['quick_database'])
    expect(JSON.parse(await readFile(markerOf(svc.folder), 'utf8'))).toEqual({ failed: false, quickChecks: 1 })
  },
)

test('the marker resets the timer when it is deleted', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '2' })
  await writeFile(markerOf(svc.folder), failed)
  await rm(markerOf(svc.folder))

  expect(namesOf(await health(svc))).toEqual(['quick_database'])
})

test('the marker outlives the process', async () => {
  await using folder = await temporaryFolder()
  const before = createHealthTimer(3, folder.path)
  await before.deepIsDue()
  await before.deepIsDue()

  expect(await createHealthTimer(3, folder.path).deepIsDue()).toBe(true)
})

test('the marker counts fifty requests at once, and no reader finds half of it', async () => {
  await using svc = await startApp()
  await health(svc)
  const reading = new AbortController()
  const broken = readUntil(reading.signal, markerOf(svc.folder))

  const reports = await Promise.all(Array.from({ length: 49 }, () => health(svc)))
  reading.abort()

  expect(reports.every(({ code }) => code === 200)).toBe(true)
  const deepOnes = reports.filter(({ checks }) => checks.length === 4).length
  expect(deepOnes).toBeGreaterThanOrEqual(1)
  expect(deepOnes).toBeLessThanOrEqual(5)
  expect(await broken).toBe(0)
  expect((await readdir(svc.folder)).filter((name) => name.startsWith('svc_health'))).toEqual([
    'svc_health_timer_marker.json',
  ])
})

test('the marker is counted once by each of two processes that share it', async () => {
  await using folder = await temporaryFolder()
  const timers = [createHealthTimer(1000, folder.path), createHealthTimer(1000, folder.path)]

  await Promise.all(Array.from({ length: 40 }, (_, turn) => timers[turn % 2]?.deepIsDue()))

  expect(JSON.parse(await readFile(markerOf(folder.path), 'utf8')).quickChecks).toBeGreaterThanOrEqual(38)
})

test('the marker keeps a failure that one process found while the other was counting', async () => {
  await using folder = await temporaryFolder()
  const [one, other] = [createHealthTimer(1000, folder.path), createHealthTimer(1000, folder.path)]

  for (let round = 0; round < 10; round++) {
    await other.settle(false)
    await Promise.all([one.deepIsDue(), other.settle(true), one.deepIsDue()])
    expect(await one.deepIsDue()).toBe(true)
  }
})

test('the marker is kept in mind where the folder takes no file', async () => {
  await using folder = await temporaryFolder()
  await mkdir(markerOf(folder.path))
  const timer = createHealthTimer(3, folder.path)

  expect([await timer.deepIsDue(), await timer.deepIsDue(), await timer.deepIsDue()]).toEqual([false, false, true])
  await timer.settle(true)
  expect(await timer.deepIsDue()).toBe(true)
})

describe('for orchestrators', () => {
  test('without Redis a service starts with a warning and is not ready, which both name REDIS_URL, and people and tokens get in', async () => {
    const port = await freePort()
    await using svc = await startApp({ REDIS_URL: `redis://:CANARY@127.0.0.1:${port}` })
    const { token } = await svc.user()
    const ada = { username: 'ada', email: 'ada@example.org', name: 'Ada' }
    await svc.host.admin.addUser({ ...ada, password: 'correct horse' })

    const ready = await svc.send('GET', '/health/ready')
    const browser = openBrowser(svc.url)
    const login = await browser.login('ada', 'correct horse')
    const withToken = await svc.send('GET', '/api/user', { token })
    const body = await ready.text()

    expect([ready.status, login.status, withToken.status]).toEqual([503, 200, 200])
    expect(await browser.standing()).toBe('internal_registering_user')
    expect(body).toContain('REDIS_URL')
    expect(svc.log.filter((line) => line.includes('"level":40')).join('')).toMatch(/REDIS_URL/)
    expect([body, ...svc.log].join('')).not.toContain('CANARY')
  })

  test.for([
    ['/health/live', { status: 'live' }],
    ['/health/ready', { status: 'ready' }],
  ] as const)('%s answers', async ([path, body]) => {
    await using svc = await startApp({ ALLOW_EXTERNAL_COMMUNICATION: 'false' })

    const response = await svc.send('GET', path, { headers: { authorization: 'Bearer rubbish' } })

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual(body)
  })
})

/** How often the marker could not be read as a whole. */
async function readUntil(signal: AbortSignal, file: string): Promise<number> {
  let broken = 0
  while (!signal.aborted) {
    const text = await readFile(file, 'utf8')
    if (!/^\{.*\}$/.test(text)) broken += 1
    await pause(1)
  }
  return broken
}

async function startRedis(port: number, folder: string): Promise<ChildProcess> {
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
  const redis = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] })
  for await (const text of redis.stdout ?? []) if (String(text).includes('Ready to accept connections')) break
  return redis
}

async function stopRedis(redis: ChildProcess): Promise<void> {
  if (redis.exitCode !== null || redis.signalCode !== null) return
  const ended = once(redis, 'exit')
  redis.kill('SIGKILL')
  await ended
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { startCluster } from '../../server/database/embedded-postgres.ts'
import { startApp } from '../kit/app.ts'
import { runAdminStatement } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import {
  checkNames,
  createTemporaryFolder,
  deepChecks,
  failedMarker,
  findCheck,
  getHealth,
  markerPath,
} from '../kit/health.ts'
import { testWith } from '../kit/parts/with-parts.ts'

test('GET /health answers 503 without details while the database is away', async () => {
  await using folder = await createTemporaryFolder()
  const port = await findFreePort()
  const start = () => startCluster(join(folder.path, 'postgres'), ['-c', 'fsync=off'], port)
  let cluster = await start()
  const svc = await startApp({ DATABASE_URL: cluster.url })
  try {
    await cluster.stop('fast')
    const quick = await getHealth(svc)
    await writeFile(markerPath(svc.folder), failedMarker)
    const down = await getHealth(svc)
    const still = await getHealth(svc)
    cluster = await start()
    const back = await getHealth(svc)
    const after = await getHealth(svc)

    expect(quick).toMatchObject({
      code: 503,
      status: 'unhealthy',
      checks: [{ name: 'quick_database', status: 'error' }],
    })
    expect(quick.checks[0]).not.toHaveProperty('response_time')
    expect(down).toMatchObject({ code: 503, status: 'unhealthy' })
    expect(checkNames(down)).toEqual(deepChecks)
    expect(findCheck(down, 'database')).toEqual({ name: 'database', status: 'error', message: expect.any(String) })
    expect(findCheck(down, 'kvstore')).toMatchObject({ status: 'ok', response_time: expect.any(Number) })
    expect(checkNames(still)).toEqual(deepChecks)
    expect(JSON.stringify(down)).not.toMatch(new RegExp(`ECONNREFUSED|${port}|127\\.0\\.0\\.1`))
    expect(back).toMatchObject({ code: 200, status: 'healthy' })
    expect(checkNames(back)).toEqual(deepChecks)
    expect(checkNames(after)).toEqual(['quick_database'])
    expect(
      svc.log.some((line) => line.includes('a health check failed') && /"check":"database".*ECONN/.test(line)),
    ).toBe(true)
  } finally {
    await svc[Symbol.asyncDispose]()
    await cluster.stop('fast')
  }
})

test('a quick check that fails does not make the next check deep', async () => {
  await using svc = await startApp()
  const database = new URL(svc.env.DATABASE_URL ?? '').pathname.slice(1)
  await runAdminStatement(`alter database ${database} with allow_connections false`)
  await runAdminStatement(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)

  const reports = [await getHealth(svc), await getHealth(svc)]

  expect(reports.map(({ code }) => code)).toEqual([503, 503])
  expect(reports.map(checkNames)).toEqual([['quick_database'], ['quick_database']])
  expect(JSON.parse(await readFile(markerPath(svc.folder), 'utf8'))).toEqual({ failed: false, quickChecks: 2 })
})

testWith('redis')('GET /health reports cache and key-value store failed with Redis until it recovers', async () => {
  await using folder = await createTemporaryFolder()
  const port = await findFreePort()
  let redis = await startRedis(port, folder.path)
  const svc = await startApp({ REDIS_URL: `redis://127.0.0.1:${port}`, HEALTH_DEEP_EVERY: '2' })
  try {
    await vi.waitFor(async () => expect((await getHealth(svc)).checks).toHaveLength(deepChecks.length), {
      timeout: 60_000,
    })
    await stopRedis(redis)
    await getHealth(svc)
    const down = await getHealth(svc)
    const readiness = async () => (await svc.send('GET', '/health/ready')).json()
    await expect.poll(readiness).toMatchObject({ changeBus: 'Changes reach other replicas late.' })
    redis = await startRedis(port, folder.path)
    await vi.waitFor(async () => expect(await getHealth(svc)).toMatchObject({ code: 200 }), {
      timeout: 60_000,
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

testWith('redis')('GET /health does not hang where Redis takes connections and never answers', async () => {
  await using folder = await createTemporaryFolder()
  const port = await findFreePort()
  const redis = await startRedis(port, folder.path)
  const svc = await startApp({ REDIS_URL: `redis://127.0.0.1:${port}`, HEALTH_DEEP_EVERY: '1' })
  try {
    expect((await getHealth(svc)).code).toBe(200)
    redis.kill('SIGSTOP')
    const report = await getHealth(svc)

    expect(report.code).toBe(503)
  } finally {
    redis.kill('SIGCONT')
    await stopRedis(redis)
    await svc[Symbol.asyncDispose]()
  }
})

test('GET /health answers 503 while the directory of the storage cannot be written', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '1' })
  await rm(join(svc.folder, 'cache'), { recursive: true, force: true })
  await writeFile(join(svc.folder, 'cache'), 'a file where the directory should be')

  const down = await getHealth(svc)
  await rm(join(svc.folder, 'cache'))
  const back = await getHealth(svc)

  expect(down.code).toBe(503)
  expect(findCheck(down, 'storage')).toEqual({ name: 'storage', status: 'error', message: expect.any(String) })
  expect(back.code).toBe(200)
  expect(await readdir(join(svc.folder, 'cache'))).toEqual([])
})

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

test('GET /health answers 503 while the disk is full or read-only', async () => {
  await using svc = await startApp({ HEALTH_DEEP_EVERY: '1' })
  const folder = join(svc.folder, 'files')
  const storage = async () => {
    const report = await getHealth(svc)
    return [report.code, findCheck(report, 'storage')?.status]
  }

  expect([await storage(), await readdir(folder)]).toEqual([[200, 'ok'], []])
  // Any write there fails with a full disk.
  await symlink('/dev/full', join(folder, 'health-check'))
  expect(await storage()).toEqual([503, 'error'])
  expect(svc.log.some((line) => line.includes('ENOSPC'))).toBe(true)
  expect([await storage(), await readdir(folder)]).toEqual([[200, 'ok'], []])

  await rm(folder, { recursive: true })
  // Even root cannot write there.
  await symlink('/sys/kernel', folder)
  expect(await storage()).toEqual([503, 'error'])
  await rm(folder)
  expect(await storage()).toEqual([200, 'ok'])
})

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { TestProject } from 'vitest/node'
import { buildIfChanged } from '../../facades/web/app-build.ts'
import { connect } from '../../server/database/database.ts'
import { startCluster } from '../../server/database/embedded-postgres.ts'
import { migrate } from '../../server/database/migrate.ts'
import { DatabaseJobQueue } from '../../server/stores/job-queue.ts'
import { findFreePort } from './free-port.ts'
import { createSilentLog } from './log.ts'
import { isMissing, missingPartsNote } from './parts/installed.ts'
import { startPostgres } from './parts/postgres.ts'
import { openClient, queryRows } from './postgres-client.ts'
import { openRunFolder } from './run-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL server of this run, at its maintenance database. */
    postgresUrl: string
    /** The Redis of this run; undefined where the machine has none. */
    redisUrl: string | undefined
    /** A folder of this run, for what one test file makes and others use as well. */
    runFolder: string
  }
}

export const TEMPLATE = 'svc_template'

/** Brings up what all tests share: one PostgreSQL with a migrated template, a Redis, and the built front end. */
export async function setup({ provide }: TestProject) {
  const run = await openRunFolder('svc-test-')
  const folder = run.path
  // Built at the start, so that no test of a page waits for it.
  const frontEndBuild = buildIfChanged()
  const cluster = await startDatabase(folder)
  await makeTemplate(cluster.url)
  const redis = await startRedis(folder)
  await frontEndBuild
  provide('postgresUrl', cluster.url)
  provide('redisUrl', redis?.url)
  provide('runFolder', folder)
  return async () => {
    redis?.process.kill('SIGKILL')
    await cluster[Symbol.asyncDispose]()
    await run[Symbol.asyncDispose]()
    const note = missingPartsNote()
    if (note) process.stdout.write(`\n${note}\n`)
  }
}

/** The PostgreSQL from npm, or, where `TEST_POSTGRES` is `debian`, the one of this machine. */
async function startDatabase(folder: string): Promise<AsyncDisposable & { url: string }> {
  if (process.env['TEST_POSTGRES'] === 'debian') {
    // A random password, which production does not take for a placeholder.
    const password = randomBytes(12).toString('hex')
    const server = await startPostgres('svc', password, 'svc')
    return {
      url: `postgresql://svc:${password}@${server.address}/postgres`,
      [Symbol.asyncDispose]: server[Symbol.asyncDispose],
    }
  }
  const cluster = await startCluster(join(folder, 'postgres'), ['-c', 'fsync=off', '-c', 'full_page_writes=off'])
  await reduceHashRounds(cluster.url)
  return { url: cluster.url, [Symbol.asyncDispose]: () => cluster.stop('fast') }
}

/** Hashes the password with one round in place of 4,096, as a run opens some ten thousand connections. PostgreSQL 15 cannot. */
async function reduceHashRounds(url: string): Promise<void> {
  const { username, password } = new URL(url)
  await using client = await openClient(url)
  await client.query('set scram_iterations = 1')
  await client.query(`alter role ${username} password '${password}'`)
}

async function makeTemplate(url: string): Promise<void> {
  await queryRows(url, `create database ${TEMPLATE}`)
  const templateUrl = url.replace(/\/postgres$/, `/${TEMPLATE}`)
  const database = await connect({ url: templateUrl, poolSize: 2 })
  await migrate(database, templateUrl, { name: 'svc', username: 'svc' })
  const jobs = new DatabaseJobQueue({ pool: database.pool, log: createSilentLog() })
  await jobs.prepare()
  await jobs.close()
  await database.close()
}

async function startRedis(folder: string): Promise<{ url: string; process: ChildProcess } | undefined> {
  if (isMissing('redis')) return undefined
  const port = await findFreePort()
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
  const server = spawn(process.env['TEST_REDIS'] ?? 'redis-server', args, { stdio: 'ignore' })
  await once(server, 'spawn')
  const url = `redis://127.0.0.1:${port}`
  await waitForRedis(url)
  return { url, process: server }
}

async function waitForRedis(url: string): Promise<void> {
  const redis = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 600 })
  redis.on('error', () => pause(10))
  await redis.ping()
  redis.disconnect()
}

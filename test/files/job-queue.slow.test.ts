import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { JobHandlers } from '../../routers/ports/job-queue.ts'
import { connect } from '../../server/database/database.ts'
import { DatabaseJobQueue } from '../../server/stores/job-queue.ts'
import { cloneDatabase, createEmptyDatabase, runAdminStatement } from '../kit/database.ts'
import { createSilentLog } from '../kit/log.ts'

const log = createSilentLog()
const SOON = { timeout: 60_000, interval: 20 }

/** Starts a replica that records the jobs that it completed and those that it gave up. */
async function replica(url: string, run: JobHandlers['extract-text']['run'] = async () => {}, pollingInterval = 2) {
  const database = await connect({ url, poolSize: 4 })
  const limits = { heartbeat: 10, retryLimit: 1, retryDelay: 0, pollingInterval }
  const queue = new DatabaseJobQueue({ pool: database.pool, log, ...limits })
  const done: number[] = []
  const givenUp: number[] = []
  const handlers: JobHandlers = {
    'extract-text': {
      run: async (input, signal) => {
        await run(input, signal)
        done.push(input.attachmentId)
      },
      giveUp: async ({ attachmentId }) => givenUp.push(attachmentId),
    },
    'read-knowledge': { run: async () => {}, giveUp: async () => {} },
    'embed-knowledge': { run: async () => {}, giveUp: async () => {} },
    'export-person': { run: async () => {}, giveUp: async () => {} },
    'revoke-accounts': { run: async () => {}, giveUp: async () => {} },
  }
  return {
    done,
    givenUp,
    work: () =>
      queue.work(handlers, {
        'extract-text': 2,
        'read-knowledge': 1,
        'embed-knowledge': 1,
        'export-person': 1,
        'revoke-accounts': 1,
      }),
    enqueue: (ids: readonly number[], end: () => void = () => {}) =>
      database.em.fork().transactional(async (em) => {
        for (const attachmentId of ids) await queue.enqueue(em, 'extract-text', { input: { attachmentId } })
        end()
      }),
    enqueueLost: (ids: readonly number[]) =>
      database.em.fork().transactional((em) =>
        queue.enqueueLost(
          em,
          'extract-text',
          ids.map((attachmentId) => ({ attachmentId })),
        ),
      ),
    async [Symbol.asyncDispose]() {
      await queue.close()
      await database.close()
    },
  }
}

/** Creates a database role that owns nothing. */
async function ordinaryRole() {
  const name = `svc_role_${randomUUID().replaceAll('-', '')}`
  await runAdminStatement(`create role ${name} login password 'secret'`)
  return { name, [Symbol.asyncDispose]: () => runAdminStatement(`drop role ${name}`) }
}

// These run concurrently, as one of them waits until a replica is considered dead.
describe.concurrent('the job queue', () => {
  test('a job of a transaction that is rolled back is never carried out', async () => {
    await using database = await cloneDatabase()
    await using worker = await replica(database.url)
    await worker.work()
    const rollBack = () => {
      throw new Error('no')
    }
    await expect(worker.enqueue([1], rollBack)).rejects.toThrow('no')
    await worker.enqueue([2])
    await vi.waitFor(() => expect(worker.done).toEqual([2]), SOON)
  })

  test('a job is carried out once, by one of several replicas', async () => {
    await using database = await cloneDatabase()
    await using one = await replica(database.url)
    await using other = await replica(database.url)
    const ids = Array.from({ length: 12 }, (_, index) => index)
    await one.enqueue(ids)
    await Promise.all([one.work(), other.work()])
    await vi.waitFor(() => expect([...one.done, ...other.done].toSorted((a, b) => a - b)).toEqual(ids), SOON)
  })

  test('a worker that has ended a job looks for the next without polling', async () => {
    await using database = await cloneDatabase()
    await using worker = await replica(database.url, undefined, 3600)
    await worker.enqueue([1, 2, 3, 4, 5])
    await worker.work()
    await vi.waitFor(() => expect(worker.done.toSorted()).toEqual([1, 2, 3, 4, 5]), SOON)
  })

  test('a new job wakes each worker that has none', async () => {
    await using database = await cloneDatabase()
    const running = Promise.withResolvers<void>()
    const begun: number[] = []
    const waitForBoth = async ({ attachmentId }: { attachmentId: number }) => {
      begun.push(attachmentId)
      if (begun.length === 2) running.resolve()
      await running.promise
    }
    await using worker = await replica(database.url, waitForBoth, 3600)
    await worker.work()
    await worker.enqueue([1])
    await vi.waitFor(() => expect(begun).toEqual([1]), SOON)
    await worker.enqueue([2])
    await vi.waitFor(() => expect(worker.done.toSorted()).toEqual([1, 2]), SOON)
  })

  test('only inputs without a waiting job are planned again', async () => {
    await using database = await cloneDatabase()
    await using worker = await replica(database.url)
    await worker.enqueue([1, 2])
    expect(await worker.enqueueLost([1, 2, 3])).toBe(1)
    expect(await worker.enqueueLost([1, 2, 3])).toBe(0)
    await worker.work()
    await vi.waitFor(() => expect(worker.done.toSorted()).toEqual([1, 2, 3]), SOON)
    await vi.waitFor(async () => expect(await worker.enqueueLost([3])).toBe(1), SOON)
  })

  test('a job that fails is tried again, and given up at last', async () => {
    await using database = await cloneDatabase()
    let tries = 0
    await using worker = await replica(database.url, async () => {
      tries += 1
      throw new Error('a secret of the file')
    })
    await worker.work()
    await worker.enqueue([7])
    await vi.waitFor(() => expect(worker.givenUp).toEqual([7]), SOON)
    expect(tries).toBe(2)
    const { pool, close } = await connect({ url: database.url })
    expect(JSON.stringify((await pool.query('select * from svc_jobs.job')).rows)).not.toContain('secret')
    await close()
  })

  test('a replica that stops lets go of its job, which another then carries out', async () => {
    await using database = await cloneDatabase()
    const started = Promise.withResolvers<void>()
    const stopping = await replica(database.url, async (_, signal) => {
      started.resolve()
      await once(signal, 'abort')
      signal.throwIfAborted()
    })
    await stopping.work()
    await stopping.enqueue([3])
    await started.promise
    await stopping[Symbol.asyncDispose]()
    await using other = await replica(database.url)
    await other.work()
    await vi.waitFor(() => expect(other.done).toEqual([3]), SOON)
  })

  test('a job of a replica that is killed is carried out by another', async () => {
    await using database = await cloneDatabase()
    const killed = fork(join(import.meta.dirname, '../fixtures/hanging-worker.ts'), [database.url])
    await once(killed, 'message')
    await using other = await replica(database.url)
    await other.enqueue([5])
    await once(killed, 'message')
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    await other.work()
    await vi.waitFor(() => expect(other.done).toEqual([5]), { timeout: 60_000, interval: 50 })
  })

  test('an ordinary role creates the tables of jobs, or learns which right is missing', async () => {
    await using role = await ordinaryRole()
    await using database = await createEmptyDatabase()
    const url = Object.assign(new URL(database.url), { username: role.name, password: 'secret' })
    await using worker = await replica(url.href)
    await expect(worker.work()).rejects.toThrow('permission denied for database')
    await runAdminStatement(`grant create on database ${database.name} to ${role.name}`)
    await worker.work()
    await worker.enqueue([1])
    await vi.waitFor(() => expect(worker.done).toEqual([1]), SOON)
  })
})

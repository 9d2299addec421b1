import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { lock } from 'proper-lockfile'
import { expect, test, vi } from 'vitest'
import { locks } from '../../entities/sql/locks.ts'
import manifest from '../../package.json' with { type: 'json' }
import { findRunningCluster } from '../../server/database/embedded-postgres.ts'
import {
  answers,
  beginStream,
  buildChunk,
  buildCompletion,
  buildQuestion,
  sendJson,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { cloneDatabase } from '../kit/database.ts'
import { waitForLocks } from '../kit/locks.ts'
import { openClient, queryRows } from '../kit/postgres-client.ts'
import { fetchAnswer, readTokens, SLOW } from '../kit/service-client.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

/** Starts a service with an open request, whose provider waits for `release`. */
async function busy(settings: Record<string, string> = {}, command?: string[]) {
  await using stack = new AsyncDisposableStack()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const provider = stack.use(
    await startProvider(async (_, response) => {
      await released
      if (!response.destroyed) sendJson(response, buildCompletion('Good day.'))
    }),
  )
  stack.defer(() => release())
  const config = stack.use(await writeConfig(provider.url))
  const folder = stack.use(await createDataFolder())
  const service = stack.use(
    startProcess({ DATA_DIR: folder.path, PORT: '0', AI_CONFIG: config.file, ...settings }, command),
  )
  const url = await service.ready()
  const [token = ''] = readTokens(service.output.out)
  const answer = fetchAnswer(url, token, 'mock-1')
  await vi.waitFor(() => expect(provider.requests).toHaveLength(1), SLOW)
  const parts = stack.move()
  return { service, folder, provider, release, url, token, answer, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

const readiness = (url: string) =>
  fetch(`${url}/health/ready`).then(async (response) => [response.status, await response.json()] as const)

test.for(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'a stop by %s finishes open requests, accepts no new ones and exits 0',
  async (signal) => {
    await using svc = await busy()
    expect(await readiness(svc.url)).toEqual([200, { status: 'ready' }])

    svc.service.kill(signal)
    await vi.waitFor(async () => expect(await readiness(svc.url)).toEqual([503, { status: 'draining' }]), SLOW)
    // An idle connection may close just as it is used again.
    const late = await vi.waitFor(async () => {
      const refused = await fetchAnswer(svc.url, svc.token, 'mock-1')
      expect(refused.status).toBe(503)
      return refused
    }, SLOW)
    svc.service.kill(signal)
    svc.service.kill('SIGTERM')
    svc.release()

    expect(late.body).toMatchObject({ success: false, code: 'unavailable' })
    expect(await svc.answer).toEqual({ status: 200, body: { success: true, content: { text: 'Good day.' } } })
    expect(await svc.service.ended).toBe(0)
    expect(svc.service.output.err).toBe('')
    expect(await svc.folder.postgres()).toBeUndefined()
  },
)

test('a stop serves requests during DRAIN_DELAY, then closes idle connections', async () => {
  await using database = await cloneDatabase()
  await using svc = await busy({ DRAIN_DELAY: '10s', DATABASE_URL: database.url })
  const idle = connect(Number(new URL(svc.url).port), '127.0.0.1')
  const idleEnded = once(idle, 'end')
  idle.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [before] = await once(idle, 'data')
  const headers = { authorization: `Bearer ${svc.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify(buildQuestion('Hello', 'mock-1'))
  const begunBefore = fetch(`${svc.url}/api/ai-req`, { method: 'POST', headers, body })
  await vi.waitFor(() => expect(svc.provider.requests).toHaveLength(2), SLOW)

  svc.service.kill('SIGTERM')
  await vi.waitFor(async () => expect((await readiness(svc.url))[0]).toBe(503), SLOW)
  const during = [await fetch(`${svc.url}/health/live`), await fetch(`${svc.url}/login`)]
  const served = fetchAnswer(svc.url, svc.token, 'mock-1')
  await vi.waitFor(() => expect(svc.provider.requests).toHaveLength(3), SLOW)
  idle.resume()
  await idleEnded
  await vi.waitFor(async () => expect((await fetchAnswer(svc.url, svc.token, 'mock-1')).status).toBe(503), SLOW)
  svc.release()

  expect(String(before)).toMatch(/^connection: keep-alive/im)
  expect(during.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([
    [200, 'close'],
    [200, 'close'],
  ])
  const begun = await begunBefore
  expect([begun.status, begun.headers.get('connection')]).toEqual([200, 'close'])
  expect([(await served).status, (await svc.answer).status]).toEqual([200, 200])
  expect(await svc.service.ended).toBe(0)
})

test('a stop does not wait for a periodic task that never ends', async () => {
  await using database = await cloneDatabase()
  await using folder = await createDataFolder()
  await using service = startProcess({
    DATA_DIR: folder.path,
    DATABASE_URL: database.url,
    PORT: '0',
    SESSION_LIFETIME: '1s',
  })
  await service.ready()
  await using client = await openClient(database.url)
  // The deletion of expired sessions, which runs each second, waits for the lock.
  await client.query('begin; lock table sessions')
  await waitForLocks(database.url)

  service.kill('SIGTERM')

  expect(await service.ended).toBe(0)
})

test('a stop refuses new work on every surface with a well-formed 503', async () => {
  await using database = await cloneDatabase()
  await using svc = await busy({ DATABASE_URL: database.url })
  svc.service.kill('SIGTERM')
  await vi.waitFor(async () => expect((await readiness(svc.url))[0]).toBe(503), SLOW)
  const paths = [
    '/api/user',
    '/req/profile/fetch-tokens',
    '/nothing',
    '/trpc/users.me',
    '/api/svc/v1/users',
    '/api/svc/v1/no',
  ]

  const refused = await Promise.all(paths.map((path) => fetch(svc.url + path)))
  const bodies = await Promise.all(refused.map((answer) => answer.json()))
  svc.release()

  const own = { success: false, requestId: expect.any(String) }
  expect(refused.map(({ status }) => status)).toEqual(paths.map(() => 503))
  expect(refused.map(({ headers }) => [headers.get('retry-after'), headers.get('connection')])).toEqual(
    paths.map(() => ['5', 'close']),
  )
  expect(bodies).toMatchObject([
    { ...own, code: 'unavailable' },
    { success: false },
    { ...own, code: 'unavailable' },
    { error: { data: { httpStatus: 503 } } },
    { errors: [{ status: '503', code: 'unavailable' }] },
    { errors: [{ status: '503', code: 'unavailable' }] },
  ])
})

test('a stop by Ctrl-C finishes open requests with a database of its own', async () => {
  await using svc = await busy()

  svc.service.signalAll('SIGINT')
  await vi.waitFor(async () => expect((await readiness(svc.url))[0]).toBe(503), SLOW)
  expect(await svc.folder.postgres()).toBeDefined()
  svc.release()

  expect((await svc.answer).status).toBe(200)
  expect(await svc.service.ended).toBe(0)
  expect(await svc.folder.postgres()).toBeUndefined()
})

test('a stop by a closed terminal finishes open requests', async () => {
  const command = `echo "process $$"; exec ${manifest.scripts.start}`
  await using terminal = await busy({}, ['script', '--quiet', '--flush', '--command', command, '/dev/null'])
  const pid = Number(terminal.service.output.out.match(/process (\d+)/)?.[1])
  expect(existsSync(`/proc/${pid}`)).toBe(true)

  terminal.service.kill('SIGKILL')
  await vi.waitFor(async () => expect((await readiness(terminal.url))[0]).toBe(503), SLOW)
  terminal.release()

  expect((await terminal.answer).status).toBe(200)
  await vi.waitFor(() => expect(existsSync(`/proc/${pid}`)).toBe(false), SLOW)
  expect(await terminal.folder.postgres()).toBeUndefined()
})

test('a stop cuts requests after SHUTDOWN_TIMEOUT, exits 0 and keeps their record', async () => {
  await using database = await cloneDatabase()
  await using svc = await busy({ SHUTDOWN_TIMEOUT: '500ms', DATABASE_URL: database.url })

  svc.service.kill('SIGTERM')

  expect(await svc.service.ended).toBe(0)
  expect((await svc.answer).status).toBe(0)
  expect(await queryRows(database.url, 'select outcome from usage_records')).toEqual([{ outcome: 'aborted' }])
})

test('a stop cuts a stream, too', async () => {
  await using database = await cloneDatabase()
  await using folder = await createDataFolder()
  await using provider = await startProvider((_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Good ' } }))
  })
  await using config = await writeConfig(provider.url)
  const settings = { DATA_DIR: folder.path, DATABASE_URL: database.url, PORT: '0', SHUTDOWN_TIMEOUT: '500ms' }
  await using service = startProcess({ ...settings, AI_CONFIG: config.file })
  const url = await service.ready()
  const headers = {
    authorization: `Bearer ${readTokens(service.output.out)[0]}`,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  }
  const stream = await fetch(`${url}/api/ai-req`, { method: 'POST', headers, body: JSON.stringify(buildQuestion()) })
  const text = stream.text().catch(() => 'cut')

  expect(await service.stop()).toBe(0)
  expect(await text).not.toContain('event: done')
  expect(await queryRows(database.url, 'select outcome from usage_records')).toEqual([{ outcome: 'aborted' }])
})

test('a stop is not held up by a database that does not let go', async () => {
  await using database = await cloneDatabase()
  await using folder = await createDataFolder()
  const settings = { DATA_DIR: folder.path, DATABASE_URL: database.url, PORT: '0', SHUTDOWN_TIMEOUT: '200ms' }
  await using service = startProcess(settings)
  const url = await service.ready()
  await using locker = await openClient(database.url)
  await locker.query('begin; lock table users, access_tokens, usage_records in access exclusive mode')

  const answer = fetchAnswer(url, readTokens(service.output.out)[0] ?? '')
  await waitForLocks(database.url)

  expect(await service.stop()).toBe(0)
  expect((await answer).status).toBe(0)
})

test('a stop that comes during the start lets it finish, and leaves nothing behind', async () => {
  await using folder = await createDataFolder()
  await using service = startProcess({ DATA_DIR: folder.path, PORT: '0' })
  await vi.waitFor(async () => expect(await folder.postgres()).toBeDefined(), SLOW)

  expect(await service.stop()).toBe(0)
  expect(await folder.postgres()).toBeUndefined()
})

test('a stop of `npm start` reaches the service', async () => {
  await using folder = await createDataFolder()
  await using npm = startProcess({ DATA_DIR: folder.path, PORT: '0' }, ['npm', 'start'])
  const url = await npm.ready()

  await npm.stop()

  await vi.waitFor(async () => expect(await folder.postgres()).toBeUndefined(), SLOW)
  expect((await fetchAnswer(url, 'x')).status).toBe(0)
  expect(npm.output.out).toContain('"msg":"stopping"')
})

test.for([
  ['SIGINT', 130],
  ['SIGHUP', 129],
] as const)('a command that %s ends stops the database that it started', async ([signal, code]) => {
  await using folder = await createDataFolder()
  await using command = startProcess({ DATA_DIR: folder.path }, [process.execPath, 'cli/svc.ts', 'migrate'])
  await vi.waitFor(async () => expect(await findRunningCluster(`${folder.path}/postgres`)).toBeDefined(), SLOW)

  command.signalAll(signal)

  expect(await command.ended).toBe(code)
  expect(await folder.postgres()).toBeUndefined()
})

test('a command that waits for the data folder can be ended', async () => {
  await using folder = await createDataFolder()
  const unlock = await lock(folder.path, { lockfilePath: `${folder.path}/postgres.lock`, update: 1000 })
  await using command = startProcess({ DATA_DIR: folder.path }, [process.execPath, 'cli/svc.ts', 'migrate'])
  await vi.waitFor(() => expect(command.output.err).toContain('Another process holds'), SLOW)

  command.signalAll('SIGTERM')

  // Otherwise the command waits for half a minute.
  expect(await Promise.race([command.ended, pause(20_000, 'still waiting', { ref: false })])).toBe(143)
  expect(existsSync(`${folder.path}/postgres/data`)).toBe(false)
  await unlock()
})

test('a command that waits at its end is ended by a second signal', async () => {
  await using folder = await createDataFolder()
  await using command = startProcess({ DATA_DIR: folder.path }, [process.execPath, 'cli/svc.ts', 'migrate'])
  const url = await vi.waitUntil(() => findRunningCluster(`${folder.path}/postgres`), SLOW)
  await using sharer = await openClient(url)
  await sharer.query('select pg_advisory_lock_shared($1)', [locks.useEmbeddedDatabase])

  // Signals the command alone, as `pg_ctl`, which may still wait for the start, would end at once.
  command.kill('SIGINT')
  // After one signal the command waits for half a minute.
  await vi.waitFor(
    () => {
      command.kill('SIGINT')
      expect(command.child.exitCode).toBe(130)
    },
    { timeout: 60_000, interval: 20 },
  )
})

test('after SIGKILL the next start has all acknowledged writes', async () => {
  await using folder = await createDataFolder()
  await using provider = await startProvider(answers('Good day.'))
  await using config = await writeConfig(provider.url)
  const settings = { DATA_DIR: folder.path, PORT: '0', AI_CONFIG: config.file }
  await using killed = startProcess(settings)
  const before = await killed.ready()
  const [token = ''] = readTokens(killed.output.out)
  expect((await fetchAnswer(before, token, 'mock-1')).status).toBe(200)
  const orphan = await folder.postgres()
  killed.kill('SIGKILL')
  await killed.ended
  expect(await folder.postgres()).toBe(orphan)

  await using service = startProcess(settings)
  const url = await service.ready()

  expect((await fetchAnswer(url, token, 'mock-1')).status).toBe(200)
  expect(await folder.postgres()).not.toBe(orphan)
  expect(await service.stop()).toBe(0)
  expect(await folder.postgres()).toBeUndefined()
})

test('a stop of machine and database at once is recovered from, too', async () => {
  await using folder = await createDataFolder()
  const settings = { DATA_DIR: folder.path, PORT: '0' }
  await using killed = startProcess(settings)
  await killed.ready()
  const [token = ''] = readTokens(killed.output.out)
  const postgres = (await folder.postgres()) ?? 0
  killed.kill('SIGKILL')
  process.kill(postgres, 'SIGKILL')
  await killed.ended

  await using service = startProcess(settings)

  expect((await fetchAnswer(await service.ready(), token)).status).toBe(200)
})

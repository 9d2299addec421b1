import { expect, test, vi } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { waitForLocks } from '../kit/locks.ts'
import { openClient } from '../kit/postgres-client.ts'

const SLOW = { timeout: 60_000, interval: 50 }

const addExpired = ({ rows }: TestApp) =>
  rows(`insert into sessions (hash, method, signed_in_at, renewed_at, csrf_token, subject)
        values ('old', 'password', now(), now() - interval '1 day', '', '{"username": "ada"}')`)

const failures = ({ log }: TestApp) =>
  log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'a periodic task failed')

test('a failed periodic task is logged with its cause, and retried a period later', async () => {
  await using svc = await startApp({ SESSION_LIFETIME: '1s' }, { runsTasks: true })
  await addExpired(svc)
  await svc.rows('alter table sessions rename to hidden')

  await vi.waitFor(() => expect(failures(svc)).not.toEqual([]), SLOW)
  await svc.rows('alter table hidden rename to sessions')

  await vi.waitFor(async () => expect(await svc.rows('select hash from sessions')).toEqual([]), SLOW)
  expect(failures(svc)[0]).toMatchObject({ task: 'expired sessions', error: { code: '42P01' } })
})

test('a stop waits for the periodic task that is running', async () => {
  await using svc = await startApp({ SESSION_LIFETIME: '1s' }, { runsTasks: true })
  await addExpired(svc)
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin; lock table sessions')
  await waitForLocks(svc.env.DATABASE_URL)

  const stopped = svc.stop()
  await vi.waitFor(() => expect(fetch(svc.url)).rejects.toThrow(), SLOW)
  await client.query('commit')
  await stopped

  expect(failures(svc)).toEqual([])
  expect((await client.query('select hash from sessions')).rows).toEqual([])
})

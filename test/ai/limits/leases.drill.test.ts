import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { test, vi } from 'vitest'
import { limited, requestLimit, sendQuestion } from '../../kit/ai/limited-service.ts'
import { answers, buildQuestion } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { createDataFolder, startProcess } from '../../kit/service-process.ts'

vi.setConfig({ testTimeout: 3 * 60_000 })

const env = { APP_KEY: randomBytes(32).toString('base64') }

/** Starts a service under a limit whose provider answers when the test says so. */
async function startWaiting() {
  const world = await limited([requestLimit], { env })
  const go = Promise.withResolvers<void>()
  world.provider.behave = async (request, response) => {
    await go.promise
    await answers('Good day.')(request, response)
  }
  // A replica without the configuration would remove the models.
  const settings = { ...env, DATABASE_URL: world.svc.env.DATABASE_URL as string, AI_CONFIG: world.config.file }
  return Object.assign(world, { go: go.resolve, settings })
}

const readRecords = async ({ rows, services }: TestApp) => {
  await services.ai.usageLedger.flush()
  return rows('select outcome, input_tokens as input, output_tokens as output from usage_records')
}

test.concurrent('a call that outlasts its lease in silence is not settled by another replica', async ({ expect }) => {
  await using world = await startWaiting()
  await using other = await startApp(world.settings)
  const { token } = await world.svc.user()
  const pendingCall = sendQuestion(world.svc, token)
  await vi.waitFor(() => expect(world.provider.requests).toHaveLength(1), { timeout: 60_000 })

  // A lease of 30 seconds would have expired, and the other replica would have checked twice since.
  await pause(52_000)
  const holds = await other.rows('select provider from usage_holds')
  const before = await readRecords(other)
  world.go()

  expect([holds, before]).toEqual([[{ provider: 'local' }], []])
  expect((await pendingCall).status).toBe(200)
  expect(await readRecords(world.svc)).toEqual([{ outcome: 'completed', input: 7, output: 3 }])
})

test.concurrent('a call of a killed replica is settled by another one within a minute', async ({ expect }) => {
  await using world = await startWaiting()
  const { token } = await world.svc.user()
  await using folder = await createDataFolder()
  await using dying = startProcess({ ...world.settings, DATA_DIR: folder.path, PORT: '0', NODE_ENV: 'development' })
  const url = await dying.ready()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const pendingCall = fetch(`${url}/api/ai-req`, { method: 'POST', headers, body: JSON.stringify(buildQuestion()) })
  const ended = pendingCall.catch(() => 'broken')
  await vi.waitFor(() => expect(world.provider.requests).toHaveLength(1), { timeout: 60_000 })

  dying.kill('SIGKILL')
  await dying.ended

  expect(await ended).toBe('broken')
  const lost = [{ outcome: 'lost', input: 2, output: 0 }]
  await vi.waitFor(async () => expect(await readRecords(world.svc)).toEqual(lost), { timeout: 60_000, interval: 500 })
  expect(await world.svc.rows('select id from usage_holds')).toEqual([])
})

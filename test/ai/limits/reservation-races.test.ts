// @module-tag debian

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  readLimitState,
  requestLimit,
  sendQuestion as sendQuestionAs,
  shareLimitedService,
} from '../../kit/ai/limited-service.ts'
import { buildQuestion, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'
import { waitForLocks } from '../../kit/locks.ts'
import { openClient } from '../../kit/postgres-client.ts'

const limited = shareLimitedService()

test('a process without cached counters does not deadlock with one that has them', async () => {
  await using provider = await startProvider()
  await using config = await writeConfig(provider.url)
  const settings = { AI_CONFIG: config.file, APP_KEY: randomBytes(32).toString('base64') }
  await using svc = await startApp(settings)
  const { token } = await svc.user()
  const sendQuestion = async (app = svc) => {
    const { status } = await app.send('POST', '/api/ai-req', { token, body: buildQuestion() })
    await app.services.ai.usageLedger.flush()
    return status
  }
  const limit = { cap: 100, unit: 'requests', per: 'month' }
  await svc.host.limits.set({ ...limit, name: 'first', for: 'user' } as never)
  await svc.host.limits.set({ ...limit, name: 'second', for: 'user' } as never)
  await sendQuestion()
  // The first limit's counter becomes a newer row than the second's, as when a new period begins.
  await svc.rows('delete from usage_counters where limit_id = (select min(id) from usage_limits)')
  await sendQuestion()
  const [second, first] = await svc.rows<{ id: string }>('select id from usage_counters order by id')
  await svc.host.limits.set({ ...limit, name: 'third', for: 'token' } as never)
  await using other = await startApp({ ...settings, DATABASE_URL: svc.env.DATABASE_URL as string })

  await using client = await openClient(svc.env.DATABASE_URL)
  const lock = (id = '') => client.query('select from usage_counters where id = $1 for update', [id])
  await client.query('begin')
  await lock(second?.id)
  const pending = sendQuestion(other)
  await waitForLocks(svc.env.DATABASE_URL)
  await lock(first?.id)
  await client.query('commit')

  expect(await pending).toBe(200)
})

test('of concurrent calls those that fit are answered, whatever others take', async () => {
  await using world = await limited([{ ...requestLimit, name: 'each', for: 'user', unit: 'tokens', cap: 250 }], {
    env: { LIMITS_MAX_OUTPUT_TOKENS: '100' },
  })
  const { svc } = world
  const [one, other] = [await svc.user(), await svc.user()]
  const long = 'long '.repeat(400)

  const answers = await Promise.all([
    sendQuestionAs(svc, one.token, long),
    sendQuestionAs(svc, one.token),
    sendQuestionAs(svc, other.token),
    sendQuestionAs(svc, other.token, long),
    sendQuestionAs(svc, one.token),
    sendQuestionAs(svc, one.token),
  ])

  const statuses = answers.map(({ status }) => status)
  const [first, , third, fourth] = statuses
  expect([first, third, fourth]).toEqual([429, 200, 429])
  // Two of these calls fit at once.
  expect([1, 4, 5].filter((at) => statuses[at] === 200).length).toBeGreaterThanOrEqual(2)
  expect(await readLimitState(svc, 'each')).toMatchObject({ held: 0 })
})

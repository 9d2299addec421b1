// @module-tag debian

import { describe, expect, test, vi } from 'vitest'
import { buildCompletion, buildQuestion, replies, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { runAdminStatement } from '../../kit/database.ts'
import { SLOW } from '../../kit/service-client.ts'

const sendQuestion = (svc: TestApp, token: string) => svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })

describe('a database that is gone', () => {
  const nameOf = (svc: TestApp) => new URL(svc.env.DATABASE_URL ?? '').pathname.slice(1)
  const cut = async (svc: TestApp) => {
    await runAdminStatement(`alter database ${nameOf(svc)} with allow_connections false`)
    await runAdminStatement(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameOf(svc)}'`)
  }
  const restore = (svc: TestApp) => runAdminStatement(`alter database ${nameOf(svc)} with allow_connections true`)

  test('a database that is gone during a request costs neither answer nor record', async () => {
    const waiting = Promise.withResolvers<void>()
    await using provider = await startProvider(async (request, response) => {
      await waiting.promise
      return replies(JSON.stringify(buildCompletion('Here all the same.')))(request, response)
    })
    await using config = await writeConfig(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    const pendingCall = sendQuestion(svc, token)
    await vi.waitFor(() => expect(provider.requests).toHaveLength(1), SLOW)

    await cut(svc)
    waiting.resolve()
    const response = await pendingCall

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ success: true, content: { text: 'Here all the same.' } })
    await vi.waitFor(() => expect(svc.log.join('')).toContain('a batch could not be written'), SLOW)
    await restore(svc)
    await vi.waitFor(
      async () => expect(await svc.rows('select outcome from usage_records')).toEqual([{ outcome: 'completed' }]),
      SLOW,
    )
  })

  test('a database that is gone before a request is a 503 until recovery', async () => {
    await using provider = await startProvider()
    await using config = await writeConfig(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    await cut(svc)

    const response = await sendQuestion(svc, token)

    expect(response.status).toBe(503)
    const text = await response.text()
    expect(JSON.parse(text)).toEqual({
      success: false,
      message: 'The service is not available. Try again later.',
      code: 'unavailable',
      requestId: response.headers.get('x-request-id'),
    })
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(503)
    expect((await fetch(`${svc.url}/health/live`)).status).toBe(200)

    await restore(svc)
    await vi.waitFor(async () => expect((await sendQuestion(svc, token)).status).toBe(200), SLOW)
  })

  test('a database whose connections were all cut is used again at once', async () => {
    await using provider = await startProvider()
    await using config = await writeConfig(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    await Promise.all(Array.from({ length: 10 }, () => sendQuestion(svc, token)))

    await runAdminStatement(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameOf(svc)}'`)

    await vi.waitFor(async () => expect((await sendQuestion(svc, token)).status).toBe(200), SLOW)
    await svc.services.ai.usageLedger.flush()
    await vi.waitFor(
      async () => expect((await svc.rows('select id from usage_records')).length).toBe(provider.requests.length),
      SLOW,
    )
  })
})

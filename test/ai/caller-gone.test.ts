import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import {
  type Behaviour,
  beginStream,
  buildChunk,
  buildCompletion,
  buildQuestion,
  neverEnds,
  sendJson,
  stalls,
} from '../kit/ai/provider.ts'
import { readUsageRecords, startWithProvider, streamHeaders } from '../kit/ai/provider-service.ts'
import { SLOW } from '../kit/service-client.ts'
import { shareResource } from '../kit/share-resource.ts'
import { untilRead } from '../kit/until-read.ts'

const app = shareResource(() => startWithProvider(stalls, { circuit: { failures: 100 } }))

describe('a caller who goes away', () => {
  test("a caller who goes away ends the provider's call of a whole answer", async () => {
    await app.answerBy(stalls)
    const controller = new AbortController()
    const pendingCall = app.sendQuestion({}, controller.signal).catch((error: Error) => error.name)
    await vi.waitFor(() => expect(app.upstream.requests).toHaveLength(1), SLOW)

    controller.abort()

    expect(await pendingCall).toBe('AbortError')
    await vi.waitFor(() => expect(app.upstream.requests[0]?.abortedAt).toBeDefined(), SLOW)
    await vi.waitFor(
      async () => expect(await readUsageRecords(app.svc)).toEqual([{ outcome: 'aborted', input: 2, output: 0 }]),
      SLOW,
    )
    // A second call is recorded only after all work of the first one.
    await app.answerBy((_, response) => sendJson(response, buildCompletion('Hello')))
    expect((await app.sendQuestion({})).status).toBe(200)
    await vi.waitFor(
      async () => expect(await readUsageRecords(app.svc)).toMatchObject([{ outcome: 'completed' }]),
      SLOW,
    )
  })

  test('a caller who goes away ends a stream, and pays for what was delivered', async () => {
    await app.answerBy(neverEnds)
    const controller = new AbortController()
    const response = await app.sendQuestion(streamHeaders, controller.signal)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let read = ''
    while (read.split('event: delta').length < 5) read += (await reader?.read())?.value ?? ''

    controller.abort()

    await vi.waitFor(() => expect(app.upstream.requests[0]?.abortedAt).toBeDefined(), SLOW)
    await vi.waitFor(
      async () => expect(await readUsageRecords(app.svc)).toMatchObject([{ outcome: 'aborted', input: 2 }]),
      SLOW,
    )
    const [record] = await readUsageRecords(app.svc)
    expect(record?.output).toBeGreaterThanOrEqual(4)
    expect(record?.output).toBeLessThan(100)
  })

  test("a caller who goes away before a stream's first byte leaves one record", async () => {
    await app.answerBy(stalls)
    const controller = new AbortController()
    const pendingCall = app.sendQuestion(streamHeaders, controller.signal).catch(() => undefined)
    await vi.waitFor(() => expect(app.upstream.requests).toHaveLength(1), SLOW)

    controller.abort()
    await pendingCall

    await vi.waitFor(
      async () => expect(await readUsageRecords(app.svc)).toMatchObject([{ outcome: 'aborted', output: 0 }]),
      SLOW,
    )
  })

  test("a caller who goes away does not pay for an earlier caller's answer", async () => {
    const half = JSON.stringify(buildCompletion('x'.repeat(10_000))).slice(0, 8000)
    const arrived = Promise.withResolvers<void>()
    const halts: Behaviour = async (_, response) => {
      response.writeHead(200).write(half)
      await untilRead(response)
      arrived.resolve()
    }
    await app.answerBy(halts)
    const { token } = await app.svc.user()
    const leave = async (
      as: string,
      headers: Record<string, string> = {},
      when: Promise<void> | undefined = undefined,
    ) => {
      const controller = new AbortController()
      const call = { token: as, headers, body: buildQuestion(), signal: controller.signal }
      const pendingCall = app.svc.send('POST', '/api/ai-req', call).catch(() => undefined)
      await vi.waitFor(() => expect(app.upstream.requests).toHaveLength(1), SLOW)
      await when
      controller.abort()
      await pendingCall
      await vi.waitFor(async () => expect(await readUsageRecords(app.svc)).toHaveLength(1), SLOW)
      return app.takeRecords()
    }

    expect(await leave(app.token, {}, arrived.promise)).toMatchObject([
      { outcome: 'aborted', output: expect.toSatisfy((n) => n > 1000) },
    ])

    for (const headers of [{}, streamHeaders]) {
      await app.answerBy(stalls)
      expect(await leave(token, headers)).toEqual([{ outcome: 'aborted', input: 2, output: 0 }])
    }
  })

  test('a caller whose request cannot take a stream is refused before any reservation', async () => {
    await app.answerBy(stalls)
    const body = { model: 'mock-1', messages: [{ role: 'user', content: { text: 'Hello' } }] }

    const { status } = await app.svc.send('POST', '/trpc/ai.stream', { token: app.token, body })

    expect(status).toBe(415)
    expect(await readUsageRecords(app.svc)).toEqual([])
    expect(await app.svc.rows('select id from usage_holds')).toEqual([])
    expect(app.upstream.requests).toHaveLength(0)
  })

  test('a caller who goes away between two attempts causes no further one', async () => {
    const refusesBriefly: Behaviour = (_, response) => void response.writeHead(503, { 'retry-after': '1' }).end()
    await app.answerBy(refusesBriefly)
    const controller = new AbortController()
    const pendingCall = app.sendQuestion({}, controller.signal).catch(() => undefined)
    await vi.waitFor(() => expect(app.upstream.requests).toHaveLength(1), { ...SLOW, interval: 1 })

    controller.abort()
    await pendingCall

    await vi.waitFor(async () => expect(await readUsageRecords(app.svc)).toMatchObject([{ outcome: 'aborted' }]), SLOW)
    // A later caller waits just as long for the second attempt.
    let tries = 0
    await app.answerBy((request, response) =>
      ++tries === 1 ? refusesBriefly(request, response) : sendJson(response, buildCompletion('Hello')),
    )
    expect((await app.sendQuestion({})).status).toBe(200)
    expect(tries).toBe(2)
  })

  test('a caller who reads slowly and goes away neither fills memory nor blocks', async () => {
    let sent = 0
    const piece = buildChunk({ delta: { content: 'x'.repeat(65_536) } })
    const flood: Behaviour = async (_, response) => {
      beginStream(response)
      const pieces = function* () {
        for (;;) {
          sent += piece.length
          yield piece
        }
      }
      await pipeline(pieces, response).catch(() => undefined)
    }
    const warnings: Error[] = []
    process.on('warning', (warning) => warnings.push(warning))
    await app.answerBy(flood)
    const controller = new AbortController()
    const response = await app.sendQuestion(streamHeaders, controller.signal)
    const reader = response.body?.getReader()
    for (let count = 0; count < 300; count++) await reader?.read()
    // The buffers between provider and caller are full after a while, which takes longer on a busy machine.
    const isHeldUp = async () => {
      const before = sent
      await pause(300)
      return sent === before
    }
    await vi.waitFor(async () => expect(await isHeldUp()).toBe(true), SLOW)
    expect(sent).toBeLessThan(200 * 1024 * 1024)
    expect(warnings.map(({ name }) => name)).not.toContain('MaxListenersExceededWarning')

    controller.abort()

    await vi.waitFor(async () => expect(await readUsageRecords(app.svc)).toMatchObject([{ outcome: 'aborted' }]), SLOW)
    await vi.waitFor(() => expect(app.upstream.requests[0]?.abortedAt).toBeDefined(), SLOW)
  })
})

import { expect, test } from 'vitest'
import { joinDeltas, parseEvents } from '../kit/ai/event-stream.ts'
import { answers, type Behaviour, beginStream, buildChunk, buildQuestion, endStream } from '../kit/ai/provider.ts'
import { readUsageRecords, startWithProvider, streamHeaders } from '../kit/ai/provider-service.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() => startWithProvider(answers('Good day.')))

test('a stream has deltas, then what it took, then the end', async () => {
  await app.answerBy(answers('Good day to you.'))

  const response = await app.sendQuestion(streamHeaders)

  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  const events = parseEvents(await response.text())
  expect(events).toEqual([
    { event: 'delta', data: { text: 'Good ' } },
    { event: 'delta', data: { text: 'day ' } },
    { event: 'delta', data: { text: 'to ' } },
    { event: 'delta', data: { text: 'you.' } },
    {
      event: 'usage',
      data: { inputTokens: 7, outputTokens: 3, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
    },
    { event: 'done', data: {} },
  ])
  expect(app.upstream.requests[0]?.body).toMatchObject({ stream: true })
  expect(await readUsageRecords(app.svc)).toEqual([{ outcome: 'completed', input: 7, output: 3 }])
})

test('a stream carries any text unharmed', async () => {
  const text = 'Zeilen\n\ndata: x\r\nevent: done\u2028 "und" \\ 😀 ü \u0000'
  await app.answerBy(answers(text, [...text]))

  expect(joinDeltas(parseEvents(await (await app.sendQuestion(streamHeaders)).text()))).toBe(text)
})

test('a stream shows that it is alive while the model is silent', async () => {
  const isAlive = Promise.withResolvers<void>()
  const behave: Behaviour = async (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Well' } }))
    await isAlive.promise
    endStream(response)
  }
  await using app = await startWithProvider(behave, {}, { AI_HEARTBEAT: '50ms' })

  let text = ''
  for await (const piece of (await app.sendQuestion(streamHeaders)).body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (text.split('\n').filter((line) => line.startsWith(':')).length > 2) isAlive.resolve()
  }

  expect(parseEvents(text).map(({ event }) => event)).toEqual(['delta', 'usage', 'done'])
})

test('a stream that its provider refuses leaves no timer behind', async () => {
  const refuses: Behaviour = (_, response) => {
    beginStream(response)
    response.end(buildChunk({ delta: {}, finish_reason: 'content_filter' }))
  }
  await app.answerBy(refuses)
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const sendQuestion = async () => (await app.sendQuestion(streamHeaders)).status
  expect(await sendQuestion()).toBe(422)
  const before = timers()

  for (let count = 0; count < 20; count++) expect(await sendQuestion()).toBe(422)

  expect(timers()).toBeLessThan(before + 10)
})

test('a stream counts for itself where the provider does not', async () => {
  const behave: Behaviour = (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'eight letters and more' } }))
    response.write(buildChunk({ delta: {}, finish_reason: 'stop' }))
    response.end('data: [DONE]\n\n')
  }
  await app.answerBy(behave)

  const events = parseEvents(await (await app.sendQuestion(streamHeaders)).text())

  expect(events.find(({ event }) => event === 'usage')?.data).toMatchObject({ inputTokens: 2, outputTokens: 6 })
  expect(await readUsageRecords(app.svc)).toEqual([{ outcome: 'completed', input: 2, output: 6 }])
})

test('a stream of many answers at once mixes nothing up', async () => {
  const echo: Behaviour = (request, response) =>
    answers(`You said ${request.body.messages.at(-1)?.content}`)(request, response)
  await app.answerBy(echo)
  const { token } = await app.svc.user()

  const bodies = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const body = buildQuestion(`number ${index}`)
      const response = await app.svc.send('POST', '/api/ai-req', { token, headers: streamHeaders, body })
      return joinDeltas(parseEvents(await response.text()))
    }),
  )

  expect(bodies).toEqual(Array.from({ length: 20 }, (_, index) => `You said number ${index}`))
  expect(await readUsageRecords(app.svc)).toHaveLength(20)
})

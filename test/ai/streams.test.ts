import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordsOf, startWith, streaming } from '../kit/ai/asked-provider.ts'
import { eventsIn, textOf } from '../kit/ai/event-stream.ts'
import { answers, type Behaviour, beginStream, chunk, endStream, question } from '../kit/ai/provider.ts'

let app: Awaited<ReturnType<typeof startWith>>
beforeAll(async () => {
  app = await startWith(answers('Good day.'))
})
afterAll(() => app[Symbol.asyncDispose]())

test('a stream has deltas, then what it took, then the end', async () => {
  await app.answerBy(answers('Good day to you.'))

  const response = await app.ask(streaming)

  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  const events = eventsIn(await response.text())
  expect(events).toEqual([
    { event: 'delta', data: { text: 'Good ' } },
    { event: 'delta', data: { text: 'day ' } },
    { event: 'delta', data: { text: 'to ' } },
    { event: 'delta', data: { text: 'you.' } },
    { event: 'usage', data: { inputTokens: 7, outputTokens: 3, cachedTokens: 0, reasoningTokens: 0 } },
    { event: 'done', data: {} },
  ])
  expect(app.upstream.asked[0]?.body).toMatchObject({ stream: true })
  expect(await recordsOf(app.svc)).toEqual([{ outcome: 'completed', input: 7, output: 3 }])
})

test('a stream carries any text unharmed', async () => {
  const text = 'Zeilen\n\ndata: x\r\nevent: done\u2028 "und" \\ 😀 ü \u0000'
  await app.answerBy(answers(text, [...text]))

  expect(textOf(eventsIn(await (await app.ask(streaming)).text()))).toBe(text)
})

test('a stream shows that it is alive while the model is silent', async () => {
  const isAlive = Promise.withResolvers<void>()
  const behave: Behaviour = async (_, response) => {
    beginStream(response)
    response.write(chunk({ delta: { content: 'Well' } }))
    await isAlive.promise
    endStream(response)
  }
  await using app = await startWith(behave, {}, { AI_HEARTBEAT: '50ms' })

  let text = ''
  for await (const piece of (await app.ask(streaming)).body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (text.split('\n').filter((line) => line.startsWith(':')).length > 2) isAlive.resolve()
  }

  expect(eventsIn(text).map(({ event }) => event)).toEqual(['delta', 'usage', 'done'])
})

test('a stream that its provider refuses leaves no timer behind', async () => {
  const refuses: Behaviour = (_, response) => {
    beginStream(response)
    response.end(chunk({ delta: {}, finish_reason: 'content_filter' }))
  }
  await app.answerBy(refuses)
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const ask = async () => (await app.ask(streaming)).status
  expect(await ask()).toBe(422)
  const before = timers()

  for (let count = 0; count < 20; count++) expect(await ask()).toBe(422)

  expect(timers()).toBeLessThan(before + 10)
})

test('a stream counts for itself where the provider does not', async () => {
  const behave: Behaviour = (_, response) => {
    beginStream(response)
    response.write(chunk({ delta: { content: 'eight letters and more' } }))
    response.write(chunk({ delta: {}, finish_reason: 'stop' }))
    response.end('data: [DONE]\n\n')
  }
  await app.answerBy(behave)

  const events = eventsIn(await (await app.ask(streaming)).text())

  expect(events.find(({ event }) => event === 'usage')?.data).toMatchObject({ inputTokens: 2, outputTokens: 6 })
  expect(await recordsOf(app.svc)).toEqual([{ outcome: 'completed', input: 2, output: 6 }])
})

test('a stream of many answers at once mixes nothing up', async () => {
  const echo: Behaviour = (asked, response) =>
    answers(`You said ${asked.body.messages.at(-1)?.content}`)(asked, response)
  await app.answerBy(echo)
  const { token } = await app.svc.user()

  const told = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const body = question(`number ${index}`)
      const response = await app.svc.send('POST', '/api/ai-req', { token, headers: streaming, body })
      return textOf(eventsIn(await response.text()))
    }),
  )

  expect(told).toEqual(Array.from({ length: 20 }, (_, index) => `You said number ${index}`))
  expect(await recordsOf(app.svc)).toHaveLength(20)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Billing,
  buildInterruptedRecord,
  NO_TOKENS,
  startBilling,
  streamsWords,
  tokenCounts,
} from '../../kit/ai/billing.ts'
import { parseEvents } from '../../kit/ai/event-stream.ts'
import { replies, sendJson } from '../../kit/ai/provider.ts'
import { type TokenScript, tokenScripts } from '../../kit/ai/token-scripts.ts'

let billing: Billing

beforeAll(async () => {
  billing = await startBilling()
})

afterAll(async () => {
  // No call was recorded twice, not even by the last test.
  expect(await billing.records()).toEqual([])
  await billing[Symbol.asyncDispose]()
})

test('the demo model, which needs no provider, counts words', async () => {
  const sendQuestion = await billing.createSender('demo')

  await (await sendQuestion()).text()

  expect(await billing.record()).toEqual({ ...NO_TOKENS, outcome: 'completed', estimated: false, input: 4, output: 18 })
})

test('an answer whose stream ends before its total has our own count', async () => {
  const [script] = tokenScripts as [TokenScript]
  const ends = streamsWords(script, 5, (response) =>
    response.end(`${script.end(tokenCounts, 'stop').split('\n\n')[0]}\n\n`),
  )
  const sendQuestion = await billing.createSender(script)
  billing.answerBy(ends)

  expect(parseEvents(await (await sendQuestion()).text()).at(-1)?.event).toBe('done')

  expect(await billing.record()).toEqual(buildInterruptedRecord(script, 'completed'))
})

test('a count of nothing for an answer that says something is our own', async () => {
  const [script] = tokenScripts as [TokenScript]
  const zero = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 }
  const free = streamsWords(script, 5, (response) => response.end(script.end(zero, 'stop')))
  const sendQuestion = await billing.createSender(script)
  billing.answerBy(free)

  await (await sendQuestion()).text()

  expect(await billing.record()).toEqual({
    ...tokenCounts,
    outcome: 'completed',
    estimated: true,
    cached: 0,
    cacheWrite: 0,
  })
})

test.for([
  ['text/event-stream', 6],
  ['application/json', 5],
] as const)('an output of nothing is our own count where %s says something', async ([type, output]) => {
  const [script] = tokenScripts as [TokenScript]
  const free = { input: 9, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 }
  const sendQuestion = await billing.createSender(script)
  billing.answerBy(
    type === 'application/json'
      ? (_, response) => sendJson(response, script.whole('one and two and six ', free))
      : streamsWords(script, 5, (response) => response.end(script.end(free, 'stop'))),
  )

  await (await sendQuestion(undefined, type)).text()

  expect(await billing.record()).toMatchObject({ outcome: 'completed', estimated: true, input: 9, output })
})

test('a count that is missing beside another is our own', async () => {
  const [script] = tokenScripts as [TokenScript]
  const sendQuestion = await billing.createSender(script)
  billing.answerBy((_, response) =>
    sendJson(response, { ...(script.whole('Fine.', tokenCounts) as object), usage: { completion_tokens: 3 } }),
  )

  expect((await sendQuestion(undefined, 'application/json')).status).toBe(200)

  expect(await billing.record()).toEqual({ outcome: 'completed', estimated: true, ...NO_TOKENS, input: 4, output: 3 })
})

test.for(['{"error":"overloaded"}', '{"object":"error","message":"overloaded","code":503}'])(
  'a stream that begins with the error %s is not billed',
  async (event) => {
    const [script] = tokenScripts as [TokenScript]
    const sendQuestion = await billing.createSender(script)
    billing.answerBy(replies(`data: ${event}\n\n`, { type: 'text/event-stream' }))

    expect((await sendQuestion()).status).toBe(500)

    expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...NO_TOKENS })
  },
)

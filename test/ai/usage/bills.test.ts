import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type Billing,
  buildInterruptedRecord,
  disconnectAfter,
  NO_TOKENS,
  PROMPT_TOKENS,
  type SendQuestion,
  startBilling,
  streamsWords,
  tokenCounts,
} from '../../kit/ai/billing.ts'
import { parseEvents } from '../../kit/ai/event-stream.ts'
import { beginStream, canary, type ProviderRequest, refuses, replies, sendJson, stalls } from '../../kit/ai/provider.ts'
import { buildFailedResponse, type TokenScript, tokenScripts } from '../../kit/ai/token-scripts.ts'
import { SLOW } from '../../kit/service-client.ts'
import { untilRead } from '../../kit/until-read.ts'

let billing: Billing

beforeAll(async () => {
  billing = await startBilling()
})

afterAll(async () => {
  // No call was recorded twice, not even by the last test.
  expect(await billing.records()).toEqual([])
  await billing[Symbol.asyncDispose]()
})

/** Returns the answer with its content in an unknown shape and its usage unchanged. */
function otherShape(answer: object): string {
  const spoilt = Object.entries(answer).map(([name, value]) => [
    name,
    name.startsWith('usage') ? value : { of: 'another' },
  ])
  return JSON.stringify(Object.fromEntries(spoilt))
}

/** An event whose data is a list with an error. */
const errorList = `data: ${JSON.stringify([{ error: { type: 'server_error', code: 503, message: canary } }])}\n\n`

const waits = (response: ServerResponse) => new Promise((done) => response.once('close', done))

/** Faults of an answer, and the tokens that are known in spite of each. */
const unreadable: [string, (answer: object) => string, 'all' | { output?: number }][] = [
  ['no JSON', () => '<html>One and two</html>', {}],
  ['other JSON', () => '{"an": "answer"}', {}],
  ['empty', () => '', {}],
  ['cut off', (answer) => JSON.stringify(answer).split('and ten')[0] as string, { output: 5 }],
  ['of another shape, with a bill', otherShape, 'all'],
  ['an error with a bill', (answer) => otherShape({ ...answer, error: 'no' }), 'all'],
]

describe.for(tokenScripts.map((script): [string, TokenScript] => [script.name, script]))(
  'the record of a call of %s has what the provider counted',
  ([, script]) => {
    let sendQuestion: SendQuestion
    beforeAll(async () => {
      sendQuestion = await billing.createSender(script)
    })

    test.for(['stop', 'length'] as const)(
      `a call of ${script.name} is billed as counted where its stream is whole (%s)`,
      async (reason) => {
        billing.answerBy(streamsWords(script, 5, (response) => response.end(script.end(tokenCounts, reason))))

        const events = parseEvents(await (await sendQuestion()).text())

        expect(events.at(-1)?.event).toBe('done')
        expect(events.at(-2)?.data).toMatchObject({ inputTokens: 4, outputTokens: tokenCounts.output })
        expect(await billing.record()).toEqual({ outcome: 'completed', estimated: false, ...tokenCounts })
      },
    )

    const whereItRefuses = script.refused ? test : undefined
    whereItRefuses?.(`a call of ${script.name} is billed as counted where the model refuses midway`, async () => {
      billing.answerBy(streamsWords(script, 3, (response) => response.end(script.end(tokenCounts, 'refusal'))))

      const events = parseEvents(await (await sendQuestion()).text())

      expect(events.slice(-2)).toMatchObject([{ event: 'usage', data: { cut: 'refusal' } }, { event: 'done' }])
      expect(await billing.record()).toEqual({ outcome: 'refused', estimated: false, ...tokenCounts })
    })

    whereItRefuses?.(`a call of ${script.name} is billed as counted where the model refuses at once`, async () => {
      const read = { ...NO_TOKENS, input: 40, cached: 20 }
      const refusal = JSON.stringify(script.refused?.(read))
      for (const accept of ['application/json', 'text/event-stream']) {
        billing.answerBy((request, response) => {
          const isStream = request.body.stream || request.path.includes('stream')
          if (!isStream) return void sendJson(response, script.refused?.(read))
          beginStream(response)
          response.end(
            script.adapter === 'google' ? `data: ${refusal}\n\n` : script.begin(read) + script.end(read, 'refusal'),
          )
        })

        const answer = await sendQuestion(undefined, accept)

        expect([answer.status, await answer.json()]).toMatchObject([422, { success: false, code: 'provider_refused' }])
        expect(await billing.record()).toEqual({ outcome: 'refused', estimated: false, ...read })
      }
    })

    test(`a call of ${script.name} is billed as counted where the answer is not streamed`, async () => {
      const whole = { input: 40, output: 9, cached: 20, cacheWrite: script.counts.cacheWrite ? 10 : 0, reasoning: 0 }
      billing.answerBy((_, response) => sendJson(response, script.whole('Fine.', whole)))

      expect((await sendQuestion(undefined, 'application/json')).status).toBe(200)

      expect(await billing.record()).toEqual({ outcome: 'completed', estimated: false, ...whole })
    })

    test.for<[string, (response: ServerResponse) => unknown]>([
      ['reset', (response) => untilRead(response).then(() => response.destroy())],
      ['end', (response) => response.end()],
      ['error', (response) => response.end(script.error)],
      [
        'error in a list',
        (response) => {
          response.write(errorList)
          return untilRead(response).then(() => response.end(script.end(tokenCounts, 'stop')))
        },
      ],
    ])(`a call of ${script.name} is billed as delivered where the stream breaks off (%s)`, async ([, breaks]) => {
      billing.answerBy(streamsWords(script, 3, breaks))

      expect(parseEvents(await (await sendQuestion()).text()).at(-1)?.event).toBe('error')

      expect(await billing.record()).toEqual(buildInterruptedRecord(script, 'failed'))
    })

    test(`a call of ${script.name} is billed as delivered where the caller goes away midway`, async () => {
      billing.answerBy(streamsWords(script, 3, waits))

      await disconnectAfter(billing, sendQuestion, 3)

      expect(await billing.record()).toEqual(buildInterruptedRecord(script, 'aborted'))
    })

    test(`a call of ${script.name} is billed as delivered where the caller leaves before usage`, async () => {
      billing.answerBy(streamsWords(script, 5, waits))

      await disconnectAfter(billing, sendQuestion, 5)

      expect(await billing.record()).toEqual(buildInterruptedRecord(script, 'aborted'))
    })

    test.for(unreadable)(
      `a call of ${script.name} is billed by readable counts where its answer is %s`,
      async ([, spoil, known]) => {
        const whole = { input: 4, output: 9, cached: 2, cacheWrite: 0, reasoning: 0 }
        const body = spoil(script.whole('One and two and six and ten.', whole) as object)
        billing.answerBy((_, response) => replies(body)({} as ProviderRequest, response))

        expect((await sendQuestion(undefined, 'application/json')).status).toBe(500)

        const tokens = known === 'all' ? whole : { ...NO_TOKENS, input: PROMPT_TOKENS, ...known }
        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: known !== 'all', ...tokens })
        expect(billing.upstream.requests).toHaveLength(1)
      },
    )

    test(`a call of ${script.name} is billed by our estimate where its stream is unreadable`, async () => {
      billing.answerBy(replies('data: {"choices": [\n\n', { type: 'text/event-stream' }))

      expect((await sendQuestion()).status).toBe(500)

      expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...NO_TOKENS, input: PROMPT_TOKENS })
    })

    test.for([
      ['an error', script.error],
      ['a list with an error', errorList],
      ['an error as a text', 'data: {"error": "no"}\n\n'],
    ] as const)(`a call of ${script.name} is not billed where its stream begins with %s`, async ([, event]) => {
      billing.answerBy(replies(event, { type: 'text/event-stream' }))

      expect((await sendQuestion()).status).toBe(500)

      expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...NO_TOKENS })
      expect(billing.upstream.requests).toHaveLength(1)
    })

    test(`a call of ${script.name} is billed as delivered where a limit cuts it`, async () => {
      const limit = {
        name: 'all',
        for: 'installation' as const,
        cap: PROMPT_TOKENS + 3,
        unit: 'tokens',
        per: 'month' as const,
      }
      await billing.limits.set(limit)
      billing.answerBy(streamsWords(script, script.counts.thoughts ? 3 : 4, waits))

      const events = parseEvents(await (await sendQuestion()).text())

      expect(events.at(-2)?.data).toMatchObject({ cut: 'limit', outputTokens: 4 })
      // The word beyond the limit may arrive before the total that includes it.
      expect(await billing.record()).toEqual({
        ...buildInterruptedRecord(script, 'cut'),
        estimated: expect.any(Boolean),
      })
      expect(await billing.limits.list()).toMatchObject([{ used: PROMPT_TOKENS + 4, held: 0 }])
      await billing.limits.remove({ name: 'all' })
    })

    test(`a call of ${script.name} is billed as delivered where its time is up midway`, async () => {
      const sendQuestion = await billing.createSender(script, 'total')
      billing.answerBy(streamsWords(script, 3, waits))

      await (await sendQuestion()).text()

      expect(await billing.record()).toEqual(buildInterruptedRecord(script, 'failed'))
    })

    test(`a call of ${script.name} is estimated where the caller leaves before the first byte`, async () => {
      billing.answerBy(stalls)

      await disconnectAfter(billing, sendQuestion, 0)

      expect(await billing.record()).toEqual({
        outcome: 'aborted',
        estimated: true,
        ...NO_TOKENS,
        input: PROMPT_TOKENS,
      })
    })

    test(`a call of ${script.name} is estimated where it times out before the first byte`, async () => {
      const sendQuestion = await billing.createSender(script, 'firstByte')
      billing.answerBy(stalls)

      expect((await sendQuestion()).status).toBe(500)

      expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...NO_TOKENS, input: PROMPT_TOKENS })
    })

    test(`a call of ${script.name} is not billed where the provider refuses it`, async () => {
      billing.answerBy(refuses(400))

      expect((await sendQuestion()).status).toBe(500)

      expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...NO_TOKENS })
    })

    test.for([
      ['the whole answer', 'application/json', 'application/json; charset=utf-8'],
      ['a document in place of a stream', 'text/event-stream', 'application/json; charset=utf-8'],
      ['a document that is taken for a stream', 'text/event-stream', 'text/event-stream'],
      ['a document that is taken for text', 'text/event-stream', 'text/plain'],
      ['a document of no named type', 'text/event-stream', ''],
    ])(`a call of ${script.name} fails without a bill where %s is an error`, async ([, accept, type]) => {
      const error = { type: 'server_error', code: 503, status: 'UNAVAILABLE', message: canary }
      const objects = [{ error }, { type: 'error', error }, { error: canary }, { object: 'error', message: canary }]
      for (const body of [...objects, [{ error }]]) {
        billing.answerBy(replies(`\n ${JSON.stringify(body, null, 2)}`, { type }))

        const answer = await sendQuestion(undefined, accept)

        expect([answer.status, await answer.json()]).toMatchObject([500, { code: 'provider_failed' }])
        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...NO_TOKENS })
        expect(billing.upstream.requests).toHaveLength(1)
      }
    })

    test.for(['ends', 'breaks off'])(
      `a call of ${script.name} is billed as delivered where a replacing document %s midway`,
      async (how) => {
        const whole = JSON.stringify(script.whole('One and two and six and ten.', NO_TOKENS))
        billing.answerBy(async (_, response) => {
          response.writeHead(200, { 'content-type': 'application/json' }).write(whole.split('and ten')[0])
          await untilRead(response)
          if (how === 'ends') response.end()
          else response.destroy()
        })

        expect((await sendQuestion()).status).toBe(500)

        const tokens = { ...NO_TOKENS, input: PROMPT_TOKENS, output: 5 }
        expect(await billing.record()).toEqual({ outcome: 'failed', estimated: true, ...tokens })
        expect(billing.upstream.requests).toHaveLength(1)
      },
    )

    test(`a call of ${script.name} is recorded as aborted where its caller leaves a document`, async () => {
      billing.answerBy((_, response) => void response.writeHead(200).write('{"an": '))

      await disconnectAfter(billing, sendQuestion, 0)

      expect(await billing.record()).toEqual({
        outcome: 'aborted',
        estimated: true,
        ...NO_TOKENS,
        input: PROMPT_TOKENS,
      })
      await vi.waitFor(() => expect(billing.upstream.requests[0]?.abortedAt).toBeDefined(), SLOW)
    })

    test(`a call of ${script.name} is billed as counted where a document replaces the stream`, async () => {
      const whole = { input: 40, output: 9, cached: 20, cacheWrite: 0, reasoning: 0 }
      billing.answerBy((_, response) => sendJson(response, script.whole('One and two.', whole)))

      expect(parseEvents(await (await sendQuestion()).text())).toMatchObject([
        { event: 'delta', data: { text: 'One and two.' } },
        { event: 'usage' },
        { event: 'done' },
      ])

      expect(await billing.record()).toEqual({ outcome: 'completed', estimated: false, ...whole })
    })

    test.for(['application/json', 'application/stream+json', 'text/plain', ''])(
      `a stream of ${script.name} that is sent as another type (%s) is billed whole`,
      async (type) => {
        const bill = { ...NO_TOKENS, input: 40, output: 9 }
        const isRead = Promise.withResolvers<void>()
        billing.answerBy(async (request, response) => {
          response.writeHead(200, { 'content-type': type })
          response.write(`\r\n${script.begin(bill)}${script.word('one ', bill, request)}`)
          await isRead.promise
          response.end(script.end(bill, 'stop'))
        })

        let read = ''
        for await (const text of (await sendQuestion()).body?.pipeThrough(new TextDecoderStream()) ?? []) {
          read += text
          if (read.includes('one ')) isRead.resolve()
        }

        expect(parseEvents(read).at(-1)?.event).toBe('done')
        expect(await billing.record()).toEqual({ outcome: 'completed', estimated: false, ...bill })
      },
    )

    test(`a call of ${script.name} is not billed where the provider hangs up at once`, async () => {
      billing.answerBy((_, response) => void response.destroy())

      expect((await sendQuestion()).status).toBe(500)

      expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...NO_TOKENS })
    })
  },
)

test('the record of an answer that OpenAI ends as failed has its bill', async () => {
  const script = tokenScripts.find(({ adapter }) => adapter === 'openai') as TokenScript
  const fails = streamsWords(script, 3, (response) => response.end(buildFailedResponse(tokenCounts)))
  const sendQuestion = await billing.createSender(script)
  billing.answerBy(fails)

  await (await sendQuestion()).text()

  expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...tokenCounts })

  const bill = { ...NO_TOKENS, input: 40, cached: 20 }
  billing.answerBy(replies(buildFailedResponse(bill), { type: 'text/event-stream' }))
  expect((await sendQuestion()).status).toBe(500)
  expect(await billing.record()).toEqual({ outcome: 'failed', estimated: false, ...bill })
})

test.for(['openai-compatible', 'openai'])(
  'the record of a question that %s refuses for its content has our estimate',
  async (adapter) => {
    const script = tokenScripts.find((one) => one.adapter === adapter) as TokenScript
    const error = { code: 'content_filter', message: 'no', innererror: { code: 'ResponsibleAIPolicyViolation' } }
    const sendQuestion = await billing.createSender(script)
    billing.answerBy((_, response) => sendJson(response, { error }, 400))

    for (const accept of ['application/json', 'text/event-stream']) {
      const answer = await sendQuestion(undefined, accept)

      expect([answer.status, await answer.json()]).toMatchObject([422, { code: 'provider_refused' }])
      expect(await billing.record()).toEqual({
        outcome: 'refused',
        estimated: true,
        ...NO_TOKENS,
        input: PROMPT_TOKENS,
      })
    }
    expect(billing.upstream.requests).toHaveLength(2)
  },
)

test.for<[string, string, number]>([
  [
    'says each thought twice',
    '{"choices": [{"message": {"reasoning": "hm hm hm", "reasoning_content": "hm hm hm", ',
    2,
  ],
  ['says two equal things', '{"choices": [{"message": {"reasoning": "hm hm hm", "content": "hm hm hm", ', 4],
  // A million letters of this are read.
  ['is very long', `{"choices": [{"message": {"content": "${'word '.repeat(2_000_000)}`, 249_991],
])('the record of an answer that is unreadable and %s has its readable part', async ([, body, output]) => {
  const [script] = tokenScripts as [TokenScript]
  const sendQuestion = await billing.createSender(script)
  billing.answerBy(replies(body))

  expect((await sendQuestion(undefined, 'application/json')).status).toBe(500)

  expect(await billing.record()).toEqual({
    outcome: 'failed',
    estimated: true,
    ...NO_TOKENS,
    input: PROMPT_TOKENS,
    output,
  })
})

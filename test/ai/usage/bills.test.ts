import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { eventsIn } from '../../kit/ai/event-stream.ts'
import {
  type Asked,
  type Behaviour,
  beginStream,
  configFor,
  json,
  question,
  refuses,
  replies,
  stalls,
  startProvider,
} from '../../kit/ai/provider.ts'
import { type Counted, failedResponse, type TokenScript, tokenScripts } from '../../kit/ai/token-scripts.ts'
import { startApp } from '../../kit/app.ts'

/** Four letters a word, so that a token is the same to the provider and to whoever counts for it. */
const words = ['one ', 'and ', 'two ', 'and ', 'six ']
const text = 'How do you do?'
const PROMPT_TOKENS = 4

/** What the provider has counted so far. */
const counted: Counted = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 }

/** Sends so many words, with a thought before them, and counts each piece as a token. */
function startsWith(script: TokenScript, many: number, then: (response: ServerResponse, asked: Asked) => unknown) {
  const behave: Behaviour = async (asked, response) => {
    const { thoughts, cacheWrite } = script.counts
    Object.assign(counted, { input: PROMPT_TOKENS, output: 0, cached: 2, cacheWrite: cacheWrite ? 1 : 0, reasoning: 0 })
    beginStream(response)
    response.write(script.begin(counted))
    if (thoughts && many > 0) {
      Object.assign(counted, { output: 1, reasoning: 1 })
      response.write(script.thought(counted, asked))
    }
    for (const word of words.slice(0, many)) {
      counted.output += 1
      response.write(script.word(word, counted, asked))
      // Events that are sent apart arrive apart.
      await pause(2)
    }
    await then(response, asked)
  }
  return behave
}

/** The same answer with its content in a shape that nobody knows; its bill is as it was. */
function otherShape(answer: object): string {
  const spoilt = Object.entries(answer).map(([name, value]) => [
    name,
    name.startsWith('usage') ? value : { of: 'another' },
  ])
  return JSON.stringify(Object.fromEntries(spoilt))
}

const waits = (response: ServerResponse) => new Promise((done) => response.once('close', done))

async function startWith(script: TokenScript, behave: Behaviour, timeouts: object = {}) {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(behave))
  const config = resources.use(
    await configFor(upstream.url, {
      provider: { adapter: script.adapter, timeouts, ...script.provider },
      model: { limits: { maxOutputTokens: 3 } },
    }),
  )
  const svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  const { token } = await svc.user()
  const kept = resources.move()
  return {
    upstream,
    limits: svc.host.limits,
    /** Has the provider answer the next question so. */
    answerBy(next: Behaviour) {
      upstream.behave = next
      upstream.asked.length = 0
    },
    ask: (signal?: AbortSignal, accept = 'text/event-stream') =>
      svc.send('POST', '/api/ai-req', { token, headers: { accept }, body: question(text), ...(signal && { signal }) }),
    /** The only record there is, which it takes away. */
    async record() {
      const records = async () => {
        await svc.services.usageLedger.flush()
        return svc.rows(
          `select outcome, estimated, input_tokens as input, output_tokens as output, cached_tokens as cached,
                  cache_write_tokens as "cacheWrite", reasoning_tokens as reasoning from usage_records`,
        )
      }
      await vi.waitFor(async () => expect(await records()).toHaveLength(1), { timeout: 10_000 })
      await pause(50)
      const [record, ...more] = await records()
      expect(more).toEqual([])
      await svc.rows('delete from usage_records')
      return record
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** The record of an answer that ended before its provider told the total. */
function cutShort(script: TokenScript, outcome: string) {
  if (script.tells === 'everything') return { outcome, estimated: false, ...counted }
  const unknown = script.tells === 'nothing' && { cached: 0, cacheWrite: 0 }
  return { outcome, estimated: true, ...counted, ...unknown }
}

/** Goes away after so many words. */
async function leaveAfter(app: Awaited<ReturnType<typeof startWith>>, many: number) {
  const gone = new AbortController()
  const asking = app.ask(gone.signal).then(async (response) => {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let read = ''
    while (eventsIn(read).length < many) read += (await reader?.read())?.value ?? ''
  })
  if (many > 0) await asking
  else await vi.waitFor(() => expect(app.upstream.asked).toHaveLength(1))
  gone.abort()
  await asking.catch(() => undefined)
}

/** What is wrong with an answer, and what of its tokens is known then. */
const unreadable: [string, (answer: object) => string, 'all' | { output?: number }][] = [
  ['no JSON', () => '<html>One and two</html>', {}],
  ['other JSON', () => '{"an": "answer"}', {}],
  ['empty', () => '', {}],
  ['cut off', (answer) => JSON.stringify(answer).split('and ten')[0] as string, { output: 5 }],
  ['of another shape, with a bill', otherShape, 'all'],
]

const nothing = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 }

describe.for(tokenScripts.map((script): [string, TokenScript] => [script.name, script]))(
  'the record of a call of %s has what the provider counted',
  ([, script]) => {
    let app: Awaited<ReturnType<typeof startWith>>
    beforeAll(async () => {
      app = await startWith(script, stalls)
    })
    afterAll(() => app[Symbol.asyncDispose]())

    test.for(['stop', 'length'] as const)(
      `the record of a call of ${script.name} has what the provider counted where the stream is whole (%s)`,
      async (reason) => {
        app.answerBy(startsWith(script, 5, (response) => response.end(script.end(counted, reason))))

        const events = eventsIn(await (await app.ask()).text())

        expect(events.at(-1)?.event).toBe('done')
        expect(events.at(-2)?.data).toMatchObject({ inputTokens: 4, outputTokens: counted.output })
        expect(await app.record()).toEqual({ outcome: 'completed', estimated: false, ...counted })
      },
    )

    const whereItRefuses = script.refused ? test : undefined
    whereItRefuses?.(
      `the record of a call of ${script.name} has what the provider counted where it refuses in the middle`,
      async () => {
        app.answerBy(startsWith(script, 3, (response) => response.end(script.end(counted, 'refusal'))))

        const events = eventsIn(await (await app.ask()).text())

        expect(events.slice(-2)).toMatchObject([{ event: 'usage', data: { cut: 'refusal' } }, { event: 'done' }])
        expect(await app.record()).toEqual({ outcome: 'refused', estimated: false, ...counted })
      },
    )

    whereItRefuses?.(
      `the record of a call of ${script.name} has what the provider counted where it refuses without a word`,
      async () => {
        const read = { ...nothing, input: 40, cached: 20 }
        const refusal = JSON.stringify(script.refused?.(read))
        for (const accept of ['application/json', 'text/event-stream']) {
          app.answerBy((asked, response) => {
            const isStream = asked.body.stream || asked.path.includes('stream')
            if (!isStream) return void json(response, script.refused?.(read))
            beginStream(response)
            response.end(
              script.adapter === 'google' ? `data: ${refusal}\n\n` : script.begin(read) + script.end(read, 'refusal'),
            )
          })

          const answer = await app.ask(undefined, accept)

          expect([answer.status, await answer.json()]).toMatchObject([
            422,
            { success: false, code: 'provider_refused' },
          ])
          expect(await app.record()).toEqual({ outcome: 'refused', estimated: false, ...read })
        }
      },
    )

    test(`the record of a call of ${script.name} has what the provider counted where the answer comes in one piece`, async () => {
      const whole = { input: 40, output: 9, cached: 20, cacheWrite: script.counts.cacheWrite ? 10 : 0, reasoning: 0 }
      app.answerBy((_, response) => json(response, script.whole('Fine.', whole)))

      expect((await app.ask(undefined, 'application/json')).status).toBe(200)

      expect(await app.record()).toEqual({ outcome: 'completed', estimated: false, ...whole })
    })

    test.for(['reset', 'end', 'error'] as const)(
      `the record of a call of ${script.name} has what the provider counted where the stream breaks off (%s)`,
      async (how) => {
        const breaks = (response: ServerResponse) =>
          how === 'reset'
            ? void setTimeout(() => response.destroy(), 50)
            : response.end(how === 'error' ? script.error : '')
        app.answerBy(startsWith(script, 3, breaks))

        expect(eventsIn(await (await app.ask()).text()).at(-1)?.event).toBe('error')

        expect(await app.record()).toEqual(cutShort(script, 'failed'))
      },
    )

    test(`the record of a call of ${script.name} has what the provider counted where the caller goes away in the middle`, async () => {
      app.answerBy(startsWith(script, 3, waits))

      await leaveAfter(app, 3)

      expect(await app.record()).toEqual(cutShort(script, 'aborted'))
    })

    test(`the record of a call of ${script.name} has what the provider counted where the caller goes away after the last word, before the bill`, async () => {
      app.answerBy(startsWith(script, 5, waits))

      await leaveAfter(app, 5)

      expect(await app.record()).toEqual(cutShort(script, 'aborted'))
    })

    test.for(unreadable)(
      `the record of a call of ${script.name} has at least what the provider counted where its answer is %s`,
      async ([, spoil, known]) => {
        const whole = { input: 4, output: 9, cached: 2, cacheWrite: 0, reasoning: 0 }
        const body = spoil(script.whole('One and two and six and ten.', whole) as object)
        app.answerBy((_, response) => replies(body)({} as Asked, response))

        expect((await app.ask(undefined, 'application/json')).status).toBe(500)

        const tokens = known === 'all' ? whole : { ...nothing, input: PROMPT_TOKENS, ...known }
        expect(await app.record()).toEqual({ outcome: 'failed', estimated: known !== 'all', ...tokens })
        expect(app.upstream.asked).toHaveLength(1)
      },
    )

    test(`the record of a call of ${script.name} has our estimate of the question where its stream cannot be read`, async () => {
      app.answerBy(replies('data: {"choices": [\n\n', { type: 'text/event-stream' }))

      expect((await app.ask()).status).toBe(500)

      expect(await app.record()).toEqual({ outcome: 'failed', estimated: true, ...nothing, input: PROMPT_TOKENS })
    })

    test(`the record of a call of ${script.name} has what the provider counted, which is nothing where its stream begins with an error`, async () => {
      app.answerBy(replies(script.error, { type: 'text/event-stream' }))

      expect((await app.ask()).status).toBe(500)

      expect(await app.record()).toEqual({ outcome: 'failed', estimated: false, ...nothing })
      expect(app.upstream.asked).toHaveLength(1)
    })

    test(`the record of a call of ${script.name} has what the provider counted where a limit cuts it`, async () => {
      const limit = { name: 'all', for: 'installation' as const, cap: 1000, unit: 'tokens', per: 'month' as const }
      await app.limits.set(limit)
      app.answerBy(startsWith(script, script.counts.thoughts ? 3 : 4, waits))

      const events = eventsIn(await (await app.ask()).text())

      expect(events.at(-2)?.data).toMatchObject({ cut: 'limit', outputTokens: 4 })
      // The word that is too much may come before the total with it.
      expect(await app.record()).toEqual({ ...cutShort(script, 'cut'), estimated: expect.any(Boolean) })
      expect(await app.limits.list()).toMatchObject([{ used: PROMPT_TOKENS + 4, held: 0 }])
      await app.limits.remove({ name: 'all' })
    })

    test(`the record of a call of ${script.name} has what the provider counted where the time of the call is up in the middle`, async () => {
      await using app = await startWith(script, startsWith(script, 3, waits), { total: '700ms' })

      await (await app.ask()).text()

      expect(await app.record()).toEqual(cutShort(script, 'failed'))
    })

    test(`the record of a call of ${script.name} has what the provider counted where the caller goes away before the first byte`, async () => {
      app.answerBy(stalls)

      await leaveAfter(app, 0)

      expect(await app.record()).toEqual({ outcome: 'aborted', estimated: true, ...nothing, input: PROMPT_TOKENS })
    })

    test(`the record of a call of ${script.name} has what the provider counted where the time to answer is up before the first byte`, async () => {
      await using app = await startWith(script, stalls, { firstByte: '500ms' })

      expect((await app.ask()).status).toBe(500)

      expect(await app.record()).toEqual({ outcome: 'failed', estimated: true, ...nothing, input: PROMPT_TOKENS })
    })

    test(`the record of a call of ${script.name} has what the provider counted, which is nothing where it refuses`, async () => {
      app.answerBy(refuses(400))

      expect((await app.ask()).status).toBe(500)

      expect(await app.record()).toEqual({ outcome: 'failed', estimated: false, ...nothing })
    })

    test(`the record of a call of ${script.name} has what the provider counted, which is nothing where it hangs up before a word`, async () => {
      app.answerBy((_, response) => void response.destroy())

      expect((await app.ask()).status).toBe(500)

      expect(await app.record()).toEqual({ outcome: 'failed', estimated: false, ...nothing })
    })
  },
)

test('the record of an answer that OpenAI ends as failed has the bill that came with it', async () => {
  const script = tokenScripts.find(({ adapter }) => adapter === 'openai') as TokenScript
  const fails = startsWith(script, 3, (response) => response.end(failedResponse(counted)))
  await using app = await startWith(script, fails)

  await (await app.ask()).text()

  expect(await app.record()).toEqual({ outcome: 'failed', estimated: false, ...counted })

  const bill = { ...nothing, input: 40, cached: 20 }
  app.answerBy(replies(failedResponse(bill), { type: 'text/event-stream' }))
  expect((await app.ask()).status).toBe(500)
  expect(await app.record()).toEqual({ outcome: 'failed', estimated: false, ...bill })
})

test.for(['openai-compatible', 'openai'])(
  'the record of a question that a provider of the kind %s refuses by its status for what is in it has our estimate',
  async (adapter) => {
    const script = tokenScripts.find((one) => one.adapter === adapter) as TokenScript
    const error = { code: 'content_filter', message: 'no', innererror: { code: 'ResponsibleAIPolicyViolation' } }
    await using app = await startWith(script, (_, response) => json(response, { error }, 400))

    for (const accept of ['application/json', 'text/event-stream']) {
      const answer = await app.ask(undefined, accept)

      expect([answer.status, await answer.json()]).toMatchObject([422, { code: 'provider_refused' }])
      expect(await app.record()).toEqual({ outcome: 'refused', estimated: true, ...nothing, input: PROMPT_TOKENS })
    }
    expect(app.upstream.asked).toHaveLength(2)
  },
)

test.for<[string, string, number]>([
  [
    'says each thought twice',
    '{"choices": [{"message": {"reasoning": "hm hm hm", "reasoning_content": "hm hm hm", ',
    2,
  ],
  // Of which a million letters are read.
  ['is very long', `{"choices": [{"message": {"content": "${'word '.repeat(2_000_000)}`, 249_991],
])('the record of an answer that cannot be read and %s has what can be read of it', async ([, body, output]) => {
  const [script] = tokenScripts as [TokenScript]
  await using app = await startWith(script, replies(body))

  expect((await app.ask(undefined, 'application/json')).status).toBe(500)

  expect(await app.record()).toEqual({ outcome: 'failed', estimated: true, ...nothing, input: PROMPT_TOKENS, output })
})

test('the demo model, which needs no provider, counts words', async () => {
  await using svc = await startApp()
  const { token } = await svc.user()

  await svc.send('POST', '/api/ai-req', { token, body: question('How do you do?', 'demo') })
  await svc.services.usageLedger.flush()

  expect(await svc.rows('select estimated, input_tokens as input, output_tokens as output from usage_records')).toEqual(
    [{ estimated: false, input: 4, output: 18 }],
  )
})

test('an answer whose stream ends before the chunk with the total has our own count', async () => {
  const [script] = tokenScripts as [TokenScript]
  const ends = startsWith(script, 5, (response) => response.end(`${script.end(counted, 'stop').split('\n\n')[0]}\n\n`))
  await using app = await startWith(script, ends)

  expect(eventsIn(await (await app.ask()).text()).at(-1)?.event).toBe('done')

  expect(await app.record()).toEqual(cutShort(script, 'completed'))
})

test('a count of zero is a count: the record has it in place of our own', async () => {
  const [script] = tokenScripts as [TokenScript]
  const zero = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 }
  const free = startsWith(script, 5, (response) => response.end(script.end(zero, 'stop')))
  await using app = await startWith(script, free)

  await (await app.ask()).text()

  expect(await app.record()).toEqual({ outcome: 'completed', estimated: false, ...zero })
})

test('a count that is missing beside another is our own', async () => {
  const [script] = tokenScripts as [TokenScript]
  await using app = await startWith(script, (_, response) =>
    json(response, { ...(script.whole('Fine.', counted) as object), usage: { completion_tokens: 3 } }),
  )

  expect((await app.ask(undefined, 'application/json')).status).toBe(200)

  expect(await app.record()).toEqual({ outcome: 'completed', estimated: true, ...nothing, input: 4, output: 3 })
})

test.for(['{"error":"overloaded"}', '{"object":"error","message":"overloaded","code":503}'])(
  'a stream that begins with the error %s is paid by nobody',
  async (event) => {
    const [script] = tokenScripts as [TokenScript]
    await using app = await startWith(script, replies(`data: ${event}\n\n`, { type: 'text/event-stream' }))

    expect((await app.ask()).status).toBe(500)

    expect(await app.record()).toEqual({ outcome: 'failed', estimated: false, ...nothing })
  },
)

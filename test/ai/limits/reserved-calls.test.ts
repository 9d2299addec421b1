import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { parseEvents } from '../../kit/ai/event-stream.ts'
import { shareLimitedService } from '../../kit/ai/limited-service.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  behavesInTurn,
  buildChunk,
  buildQuestion,
  callsTool,
  endStream,
  refuses,
} from '../../kit/ai/provider.ts'
import { waitForLocks } from '../../kit/locks.ts'
import { type Client, openClient } from '../../kit/postgres-client.ts'
import { SLOW } from '../../kit/service-client.ts'
import { untilRead } from '../../kit/until-read.ts'

const EXTENSIONS = fileURLToPath(new URL('../../fixtures/extension.ts', import.meta.url))

/** Tokens of the definition of the tool `weather`. */
const TOOL = 60

const limit = { name: 'all', for: 'installation', cap: 1000, unit: 'tokens', per: 'month' }

const limited = shareLimitedService()

/** Starts a service under a limit whose model answers with at most 100 tokens. */
async function startWith(behave: Behaviour, more: object = {}, model: object = {}, models?: object[]) {
  const world = await limited([{ ...limit, ...more }], {
    provider: { continuousUsage: true, ...(models && { models }) },
    model: { tools: ['weather'], ...model },
    env: { EXTENSIONS, LIMITS_MAX_OUTPUT_TOKENS: '100' },
  })
  const { svc, provider: upstream } = world
  upstream.behave = behave
  const { token } = await svc.user()
  return Object.assign(world, {
    upstream,
    sendQuestion: (accept = 'text/event-stream', text = 'Hello') =>
      svc.send('POST', '/api/ai-req', { token, headers: { accept }, body: buildQuestion(text) }),
    async state() {
      const [found] = await svc.host.limits.list()
      return { used: found?.used, held: found?.held }
    },
    async record() {
      await svc.services.ai.usageLedger.flush()
      return svc.rows('select outcome, input_tokens as input, output_tokens as output from usage_records')
    },
  })
}

const weather = callsTool('weather', '{"city":"Hildesheim"}')

describe('a further round of a call', () => {
  test('a further round of a call is reserved beforehand on top of earlier ones', async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>()
    await using world = await startWith(async (request, response) => {
      if (request.body.messages.length > 1) await go
      await weather(request, response)
    })

    const pendingCall = world.sendQuestion()
    await vi.waitFor(() => expect(world.upstream.requests).toHaveLength(2), SLOW)
    const { held } = await world.state()
    resolve()
    await (await pendingCall).text()

    // The reservation has the 7 and 3 tokens of the first round, the second prompt, and the longest answer.
    expect(held).toBeGreaterThan(10 + 15 + TOOL + 100)
    expect(held).toBeLessThan(10 + 60 + TOOL + 100)
    expect(await world.record()).toEqual([{ outcome: 'completed', input: 14, output: 6 }])
    expect(await world.state()).toEqual({ used: 20, held: 0 })
  })

  test.for([
    ['a stream', 'text/event-stream'],
    ['a whole answer', 'application/json'],
  ] as const)('a further round beyond a limit is not made, and %s says so', async ([, accept]) => {
    await using world = await startWith(weather, { cap: 120 + TOOL })

    const response = await world.sendQuestion(accept)
    const text = await response.text()

    if (accept === 'application/json') {
      expect([response.status, response.headers.get('x-should-retry')]).toEqual([429, 'false'])
      expect(JSON.parse(text)).toMatchObject({ success: false, code: 'limit_reached' })
    } else {
      expect(response.status).toBe(200)
      expect(parseEvents(text).map(({ event }) => event)).toEqual(['usage', 'done'])
      expect(parseEvents(text)[0]?.data).toMatchObject({ inputTokens: 7, outputTokens: 3, cut: 'limit' })
    }
    expect(world.upstream.requests).toHaveLength(1)
    expect(await world.record()).toEqual([{ outcome: 'cut', input: 7, output: 3 }])
    expect(await world.state()).toEqual({ used: 10, held: 0 })
  })

  test('a further round beyond an observing limit is made and counted as refused', async () => {
    await using world = await startWith(behavesInTurn(weather, answers('Rain.')), { cap: 120 + TOOL, mode: 'observe' })

    expect((await world.sendQuestion('application/json')).status).toBe(200)

    expect(await world.record()).toEqual([{ outcome: 'completed', input: 14, output: 6 }])
    expect(await world.svc.host.limits.list()).toMatchObject([{ used: 20, held: 0, refused: 1 }])
  })

  test('a further round of a call that another process has committed is not made', async () => {
    await using world = await startWith(async (request, response) => {
      await world.svc.rows('delete from usage_holds')
      await weather(request, response)
    })

    expect((await world.sendQuestion('application/json')).status).toBe(503)

    expect(world.upstream.requests).toHaveLength(1)
  })

  test('rounds of many calls at once together never take more than the limit', async () => {
    await using world = await startWith(weather, { cap: 700 })

    const statuses = await Promise.all(
      Array.from({ length: 12 }, async () => (await world.sendQuestion('application/json')).status),
    )

    await world.svc.services.ai.usageLedger.flush()
    const { used, held } = await world.state()
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0)
    expect(used).toBe(world.upstream.requests.length * 10)
    expect(used).toBeLessThanOrEqual(700)
    expect(held).toBe(0)
  })
})

describe('what is reserved for a stream', () => {
  /** Waits before its first word, reports its counts with each piece, and waits before the end. */
  const countsWhenAllowed = (input: number, more: object = {}) => {
    const { promise: go, resolve } = Promise.withResolvers<void>()
    const { promise: mayCount, resolve: count } = Promise.withResolvers<void>()
    const { promise: started, resolve: begin } = Promise.withResolvers<void>()
    const behave: Behaviour = async (_, response) => {
      begin()
      await mayCount
      beginStream(response)
      for (let output = 1; output <= 40; output++) {
        const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, ...more }
        response.write(buildChunk({ delta: { content: 'word' } }, { usage }))
      }
      await go
      endStream(response, { prompt_tokens: input, completion_tokens: 40, total_tokens: input + 40, ...more })
    }
    return { behave, started, count, resolve }
  }

  test('what is reserved for a stream shrinks once the provider counts its input', async () => {
    const { behave, started, count, resolve } = countsWhenAllowed(10)
    await using world = await startWith(behave)

    const pendingCall = world.sendQuestion('text/event-stream', 'x'.repeat(2000))
    await started
    expect(await world.state()).toEqual({ used: 0, held: 500 + TOOL + 100 })
    count()
    await vi.waitFor(async () => expect(await world.state()).toEqual({ used: 0, held: 10 + 100 }), SLOW)
    resolve()
    await (await pendingCall).text()

    expect(await world.record()).toEqual([{ outcome: 'completed', input: 10, output: 40 }])
    expect(await world.state()).toEqual({ used: 50, held: 0 })
  })

  test('what is reserved for a stream in money shrinks by its known tokens', async () => {
    const { behave, started, count, resolve } = countsWhenAllowed(10, { prompt_tokens_details: { cached_tokens: 8 } })
    const pricing = {
      currency: 'EUR',
      inputPerMillion: 10,
      cachedInputPerMillion: 1,
      cacheWritePerMillion: 12,
      outputPerMillion: 20,
      reasoningPerMillion: 50,
    }
    await using world = await startWith(behave, { unit: 'EUR' }, { pricing })

    const pendingCall = world.sendQuestion('text/event-stream', 'x'.repeat(2000))
    await started
    expect(await world.state()).toEqual({ used: 0, held: (500 + TOOL) * 12 + 100 * 50 })
    count()
    const known = 2 * 10 + 8 + 40 * 20
    await vi.waitFor(async () => expect(await world.state()).toEqual({ used: 0, held: known + 60 * 50 }), SLOW)
    resolve()
    await (await pendingCall).text()
    await world.record()

    expect(await world.state()).toEqual({ used: known, held: 0 })
  })
})

test('what is reserved for a fallback model is kept until it is asked', async () => {
  await using resources = new AsyncDisposableStack()
  const lock = Promise.withResolvers<Client>()
  const behave: Behaviour = async (request, response) => {
    if (request.body.model === 'mock-1') {
      // The lock keeps the reservation from being replaced before leases are renewed.
      await (await lock.promise).query('begin; select from usage_holds for update')
      return refuses(401)(request, response)
    }
    beginStream(response)
    for (const content of ['A whole ', 'answer.']) {
      response.write(buildChunk({ delta: { content } }))
      await untilRead(response)
    }
    endStream(response)
  }
  const [first, second] = ['mock-1', 'mock-2'].map((id) => ({ id, label: id, external: true }))
  const world = resources.use(await startWith(behave, {}, {}, [{ ...first, fallback: ['mock-2'] }, second as object]))
  const url = world.svc.env.DATABASE_URL
  const client = resources.use(await openClient(url))
  lock.resolve(client)

  const pendingCall = world.sendQuestion('text/event-stream', 'x'.repeat(1000))
  await waitForLocks(url)
  await client.query('commit')

  const text = await (await pendingCall).text()
  expect(text).toContain('answer.')
  expect(text).not.toContain('"cut"')
  expect(await world.record()).toEqual([{ outcome: 'completed', input: 7, output: 3 }])
  expect(await world.state()).toEqual({ used: 10, held: 0 })
})

test("a provider that counts impossibly much blocks no other call's usage updates", async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>()
  const behave: Behaviour = async (request, response) => {
    const tokens = request.body.messages[0]?.content === 'Hello' ? 20 : 1e300
    beginStream(response)
    response.write(
      buildChunk({ delta: { content: 'word' } }, { usage: { prompt_tokens: tokens, completion_tokens: tokens } }),
    )
    await go
    endStream(response)
  }
  const pricing = { currency: 'EUR', inputPerMillion: 10, outputPerMillion: 20 }
  await using world = await startWith(behave, { unit: 'requests' }, { pricing })

  const streams = [await world.sendQuestion('text/event-stream', 'huge'), await world.sendQuestion()]
  const readOutputs = async () => {
    const rows = await world.svc.rows<{ output: number }>('select output_tokens as output from usage_holds')
    return rows.map(({ output }) => output).sort((one, other) => one - other)
  }
  await vi.waitFor(async () => {
    const [known, cut] = await readOutputs()
    expect(known).toBe(20)
    expect(cut).toBeGreaterThan(20)
    expect(cut).toBeLessThan(50_000)
  }, SLOW)
  resolve()

  expect((await Promise.all(streams.map((stream) => stream.text()))).every((text) => text.includes('done'))).toBe(true)
})

describe('an answer whose question its provider counts as longer than we did', () => {
  /** Sends the whole stream in one packet, as a nearby provider does. */
  const sendsOnePacket: Behaviour = (_, response) => {
    beginStream(response)
    const usage = { prompt_tokens: 500, completion_tokens: 1, total_tokens: 501 }
    const events = [
      buildChunk({ delta: { content: 'Yes.' } }),
      buildChunk({ delta: {}, finish_reason: 'stop' }, { usage }),
    ]
    response.end([...events, 'data: [DONE]\n\n'].join(''))
  }
  const streamed = async (app: Awaited<ReturnType<typeof startWith>>) =>
    parseEvents(await (await app.sendQuestion()).text()).map(({ event, data }) => [
      event,
      (data as { text?: string }).text,
    ])

  test('is delivered whole where the limit has room for it', async () => {
    await using app = await startWith(sendsOnePacket)
    expect(await streamed(app)).toEqual([
      ['delta', 'Yes.'],
      ['usage', undefined],
      ['done', undefined],
    ])
    expect(await app.record()).toEqual([{ outcome: 'completed', input: 500, output: 1 }])
    expect(await app.state()).toEqual({ used: 501, held: 0 })
  })

  test('is cut where the limit has none, and says so', async () => {
    await using app = await startWith(sendsOnePacket, { cap: 400 })
    const text = await (await app.sendQuestion()).text()
    expect(text).not.toContain('Yes.')
    expect(text).toContain('"cut":"limit"')
    expect(await app.record()).toEqual([{ outcome: 'cut', input: 500, output: 1 }])
    expect(await app.state()).toEqual({ used: 501, held: 0 })
  })
})

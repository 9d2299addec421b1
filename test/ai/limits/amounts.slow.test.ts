import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { buildFetchedPage, stallsAfterBlocks } from '../../kit/ai/anthropic.ts'
import { readLimitState, requestLimit, sendQuestion, shareLimitedService } from '../../kit/ai/limited-service.ts'
import { type Behaviour, beginStream, buildChunk, buildQuestion } from '../../kit/ai/provider.ts'
import { SLOW } from '../../kit/service-client.ts'
import { createDataFolder, startProcess } from '../../kit/service-process.ts'

const pricing = { currency: 'EUR', inputPerMillion: 1, cachedInputPerMillion: 0.5, outputPerMillion: 2 }

/** Reports its counts with each piece, and never ends. */
const countsAndWaits: Behaviour = (_, response) => {
  beginStream(response)
  for (let completion_tokens = 10; completion_tokens <= 40; completion_tokens++) {
    const details = {
      prompt_tokens_details: { cached_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 10 },
    }
    response.write(
      buildChunk({ delta: { content: 'on ' } }, { usage: { prompt_tokens: 30, completion_tokens, ...details } }),
    )
  }
}

const limited = shareLimitedService()

type World = Awaited<ReturnType<typeof limited>>

const longestOf20 = { env: { LIMITS_MAX_OUTPUT_TOKENS: '20' } }
const streamed = { accept: 'text/event-stream' }

/** Reads an answer that never ends by itself, until the service ends it. */
async function readEndless(world: World, usageAfter: (words: number) => object | undefined = () => undefined) {
  let text = ''
  const read = () => text.split('event: delta').length - 1
  // Each word is sent after the one before was read, as words that arrive together are counted together.
  world.provider.behave = async (request, response) => {
    beginStream(response)
    for (let words = 1; !request.abortedAt; words++) {
      response.write(buildChunk({ delta: { content: 'more ' } }, { usage: usageAfter(words) }))
      while (read() < words && !request.abortedAt) await pause(1)
    }
  }
  const { token } = await world.svc.user()
  const answer = await world.svc.send('POST', '/api/ai-req', { token, headers: streamed, body: buildQuestion() })
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece
  await vi.waitUntil(() => world.provider.requests[0]?.abortedAt, SLOW)
  return { text }
}

async function recordOf({ svc }: World) {
  await svc.services.ai.usageLedger.flush()
  const [record] = await svc.rows('select outcome, estimated, input_tokens + output_tokens as took from usage_records')
  return record
}

describe('a limit', () => {
  test('a limit in tokens reserves input and longest answer, then commits actual usage', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 200 }], {
      env: { LIMITS_MAX_OUTPUT_TOKENS: '100' },
    })
    const { token } = await world.svc.user()

    const [first, second] = [await sendQuestion(world.svc, token), await sendQuestion(world.svc, token)]

    expect([first.status, second.status]).toEqual([200, 200])
    expect(world.provider.requests.map(({ body }) => body['max_tokens'])).toEqual([100, 100])
    // The provider counts 7 tokens of input and 3 of output for each call.
    expect(await readLimitState(world.svc, 'all')).toEqual({ cap: 200, used: 20, held: 0, refused: 0 })
    expect((await sendQuestion(world.svc, token, 'long '.repeat(100))).status).toBe(429)
  })

  test('a limit in tokens cuts an answer beyond four times the requested length', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 200 }], longestOf20)

    const { text } = await readEndless(world)

    expect(text.match(/event: (?!delta)\w+/g)).toEqual(['event: usage', 'event: done'])
    expect(text).toMatch(/event: usage\ndata: \{.*"cut":"limit"\}/)
    expect(await recordOf(world)).toEqual({ outcome: 'cut', estimated: true, took: 2 + 82 })
    expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 84, held: 0 })
  })

  test('a limit in tokens cuts an answer beyond the requested length when used up', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 30 }], longestOf20)

    const { text } = await readEndless(world)

    expect(text).toMatch(/event: usage\ndata: \{.*"cut":"limit"\}/)
    expect(await recordOf(world)).toEqual({ outcome: 'cut', estimated: true, took: 2 + 22 })
  })

  test('a limit in tokens cuts an answer once the provider counts too much', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 200 }], {
      ...longestOf20,
      provider: { continuousUsage: true },
    })

    const { text } = await readEndless(world, (completion_tokens) => ({ prompt_tokens: 2, completion_tokens }))

    expect(text).toMatch(/event: usage\ndata: \{.*"cut":"limit"\}/)
    expect(await recordOf(world)).toMatchObject({ outcome: 'cut', took: 2 + 21 })
  })

  test('an answer that the provider counts lower than the service is not cut', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 200 }], longestOf20)
    world.provider.behave = async (_, response) => {
      beginStream(response)
      for (let words = 0; words < 8; words++) {
        response.write(buildChunk({ delta: { content: 'здравствуйте ' } }))
        await pause(5)
      }
      response.write(
        buildChunk({ delta: {}, finish_reason: 'stop' }, { usage: { prompt_tokens: 2, completion_tokens: 16 } }),
      )
      response.end('data: [DONE]\n\n')
    }
    const { token } = await world.svc.user()

    const answer = await world.svc.send('POST', '/api/ai-req', { token, headers: streamed, body: buildQuestion() })
    const text = await answer.text()

    expect(text.split('здравствуйте ')).toHaveLength(1 + 8)
    expect(text).not.toContain('"cut"')
    expect(await recordOf(world)).toEqual({ outcome: 'completed', estimated: false, took: 18 })
    expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 18, held: 0 })
  })

  test('a limit in money refuses an unpriced model unless it sets a price', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'EUR', cap: 1 }])
    const { token } = await world.svc.user()

    const refusal = await sendQuestion(world.svc, token)
    await world.svc.host.limits.set({ ...requestLimit, unit: 'EUR', cap: 1, unpriced: 0.25 } as never)
    const counted = await sendQuestion(world.svc, token)

    expect([refusal.status, ((await refusal.json()) as { message: string }).message]).toEqual([
      429,
      "The limit 'all' is in money, and what this model costs in EUR is not known.",
    ])
    expect(counted.status).toBe(200)
    expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 250_000, held: 0 })
  })

  test('a limit in money counts what the call cost', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'EUR', cap: 1 }], { model: { pricing } })
    const { token } = await world.svc.user()

    await sendQuestion(world.svc, token)

    expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 7 + 6, held: 0 })
  })
})

/** Makes a call in a process of its own, kills that when the condition holds, and waits for the commit. */
async function killAmid(world: World, path: string, body: object, condition: string) {
  const { svc } = world
  const { token } = await svc.user()
  await using folder = await createDataFolder()
  const { DATABASE_URL = '', APP_KEY = '' } = svc.env
  const settings = { DATABASE_URL, APP_KEY, DATA_DIR: folder.path, AI_CONFIG: world.config.file, PORT: '0' }
  await using dying = startProcess({ ...settings, NODE_ENV: 'development' })
  const url = await dying.ready()
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'content-type': 'application/json' }
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const readReservations = () => svc.rows(`select id from usage_holds where ${condition}`)
  await vi.waitUntil(async () => (await readReservations()).length === 1, SLOW)
  const before = await readLimitState(svc, 'all')

  dying.kill('SIGKILL')
  await dying.ended
  await answer.body?.cancel().catch(() => {})
  await svc.rows("update usage_holds set lease_until = now() - interval '1 s'")

  await vi.waitUntil(async () => (await readLimitState(svc, 'all'))?.held === 0, SLOW)
  return { before, after: await readLimitState(svc, 'all') }
}

describe('a call whose process died', () => {
  const env = { APP_KEY: randomBytes(32).toString('base64') }

  test('a call whose process died is committed elsewhere at what it had delivered', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 10_000 }], {
      env,
      provider: { continuousUsage: true },
      model: { pricing },
    })
    world.provider.behave = countsAndWaits

    const { before, after } = await killAmid(world, '/api/ai-req', buildQuestion(), 'output_tokens = 40')

    expect(before).toMatchObject({ used: 0, held: 2 + 4096 })
    expect(after).toMatchObject({ used: 70, held: 0 })
    expect(
      await world.svc.rows(`select outcome, estimated, input_tokens as input, output_tokens as output, cached_tokens as cached,
        reasoning_tokens as reasoning, cost_micros::int as cost, currency from usage_records`),
    ).toEqual([
      {
        outcome: 'lost',
        estimated: true,
        input: 30,
        output: 40,
        cached: 20,
        reasoning: 10,
        cost: 10 + 20 * 0.5 + 40 * 2,
        currency: 'EUR',
      },
    ])
  })

  test('a call whose process died is billed for pages read until then', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 1_000_000 }], {
      env,
      provider: { adapter: 'anthropic' },
      model: { nativeCapabilities: ['web_fetch'], pricing: { ...pricing, webFetchPerThousand: 0.5 } },
    })
    const read = (id: string) => [
      { type: 'server_tool_use', id, name: 'web_fetch', input: { url: 'https://example.org/' } },
      buildFetchedPage(id, 'https://example.org/', 'e4 is best.'),
    ]
    const usage = { input_tokens: 70, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
    world.provider.behave = stallsAfterBlocks([...read('srvtoolu_1'), ...read('srvtoolu_2')], usage)
    const messages = [{ role: 'user', content: 'Which is best?' }]
    const body = { model: 'mock-1', messages, tools: ['capability:web_fetch:native'], stream: true }

    const { after } = await killAmid(world, '/v1/chat/completions', body, 'web_fetches = 2')

    const [record] = await world.svc.rows<Record<'input' | 'output' | 'cost', number>>(
      `select outcome, web_fetches as fetches, input_tokens as input, output_tokens as output,
              cost_micros::int as cost from usage_records`,
    )
    const { input = 0, output = 0, cost } = record ?? {}
    expect(record).toMatchObject({ outcome: 'lost', fetches: 2 })
    // The input includes the content of the pages.
    expect(input).toBeGreaterThan(70)
    expect(cost).toBe(input + 2 * output + 2 * 500)
    expect(after).toMatchObject({ used: input + output, held: 0 })
  })
})

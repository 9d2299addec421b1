import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { answersFromCache } from '../../kit/ai/prompt-cache.ts'
import { answers } from '../../kit/ai/provider.ts'
import { startWithProvider } from '../../kit/ai/provider-service.ts'

type App = Awaited<ReturnType<typeof startWithProvider>>

const mark = { type: 'ephemeral' } as const
const hour = { type: 'ephemeral', ttl: '1h' } as const
const manual = 'Chess is a game for two. '.repeat(200)

const tools: Anthropic.Tool[] = [
  { name: 'read', description: 'Reads a file.', input_schema: { type: 'object' } },
  { name: 'write', description: 'Writes a file.', input_schema: { type: 'object' }, cache_control: hour },
]
const system: Anthropic.TextBlockParam[] = [
  { type: 'text', text: 'You help with chess.' },
  { type: 'text', text: manual, cache_control: hour },
]

describe('with a model of Anthropic', () => {
  let app: App
  let client: Anthropic
  beforeAll(async () => {
    app = await startWithProvider(answersFromCache(), { adapter: 'anthropic' })
    const prices = [
      {
        currency: 'EUR',
        inputCostPerToken: 10e-6,
        inputCostPerCachedToken: 1e-6,
        inputCostPerCacheWriteToken: 12e-6,
        outputCostPerToken: 0,
        outputCostPerReasoningToken: null,
        range: [0, null],
      },
    ]
    await app.svc.changeCatalogue(`update ai_models set pricing = '${JSON.stringify({ ranges: prices })}'`)
    client = new Anthropic({ apiKey: app.token, baseURL: app.svc.url })
  })
  afterAll(() => app[Symbol.asyncDispose]())
  beforeEach(() => app.answerBy(answersFromCache()))

  const sendQuestion = (messages: Anthropic.MessageParam[], more: object = {}) =>
    client.messages.create({ model: 'mock-1', max_tokens: 100, system, tools, messages, ...more, stream: false })
  const sent = () => app.upstream.requests.at(-1)?.body as unknown as Record<string, unknown>

  test("a client's marks reach the provider where they stood", async () => {
    const result = { type: 'tool_result', tool_use_id: 'c1', content: 'e4', cache_control: mark } as const
    await sendQuestion([
      { role: 'user', content: [{ type: 'text', text: 'Read.' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'read', input: {} }] },
      { role: 'user', content: [result] },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Go on.', cache_control: mark }] },
    ])

    const {
      tools: sentTools,
      system: sentSystem,
      messages,
    } = sent() as never as {
      tools: { cache_control?: object }[]
      system: object[]
      messages: { content: { cache_control?: object }[] }[]
    }
    expect(sentTools.map(({ cache_control }) => cache_control)).toEqual([undefined, hour])
    expect(sentSystem).toMatchObject([{ text: `You help with chess.\n\n${manual}`, cache_control: hour }])
    expect(messages.map(({ content }) => content.map(({ cache_control }) => cache_control))).toEqual([
      [undefined],
      [undefined],
      [mark],
      [undefined],
      [mark],
    ])
  })

  test('marks in a chat completion reach the provider where they stood', async () => {
    const text = (words: string) => [{ type: 'text', text: words, cache_control: mark }]
    const call = { id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }
    const document = { filename: 'a.txt', file_data: `data:text/plain;base64,${btoa('Rules')}` }
    const body = {
      model: 'mock-1',
      tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }],
      messages: [
        { role: 'user', content: [{ type: 'file', file: document, cache_control: mark }] },
        { role: 'assistant', content: text('I read.'), tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: text('e4') },
      ],
    }
    const response = await app.svc.send('POST', '/v1/chat/completions', { token: app.token, body })

    expect(response.status).toBe(200)
    const { messages } = sent() as { messages: { content: { type: string; cache_control?: object }[] }[] }
    expect(messages.map(({ content }) => content.map(({ cache_control }) => cache_control))).toEqual([
      [mark],
      [mark, undefined],
      [mark],
    ])
  })

  test('marks of what the provider cannot mark are left out and named', async () => {
    const thought = { type: 'thinking', thinking: 'Hm.', signature: 'abc', cache_control: mark }
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [thought, { type: 'text', text: 'Yes?' }] },
      { role: 'user', content: 'Go on.' },
    ]
    const bash = { type: 'bash_20250124', name: 'bash', cache_control: mark }
    const body = { model: 'mock-1', max_tokens: 100, messages, tools: [bash] }
    const response = await app.svc.send('POST', '/v1/messages', { token: app.token, body })

    expect([response.status, response.headers.get('x-ignored-parameters')]).toEqual([
      200,
      'messages.content.cache_control, tools.cache_control',
    ])
  })

  test('at most four marks reach the provider, the last ones', async () => {
    const content = ['a', 'b', 'c', 'd'].map((text) => ({ type: 'text' as const, text, cache_control: mark }))
    await sendQuestion([{ role: 'user', content }])

    const marks = JSON.stringify(sent()).match(/"cache_control"/g)
    const { messages } = sent() as { messages: { content: { cache_control?: object }[] }[] }
    expect(marks).toHaveLength(4)
    expect(messages[0]?.content.map(({ cache_control }) => cache_control)).toEqual([mark, mark, mark, mark])
  })

  test('the mark of a whole request reaches the provider', async () => {
    await sendQuestion([{ role: 'user', content: 'Hello' }], { cache_control: mark })

    expect(sent()['cache_control']).toEqual(mark)
  })

  test('the second turn reads from the cache, at its price', async () => {
    const first: Anthropic.MessageParam[] = [
      { role: 'user', content: [{ type: 'text', text: 'How do you do?', cache_control: mark }] },
    ]
    const one = await sendQuestion(first)
    const two = await sendQuestion([
      { role: 'user', content: [{ type: 'text', text: 'How do you do?' }] },
      { role: 'assistant', content: one.content },
      { role: 'user', content: [{ type: 'text', text: 'And now?', cache_control: mark }] },
    ])

    expect(one.usage).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: expect.any(Number) })
    expect(two.usage.cache_read_input_tokens).toBe(one.usage.cache_creation_input_tokens)
    expect(two.usage.cache_read_input_tokens).toBeGreaterThan(1000)
    expect(two.usage.cache_creation_input_tokens).toBeGreaterThan(0)
    await app.svc.services.ai.usageLedger.flush()
    const records = await app.svc.rows<Record<string, number>>(
      `select cached_tokens as read, cache_write_tokens as written, input_tokens as input, cost_micros::int as cost
         from usage_records order by id`,
    )
    expect(records).toEqual(
      [one, two].map(({ usage }) => {
        const { input_tokens: rest, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
        const input = rest + (read ?? 0) + (written ?? 0)
        return { read, written, input, cost: 10 * rest + (read ?? 0) + 12 * (written ?? 0) }
      }),
    )
  })

  test('reads and writes of the cache are reported on all surfaces', async () => {
    const openai = new OpenAI({ apiKey: app.token, baseURL: `${app.svc.url}/v1` })
    const content = [{ type: 'text', text: manual, cache_control: mark }]
    const messages = [{ role: 'user', content }] as unknown as OpenAI.ChatCompletionMessageParam[]
    const sendChat = () => openai.chat.completions.create({ model: 'mock-1', messages })

    const [one, two] = [await sendChat(), await sendChat()]

    const details = [one, two].map(({ usage }) => usage?.prompt_tokens_details)
    const { cache_write_tokens: written } = details[0] as unknown as { cache_write_tokens: number }
    expect(written).toBeGreaterThan(1000)
    expect(details).toMatchObject([{ cached_tokens: 0 }, { cached_tokens: written, cache_write_tokens: 0 }])
  })
})

describe('with other models', () => {
  test.for(['openai-compatible', 'mistral'])('%s gets no marks, and the response names them once', async (adapter) => {
    await using app = await startWithProvider(answers('Good day.'), { adapter })
    const client = new Anthropic({ apiKey: app.token, baseURL: app.svc.url })
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi', cache_control: mark }] }]

    const { response } = await client.messages
      .create({ model: 'mock-1', max_tokens: 10, system, tools, messages, cache_control: mark } as never)
      .withResponse()

    expect(JSON.stringify(app.upstream.requests.map(({ body }) => body))).not.toContain('cache')
    expect((response as Response).headers.get('x-ignored-parameters')).toBe('cache_control')
  })
})

test.for([
  ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/responses', { input: 'Hi' }],
])('only OpenAI gets the key and time of the cache from %s', async ([path, body]) => {
  const hints = { prompt_cache_key: 'repository-1', prompt_cache_retention: '24h' }
  for (const adapter of ['openai', 'openai-compatible']) {
    await using app = await startWithProvider(answers('Good day.'), { adapter })

    const response = await app.svc.send('POST', `/v1${path as string}`, {
      token: app.token,
      body: { model: 'mock-1', ...(body as object), ...hints },
    })

    const sent = app.upstream.requests[0]?.body
    if (adapter === 'openai') expect(sent).toMatchObject(hints)
    else expect(JSON.stringify(sent)).not.toContain('cache')
    const named = adapter === 'openai' ? null : 'prompt_cache_key, prompt_cache_retention'
    expect(response.headers.get('x-ignored-parameters')).toBe(named)
  }
})

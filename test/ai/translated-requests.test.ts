import { beforeEach, expect, test } from 'vitest'
import { plainAnswer as plain, startDialects, upstreamIds } from '../kit/ai/dialect-service.ts'
import type { Call, DialectAnswer } from '../kit/ai/dialects/dialect.ts'
import { answerInDialect } from '../kit/ai/task-model.ts'
import { shareResource } from '../kit/share-resource.ts'

const callAnswer = (...calls: Call[]): DialectAnswer => ({ text: '', calls, end: 'calls', tokens: plain.tokens })

type AdapterName = keyof typeof upstreamIds
const adapters = Object.keys(upstreamIds) as AdapterName[]

const service = shareResource(startDialects)
beforeEach(() => {
  service.upstream.behave = answerInDialect(() => plain)
  service.upstream.requests.length = 0
})

/** Sends a request that must be accepted; returns the answer and the body that the provider got. */
async function sendQuestion(path: string, body: object) {
  const response = await service.send(path, body)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return { text, sent: service.upstream.requests.at(-1)?.sent ?? '', headers: response.headers }
}

const user = (content: unknown) => ({ role: 'user', content })
const hi = user('Hi')
const events = (text: string) => [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))

const patch = { id: 'call00000', name: 'apply_patch', input: { input: '*** Begin' } }

test.for([false, true])('a custom tool of a response is called by text and answered (streamed: %s)', async (stream) => {
  service.upstream.behave = answerInDialect(() => callAnswer(patch))
  const tools = [{ type: 'custom', name: 'apply_patch' }]
  const { text } = await sendQuestion('/v1/responses', { model: 'openai-compatible', input: 'Hi', tools, stream })

  const all = stream ? events(text) : []
  const { output } = stream ? all.at(-1).response : JSON.parse(text)
  expect(output).toMatchObject([{ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin' }])
  if (stream) expect(all.map(({ type }) => type)).toContain('response.custom_tool_call_input.done')
  service.upstream.behave = answerInDialect(() => plain)
  const result = { type: 'custom_tool_call_output', call_id: output[0].call_id, output: 'Done' }
  const { sent } = await sendQuestion('/v1/responses', {
    model: 'openai-compatible',
    input: [hi, ...output, result],
    tools,
  })
  expect(JSON.parse(sent).messages).toMatchObject([
    hi,
    { tool_calls: [{ function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' } }] },
    { role: 'tool', content: 'Done' },
  ])
})

test.for([false, true])('a custom tool of a chat completion is called by its text (streamed: %s)', async (stream) => {
  service.upstream.behave = answerInDialect(() => callAnswer(patch))
  const tools = [{ type: 'custom', custom: { name: 'apply_patch' } }]
  const { text } = await sendQuestion('/v1/chat/completions', {
    model: 'openai-compatible',
    messages: [hi],
    tools,
    stream,
  })

  const found = stream
    ? events(text).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
    : JSON.parse(text).choices[0].message.tool_calls
  expect(found).toMatchObject([{ type: 'custom', custom: { name: 'apply_patch', input: '*** Begin' } }])
})

test('tools of a namespace are called by both names, and accepted back', async () => {
  service.upstream.behave = answerInDialect(({ tools }) =>
    callAnswer({ id: 'call00000', name: `${tools[0]?.name}`, input: {} }),
  )
  const inner = { type: 'function', name: 'find', parameters: { type: 'object', properties: {} }, strict: false }
  const tools = [{ type: 'namespace', name: 'mcp__mail__', description: 'Mail', tools: [inner] }]
  const { text } = await sendQuestion('/v1/responses', { model: 'openai-compatible', input: 'Hi', tools })

  const [call] = JSON.parse(text).output
  expect(call).toMatchObject({ type: 'function_call', name: 'find', namespace: 'mcp__mail__' })
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'None' }
  service.upstream.behave = answerInDialect(() => plain)
  const { sent } = await sendQuestion('/v1/responses', { model: 'openai-compatible', input: [hi, call, result], tools })
  expect(JSON.parse(sent).messages[1].tool_calls[0].function.name).toBe('mcp__mail__find')
})

test("a web search is the model's own, or left out where missing", async () => {
  const requests: [path: string, body: object][] = [
    ['/v1/responses', { input: 'Hi', tools: [{ type: 'web_search' }] }],
    [
      '/v1/messages',
      { messages: [hi], max_tokens: 2000, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    ],
    ['/v1/chat/completions', { messages: [hi], web_search_options: {} }],
  ]
  for (const [path, body] of requests) {
    expect((await sendQuestion(path, { ...body, model: 'openai' })).sent).not.toContain('web_search')
    expect((await sendQuestion(path, { ...body, model: 'searching openai' })).sent).toContain('"type":"web_search"')
    expect((await sendQuestion(path, { ...body, model: 'searching anthropic' })).sent).toContain('web_search_20250305')
  }
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test.for(adapters)('a picture in the result of a tool reaches the model of %s', async (model) => {
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/jpg', data: png } }
  const messages = [
    hi,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'shoot', input: {} }] },
    user([
      { type: 'tool_result', tool_use_id: 'a', content: [picture] },
      { type: 'text', text: 'Well?' },
    ]),
  ]
  const tools = [{ name: 'shoot', input_schema: { type: 'object', properties: {} } }]
  const { sent } = await sendQuestion('/v1/messages', { model, max_tokens: 2000, messages, tools })

  expect(sent).toContain(png)
  expect(sent).toContain('image/png')
  if (model !== 'openai-compatible') return
  const sentMessages = JSON.parse(sent).messages
  expect(sentMessages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
})

test.for(adapters)('instructions alone, empty texts and the beginning of an answer are taken for %s', async (model) => {
  const assistantMessage = { role: 'assistant', content: 'Once upon' }
  for (const messages of [
    [{ role: 'system', content: 'Say hi.' }],
    [hi, { role: 'assistant', content: '' }, user('Well?')],
    [hi, { role: 'assistant', content: null }, hi],
    [hi, assistantMessage],
  ]) {
    const { sent } = await sendQuestion('/v1/chat/completions', { model, messages })
    expect(sent).not.toContain('"text":""')
    if (messages.includes(assistantMessage)) expect(sent).toContain('Once upon')
  }
})

test.for([
  [2000, 'low'],
  [8000, 'medium'],
  [31_999, 'high'],
] as const)('a budget of %i tokens of thoughts is the effort %s', async ([budget_tokens, effort]) => {
  const body = { max_tokens: 64_000, messages: [hi], thinking: { type: 'enabled', budget_tokens } }
  expect((await sendQuestion('/v1/messages', { ...body, model: 'openai-compatible' })).sent).toContain(
    `"reasoning_effort":"${effort}"`,
  )
  expect((await sendQuestion('/v1/messages', { ...body, model: 'anthropic' })).sent).toContain(
    `"budget_tokens":${budget_tokens}`,
  )
})

test('an unsupported parameter is left out, and reported', async () => {
  const { headers, sent } = await sendQuestion('/v1/chat/completions', {
    model: 'anthropic',
    messages: [hi],
    max_tokens: 50,
    presence_penalty: 1,
    verbosity: 'low',
    frequency_penalty: 0,
  })

  expect(headers.get('x-ignored-parameters')).toBe('presence_penalty, verbosity')
  expect(sent).not.toMatch(/penalty|verbosity/)
})

test('template options reach servers of open models, and are reported as ignored elsewhere', async () => {
  const body = { messages: [hi], chat_template_kwargs: { enable_thinking: false, depth: { of: [1] } } }
  const open = await sendQuestion('/v1/chat/completions', { ...body, model: 'openai-compatible' })
  expect(JSON.parse(open.sent)).toMatchObject({ chat_template_kwargs: body.chat_template_kwargs })
  expect(open.headers.get('x-ignored-parameters')).toBeNull()

  const templated = await sendQuestion('/v1/chat/completions', { ...body, model: 'templated' })
  expect(JSON.parse(templated.sent).chat_template_kwargs).toEqual({ ...body.chat_template_kwargs, builtin: true })

  for (const model of ['openai', 'anthropic', 'google', 'mistral']) {
    const { sent, headers } = await sendQuestion('/v1/chat/completions', { ...body, model })
    expect([model, headers.get('x-ignored-parameters')]).toEqual([model, 'chat_template_kwargs'])
    expect(sent).not.toContain('enable_thinking')
  }

  const long = { model: 'openai-compatible', messages: [hi], chat_template_kwargs: { words: 'x'.repeat(4000) } }
  const refusal = await service.send('/v1/chat/completions', long)
  expect([refusal.status, await refusal.json()]).toMatchObject([400, { error: { param: 'chat_template_kwargs' } }])
})

test.for([false, true])(
  'the stop sequence that ended an answer of Anthropic is reported (streamed: %s)',
  async (stream) => {
    service.upstream.behave = answerInDialect(() => ({ ...plain, stop: 'END' }))
    const body = { model: 'anthropic', max_tokens: 50, messages: [hi], stop_sequences: ['END'], stream }

    expect((await sendQuestion('/v1/messages', body)).text).toContain(
      '"stop_reason":"stop_sequence","stop_sequence":"END"',
    )
  },
)

test('refusals and thoughts are accepted back unchanged', async () => {
  const refusal = { type: 'refusal', refusal: 'No.' }
  const messages = [hi, { role: 'assistant', content: [refusal], reasoning: 'Hm' }, hi]
  const input = [hi, { type: 'message', role: 'assistant', content: [refusal] }, hi]

  expect((await sendQuestion('/v1/chat/completions', { model: 'openai-compatible', messages })).sent).toContain('No.')
  expect((await sendQuestion('/v1/responses', { model: 'openai-compatible', input })).sent).toContain('No.')
})

const picture = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'low' } })
const call = (name: string) => ({ id: 'c', type: 'function', function: { name, arguments: '{}' } })
const paths: [path: string, body: object, name: string][] = [
  [
    '/v1/chat/completions',
    { messages: [hi, { role: 'tool', tool_call_id: 'x', content: 'a' }] },
    'messages[1].tool_call_id',
  ],
  [
    '/v1/chat/completions',
    { messages: [hi, { role: 'assistant', tool_calls: [call('a b')] }, hi] },
    'messages[1].tool_calls[0].function.name',
  ],
  [
    '/v1/chat/completions',
    { messages: [user([picture('data:image/png;base64,aaaa')])] },
    'messages[0].content[0].image_url.url',
  ],
  ['/v1/chat/completions', { messages: [hi], max_completion_tokens: 0 }, 'max_completion_tokens'],
  [
    '/v1/chat/completions',
    { messages: [hi], tools: [{ type: 'custom', custom: { name: 'a b' } }] },
    'tools[0].custom.name',
  ],
  [
    '/v1/responses',
    { input: [hi, { type: 'custom_tool_call_output', call_id: 'x', output: 'a' }] },
    'input[1].call_id',
  ],
  [
    '/v1/messages',
    { max_tokens: 9, messages: [user([{ type: 'tool_result', tool_use_id: 'x', content: 'a' }])] },
    'messages.0.content.0.tool_use_id',
  ],
  ['/v1/messages', { max_tokens: 9, messages: [hi], tools: [{ name: 'a b', input_schema: {} }] }, 'tools.0.name'],
]

test.for(paths)('an error of %s names a member of the caller', async ([path, body, name]) => {
  const response = await service.send(path, { model: 'openai-compatible', ...body })

  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(name)])
})

test('a service with strict parameters refuses unknown ones by name', async () => {
  await using strict = await startDialects({ STRICT_PARAMETERS: 'true' })
  const model = 'openai-compatible'
  const surfaces: [path: string, body: object, status: number][] = [
    ['/v1/chat/completions', { model, messages: [hi], top_a: 1 }, 400],
    ['/v1/responses', { model, input: 'Hi', top_a: 1 }, 400],
    ['/v1/messages', { model, max_tokens: 9, messages: [hi], top_a: 1 }, 400],
    ['/api/ai-req', { payload: { model, messages: [user({ text: 'Hi' })], top_a: 1 } }, 422],
  ]
  for (const [path, body, status] of surfaces) {
    const response = await strict.send(path, body)
    expect([path, response.status, await response.text()]).toEqual([path, status, expect.stringContaining('top_a')])
    expect(response.headers.get('x-ignored-parameters')).toBeNull()
  }
  expect(strict.upstream.requests).toEqual([])
})

test('tRPC refuses what is not known, whatever the settings say', async () => {
  const body = { model: 'openai-compatible', messages: [user({ text: 'Hi' })], top_a: 1 }

  expect((await service.send('/trpc/ai.ask', body)).status).toBe(400)
})

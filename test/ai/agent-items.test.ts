import { beforeEach, describe, expect, test } from 'vitest'
import { plainAnswer, startDialects } from '../kit/ai/dialect-service.ts'
import type { Call } from '../kit/ai/dialects/dialect.ts'
import { sendJson } from '../kit/ai/provider.ts'
import { answerInDialect } from '../kit/ai/task-model.ts'
import { shareResource } from '../kit/share-resource.ts'

const service = shareResource(startDialects)
beforeEach(() => answerWith())

/** Has the models call this tool, or answer by a text. */
function answerWith(...calls: Call[]): void {
  service.upstream.requests.length = 0
  service.upstream.behave = answerInDialect(() =>
    calls.length > 0 ? { text: '', calls, end: 'calls', tokens: plainAnswer.tokens } : plainAnswer,
  )
}

async function send(path: string, body: object) {
  const response = await service.send(path, body)
  const text = await response.text()
  const sent = service.upstream.requests.at(-1)?.body
  return { status: response.status, text, sent, ignored: response.headers.get('x-ignored-parameters') }
}

async function sendQuestion(path: string, body: object) {
  const rest = await send(path, body)
  expect(rest.status, rest.text).toBe(200)
  return rest
}

/** Returns the output of a response, streamed or whole. */
async function respond(body: object, stream: boolean) {
  const { text, ...rest } = await sendQuestion('/v1/responses', { model: 'openai-compatible', ...body, stream })
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
  const response = stream ? events.at(-1).response : JSON.parse(text)
  if (stream) expect(done).toEqual(response.output)
  return { ...rest, response, output: response.output }
}

const hi = { role: 'user', content: 'Hi' }
const read = { name: 'read', input_schema: { type: 'object' } }
const find = { type: 'function', name: 'find', parameters: { type: 'object', properties: {} } }

describe.each([false, true])('an item of Codex (streamed: %s)', (stream) => {
  test('the client runs a search for tools, which offers the tools it finds', async () => {
    const tools = [
      { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object' } },
    ]
    answerWith({ id: 'call00000', name: 'tool_search', input: { query: 'mail' } })
    const { output } = await respond({ input: 'Hi', tools }, stream)
    expect(output).toMatchObject([
      { type: 'tool_search_call', execution: 'client', call_id: 'call00000', arguments: { query: 'mail' } },
    ])

    answerWith({ id: 'call00001', name: 'mail__find', input: {} })
    const found = { type: 'namespace', name: 'mail', description: 'Mail', tools: [{ ...find, defer_loading: true }] }
    const result = { type: 'tool_search_output', execution: 'client', call_id: 'call00000', tools: [found] }
    const next = await respond({ input: [hi, ...output, result, result].slice(0, 3), tools }, stream)
    expect(next.output).toMatchObject([{ type: 'function_call', name: 'find', namespace: 'mail' }])
    expect(next.sent?.tools).toMatchObject([
      { function: { name: 'tool_search' } },
      { function: { name: 'mail__find' } },
    ])
    expect(next.sent?.messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('mail__find') })
  })

  test('a shell of the client is called with a command, and accepted back', async () => {
    const tools = [{ type: 'local_shell' }]
    answerWith({ id: 'call00000', name: 'local_shell', input: { command: ['ls'] } })
    const { output } = await respond({ input: 'Hi', tools }, stream)
    expect(output).toMatchObject([{ type: 'local_shell_call', action: { type: 'exec', command: ['ls'], env: {} } }])

    answerWith()
    const result = { type: 'local_shell_call_output', id: 'call00000', output: '{"stdout":"a"}' }
    const { sent } = await respond({ input: [hi, ...output, result], tools }, stream)
    expect(sent?.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call00000', content: '{"stdout":"a"}' })
  })

  test('a compaction is a summary that the service reads again', async () => {
    const { output, sent } = await respond({ input: [hi, { type: 'compaction_trigger' }], tools: [find] }, stream)
    expect(output).toMatchObject([{ type: 'compaction', encrypted_content: expect.any(String) }])
    expect(sent).toMatchObject({ tool_choice: 'none' })

    const foreign = { type: 'compaction_summary', encrypted_content: 'gAAAA' }
    const next = await respond({ input: [foreign, ...output, hi] }, stream)
    expect(next.ignored).toBe('input.compaction_summary')
    expect(JSON.stringify(next.sent)).toContain('Good day.')
    expect(JSON.stringify(next.sent)).not.toContain('gAAAA')
  })
})

test("commands and patches of a history are the model's calls, with their results", async () => {
  const [action, operation] = [{ commands: ['ls'] }, { type: 'delete_file', path: 'a.txt' }]
  const input = [
    hi,
    { type: 'shell_call', call_id: 'c1', action },
    {
      type: 'shell_call_output',
      call_id: 'c1',
      output: [{ stdout: 'a.txt', outcome: { type: 'exit', exit_code: 0 } }],
    },
    { type: 'apply_patch_call', call_id: 'c2', operation },
    { type: 'apply_patch_call_output', call_id: 'c2', status: 'completed', output: 'deleted' },
    hi,
  ]
  const { sent, ignored } = await sendQuestion('/v1/responses', { model: 'openai-compatible', input })

  const readCall = (id: string, name: string, value: object) => ({
    tool_calls: [{ id, function: { name, arguments: JSON.stringify(value) } }],
  })
  expect(ignored).toBeNull()
  expect(sent?.messages).toMatchObject([
    { role: 'user' },
    readCall('c1', 'shell', action),
    { role: 'tool', tool_call_id: 'c1', content: expect.stringContaining('"stdout":"a.txt"') },
    readCall('c2', 'apply_patch', operation),
    { role: 'tool', tool_call_id: 'c2', content: 'deleted' },
    { role: 'user' },
  ])
})

test('a change of the configuration within the input replaces the effort', async () => {
  const update = (effort: string) => ({ type: 'configuration_update', reasoning: { effort } })
  const input = [hi, update('low'), update('high'), hi]
  const { sent } = await sendQuestion('/v1/responses', {
    model: 'openai-compatible',
    reasoning: { effort: 'medium' },
    input,
  })

  expect(sent).toMatchObject({ reasoning_effort: 'high' })
})

test('unknown items are left out, named once, and keep the positions of the others', async () => {
  const unknown = [
    { type: 'mcp_list_tools', tools: [] },
    { type: 'program', code: 'x' },
    { type: 'program', code: 'y' },
  ]
  const model = 'openai-compatible'
  const { ignored } = await sendQuestion('/v1/responses', { model, input: [...unknown, hi] })
  expect(ignored).toBe('input.mcp_list_tools, input.program')

  const result = { type: 'function_call_output', call_id: 'x', output: 'a' }
  const { status, text } = await send('/v1/responses', { model, input: [...unknown, hi, result] })
  expect([status, text]).toEqual([400, expect.stringContaining('input[4].call_id')])
})

test('an earlier request for a summary keeps the positions of later items', async () => {
  const result = { type: 'function_call_output', call_id: 'x', output: 'a' }
  const input = [hi, { type: 'compaction_trigger' }, hi, result]

  const { status, text } = await send('/v1/responses', { model: 'openai-compatible', input })

  expect([status, text]).toEqual([400, expect.stringContaining('input[3].call_id')])
})

test('what cannot be left out of the input is refused with the reason', async () => {
  const refusals: [path: string, body: object, reason: string][] = [
    ['/v1/responses', { input: [hi, { type: 'item_reference', id: 'msg_1' }] }, 'nothing is stored'],
    [
      '/v1/responses',
      { input: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      'texts, pictures and files are',
    ],
    ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'hologram' }] }] }, 'kind that is known'],
    ['/v1/responses', { input: 'Hi', tools: [{ type: 'code_interpreter' }] }, 'is run by OpenAI'],
    ['/v1/responses', { input: 'Hi', tools: [find], tool_choice: { type: 'mcp' } }, 'is a tool of OpenAI'],
    [
      '/v1/messages',
      { max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'container_upload' }] }] },
      'container',
    ],
    [
      '/v1/messages',
      { max_tokens: 9, messages: [hi], tools: [{ type: 'code_execution_20260120' }] },
      'is run by Anthropic',
    ],
    ['/v1/messages', { max_tokens: 9, messages: [hi], tools: [{ type: { toString: 1 } }] }, 'is run by Anthropic'],
    ['/v1/messages', { max_tokens: 9, messages: [hi], tools: [read, read] }, 'must have different names'],
    ['/v1/responses', { input: 'Hi', tools: [find, find] }, 'must have different names'],
  ]
  for (const [path, body, reason] of refusals) {
    const { status, text } = await send(path, { model: 'openai-compatible', ...body })
    expect.soft([status, text], reason).toEqual([400, expect.stringContaining(reason)])
  }
  expect(service.upstream.requests).toEqual([])
})

test('a hint whose value is unknown is left out and named', async () => {
  const hints: [path: string, body: object, ignored: string][] = [
    [
      '/v1/messages',
      { max_tokens: 9, thinking: { type: 'adaptive', display: 'updates' }, output_config: { effort: 'ultra' } },
      'thinking.display, output_config.effort',
    ],
    ['/v1/messages', { max_tokens: 9, thinking: { type: 'dreaming' } }, 'thinking'],
    ['/v1/chat/completions', { reasoning_effort: 'ultra', verbosity: 'epic' }, 'verbosity, reasoning_effort'],
    [
      '/v1/responses',
      { reasoning: { effort: 'ultra', summary: 'long' }, text: { verbosity: 'epic' } },
      'reasoning.effort, reasoning.summary, text.verbosity',
    ],
  ]
  for (const [path, body, expected] of hints) {
    const conversation = path === '/v1/responses' ? { input: [hi] } : { messages: [hi] }
    const { ignored } = await sendQuestion(path, { model: 'openai-compatible', ...conversation, ...body })
    expect.soft(ignored, path).toBe(expected)
  }
})

describe('a search of the web that must be called', () => {
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const requests: Record<string, [path: string, body: object]> = {
    'by its name in messages': [
      '/v1/messages',
      { max_tokens: 900, messages: [hi], tools: [search], tool_choice: { type: 'tool', name: 'web_search' } },
    ],
    'as the only tool in messages': [
      '/v1/messages',
      { max_tokens: 900, messages: [hi], tools: [search], tool_choice: { type: 'any' } },
    ],
    'by its type in responses': [
      '/v1/responses',
      { input: 'Hi', tools: [{ type: 'web_search' }, find], tool_choice: { type: 'web_search' } },
    ],
    'as the only allowed tool in responses': [
      '/v1/responses',
      {
        input: 'Hi',
        tools: [{ type: 'web_search' }, find],
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
      },
    ],
  }

  test.for(Object.entries(requests))('%s is forced where the model has one', async ([, [path, body]]) => {
    const anthropic = await sendQuestion(path, { ...body, model: 'searching anthropic' })
    expect(anthropic.sent).toMatchObject({ tool_choice: { type: 'tool', name: 'web_search' } })
    const openai = await sendQuestion(path, { ...body, model: 'searching openai' })
    expect(openai.sent).toMatchObject({ tool_choice: { type: 'web_search' } })
    for (const model of ['openai-compatible', 'anthropic']) {
      const { status, text } = await send(path, { ...body, model })
      expect([status, text]).toEqual([
        400,
        expect.stringContaining('forces a search of the web, and this model has none'),
      ])
    }
  })

  test('it is offered and reported as not forced by models of Google', async () => {
    const [path, body] = requests['by its name in messages'] ?? ['', {}]
    const { sent, ignored } = await sendQuestion(path, { ...body, model: 'searching google' })

    expect(JSON.stringify(sent)).toContain('googleSearch')
    expect(ignored).toBe('tool_choice')
  })
})

describe("a tool of Anthropic's that the client runs", () => {
  const bash = { type: 'bash_20250124', name: 'bash' }
  const computer = { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600 }
  const question = { max_tokens: 900, messages: [hi] }

  test.for([false, true])('it reaches models of Anthropic, and its call the client (streamed: %s)', async (stream) => {
    answerWith({ id: 'call00000', name: 'bash', input: { command: 'ls' } })
    const tools = [bash, computer, { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' }]
    const { sent, text } = await sendQuestion('/v1/messages', { ...question, model: 'anthropic', tools, stream })

    expect(sent?.tools).toMatchObject(tools)
    expect(text).toContain('"type":"tool_use","id":"call00000","name":"bash"')
  })

  test('other models refuse it with the reason', async () => {
    for (const model of ['openai-compatible', 'openai', 'google', 'mistral']) {
      const { status, text } = await send('/v1/messages', { ...question, model, tools: [bash] })
      expect([status, text]).toEqual([400, expect.stringContaining('tools.0.type: is a tool of Anthropic')])
    }
    expect(service.upstream.requests).toEqual([])
  })
})

test('tools that a message adds are offered, and those that it removes are not', async () => {
  const definition = { name: 'write', input_schema: { type: 'object' } }
  const changes = [
    { type: 'tool_addition', tool: { type: 'tool_definition', definition } },
    { type: 'tool_removal', tool: { type: 'tool_reference', name: 'read' } },
    { type: 'tool_addition', tool: { type: 'mcp_toolset_reference', server_name: 'mail' } },
    { type: 'tool_addition', tool: { type: 'tool_definition', definition: { type: { toString: 1 } } } },
  ]
  const messages = [hi, { role: 'system', content: changes }]
  const { sent, ignored } = await sendQuestion('/v1/messages', {
    model: 'mistral',
    max_tokens: 9,
    messages,
    tools: [read],
  })

  expect(sent?.tools).toMatchObject([{ function: { name: 'write' } }])
  expect(ignored).toBe('messages.content.tool.mcp_toolset_reference, messages.content.tool.definition')
})

test('JSON without a schema is requested in words where providers know only schemas', async () => {
  const body = { model: 'anthropic', messages: [hi], max_tokens: 50, response_format: { type: 'json_object' } }
  const { sent } = await sendQuestion('/v1/chat/completions', body)

  expect(JSON.stringify(sent?.['system'])).toContain('one JSON object')
})

test('a description of a tool may have 64,000 characters, and no more', async () => {
  const describe = (length: number) => ({
    model: 'openai-compatible',
    max_tokens: 9,
    messages: [hi],
    tools: [{ name: 'find', description: 'x'.repeat(length), input_schema: { type: 'object' } }],
  })

  await sendQuestion('/v1/messages', describe(64_000))
  expect(await send('/v1/messages', describe(64_001))).toMatchObject({ status: 400 })
})

test('signatures that began at a provider go back to it, and to no other', async () => {
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }
  const call = { type: 'function_call', call_id: 'c', name: 'find', arguments: '{}' }
  const input = [hi, thought, call, { type: 'function_call_output', call_id: 'c', output: 'a' }]
  const at = async (model: string) =>
    JSON.stringify((await sendQuestion('/v1/responses', { model, input, tools: [find] })).sent)
  expect(await at('openai')).toContain('"encrypted_content":"gAAAA"')
  expect(await at('anthropic')).not.toContain('gAAAA')

  const hidden = [
    { type: 'redacted_thinking', data: 'SEALED' },
    { type: 'tool_use', id: 'c', name: 'find', input: {} },
  ]
  const messages = [
    hi,
    { role: 'assistant', content: hidden },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'a' }] },
  ]
  const tools = [{ name: 'find', input_schema: { type: 'object' } }]
  const { sent } = await sendQuestion('/v1/messages', { model: 'anthropic', max_tokens: 900, messages, tools })
  expect(JSON.stringify(sent)).toContain('"type":"redacted_thinking","data":"SEALED"')
})

test('logprobs go to a server of open models and come back, whole and streamed', async () => {
  const token = {
    token: 'Hi',
    logprob: -0.1,
    bytes: [72, 105],
    top_logprobs: [{ token: 'Ho', logprob: -2, bytes: null }],
  }
  const logprobs = { content: [{ ...token, extra: 1 }, { token: 7 }] }
  const body = { model: 'openai-compatible', messages: [hi], logprobs: true, top_logprobs: 1 }
  service.upstream.behave = (_, response) =>
    sendJson(response, { choices: [{ message: { content: 'Hi' }, logprobs, finish_reason: 'stop' }] })
  const whole = await sendQuestion('/v1/chat/completions', body)
  expect(whole.sent).toMatchObject({ logprobs: true, top_logprobs: 1 })
  expect(JSON.parse(whole.text).choices[0].logprobs).toEqual({ content: [token], refusal: null })

  const chunk = { choices: [{ delta: { content: 'Hi' }, logprobs }] }
  service.upstream.behave = (_, response) =>
    void response.end(`data: ${JSON.stringify(chunk)}\n\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n`)
  expect((await sendQuestion('/v1/chat/completions', { ...body, stream: true })).text).toContain(JSON.stringify(token))

  answerWith()
  expect((await sendQuestion('/v1/chat/completions', { ...body, model: 'google' })).ignored).toBe(
    'logprobs, top_logprobs',
  )
  expect((await sendQuestion('/v1/chat/completions', { ...body, logprobs: false })).ignored).toBe('top_logprobs')
})

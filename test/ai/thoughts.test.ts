import { beforeEach, describe, expect, test } from 'vitest'
import { buildMessages, png, startAllAdapters, tool } from '../kit/ai/all-adapters.ts'
import { protocols } from '../kit/ai/protocols.ts'
import { shareResource } from '../kit/share-resource.ts'

const kinds = shareResource(startAllAdapters)
beforeEach(() => kinds.reset())

describe('the effort of thinking', () => {
  const requestBody = async (model: string, more: object) =>
    (await kinds.bodyFor(model, { max_tokens: 8000, ...more })).body

  test('thoughts and answer together stay within the longest answer at any effort', async () => {
    for (const effort of ['minimal', 'low', 'medium', 'high', 'xhigh']) {
      for (const model of ['anthropic', 'thinks', 'decides']) {
        const body = await requestBody(model, { reasoning_effort: effort })
        expect.soft(body, `${model} ${effort}`).toMatchObject({ max_tokens: 8000 })
        const { budget_tokens: most = 0 } = (body?.['thinking'] ?? {}) as { budget_tokens?: number }
        expect.soft(most, `${model} ${effort}`).toBeLessThanOrEqual(4000)
      }
    }
    expect(await requestBody('anthropic', { reasoning_effort: 'high' })).toMatchObject({
      thinking: { budget_tokens: 3200 },
    })
    expect(await requestBody('thinks', { reasoning_effort: 'high' })).toMatchObject({
      thinking: { budget_tokens: 3000 },
    })
    expect(await requestBody('decides', { reasoning_effort: 'high' })).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    })
  })

  test('a model that is not to think does not, whatever its settings say', async () => {
    const none = { reasoning_effort: 'none' }

    expect(await requestBody('thinks', none)).toMatchObject({ max_tokens: 8000, thinking: { type: 'disabled' } })
    expect(await requestBody('decides', none)).toMatchObject({ max_tokens: 8000, thinking: { type: 'disabled' } })
    expect(await requestBody('reasons', none)).toMatchObject({ reasoning: { effort: 'minimal' } })
    const switchedOff = await requestBody('can stop', none)
    expect(switchedOff).toMatchObject({ chat_template_kwargs: { enable_thinking: false } })
    expect(switchedOff).not.toHaveProperty('reasoning_effort')
    expect(await requestBody('can stop', { reasoning_effort: 'low' })).toMatchObject({ reasoning_effort: 'low' })
    expect((await requestBody('gemini', none))?.['generationConfig']).toMatchObject({
      thinkingConfig: { thinkingBudget: 0 },
    })
    expect((await requestBody('gemini', {}))?.['generationConfig']).toMatchObject({
      thinkingConfig: { thinkingBudget: 3000 },
    })
  })

  test('a model thinks on after tool results where the turn began with thoughts', async () => {
    const { svc, token, requests } = kinds
    const thought = { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'proof     ' }
    const call = { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{}' }
    const result = { type: 'function_call_output', call_id: 'c', output: 'Rain' }
    const earlier = [{ role: 'user', content: 'Well?' }, call, result, { role: 'assistant', content: 'Rain.' }]
    const thinkingOf = async (...input: object[]) => {
      const body = { model: 'thinks', max_output_tokens: 8000, input }
      expect((await svc.send('POST', '/v1/responses', { token, body })).status).toBe(200)
      return requests.at(-1)?.body['thinking']
    }
    const question = { role: 'user', content: 'And now?' }
    const again = [
      { ...call, call_id: 'd' },
      { ...result, call_id: 'd' },
    ]

    expect(await thinkingOf(question, thought, call, result)).toMatchObject({ budget_tokens: 3000 })
    expect(await thinkingOf(question, thought, call, result, ...again)).toMatchObject({ budget_tokens: 3000 })
    expect(await thinkingOf(...earlier, question)).toMatchObject({ budget_tokens: 3000 })
    expect(await thinkingOf(question, call, result)).toBeUndefined()
  })

  test('a model that must call a tool does not think where providers refuse', async () => {
    const forced = { reasoning_effort: 'high', tools: [tool], tool_choice: 'required' }

    for (const model of ['thinks', 'decides'])
      expect(await requestBody(model, forced)).not.toMatchObject({ thinking: expect.anything() })
  })
})

describe('parameters about thoughts', () => {
  const send = async (path: string, body: object) => {
    const { svc, token, requests } = kinds
    const response = await svc.send('POST', path, { token, headers: { 'anthropic-version': '2023-06-01' }, body })
    const { error } = (await response.json()) as { error?: { message: string } }
    return { status: response.status, message: error?.message, body: requests.at(-1)?.body }
  }
  const message = (model: string, more: object) =>
    send('/v1/messages', { model, max_tokens: 8000, messages: [{ role: 'user', content: 'Well?' }], ...more })
  const response = (model: string, more: object) => send('/v1/responses', { model, input: 'Well?', ...more })

  test('the thinking setting reaches each provider in its own parameters', async () => {
    const disabled = { thinking: { type: 'disabled' } }
    const adaptive = { thinking: { type: 'adaptive', display: 'summarized' } }

    expect((await message('thinks', disabled)).body).toMatchObject({ thinking: { type: 'disabled' } })
    expect((await message('openai-compatible', disabled)).body).toMatchObject({ reasoning_effort: 'none' })
    expect((await message('decides', adaptive)).body).toMatchObject({ thinking: { type: 'adaptive' } })
    expect((await message('thinks', adaptive)).body).toMatchObject({ thinking: { budget_tokens: 3200 } })
    expect((await message('gemini', adaptive)).body?.['generationConfig']).toMatchObject({
      thinkingConfig: { includeThoughts: true },
    })
    expect((await message('decides', { output_config: { effort: 'max' } })).body).toMatchObject({
      output_config: { effort: 'max' },
    })
  })

  test("the thought summary's kind reaches providers that know it, and others refuse", async () => {
    const summed = { reasoning: { effort: 'low', summary: 'concise' } }

    expect((await response('reasons', summed)).body).toMatchObject({ reasoning: { effort: 'low', summary: 'concise' } })
    expect(await response('mistral', summed)).toMatchObject({
      status: 400,
      message: expect.stringContaining('summary'),
    })
    expect((await response('gemini', { reasoning: { summary: 'auto' } })).status).toBe(200)
  })

  test.for<[what: string, path: string, body: object, named: string]>([
    [
      'a budget of thoughts where a tool must be called',
      'messages',
      {
        thinking: { type: 'enabled', budget_tokens: 2000 },
        tools: [{ name: 'a', input_schema: {} }],
        tool_choice: { type: 'any' },
      },
      'thinking.budget_tokens',
    ],
  ])('%s is refused by its name', async ([, path, body, named]) => {
    const { requests } = kinds
    const requestAnswer = path === 'messages' ? message : response

    expect(await requestAnswer('thinks', body)).toMatchObject({ status: 400, message: expect.stringContaining(named) })
    expect(requests).toEqual([])
  })

  test('a result with a file reports that its tool failed like text', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: png }
    const content = [
      { type: 'text', text: 'See.' },
      { type: 'image', source },
    ]
    const messages = [
      { role: 'user', content: 'Well?' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', is_error: true, content }] },
    ]
    const { body } = await message('thinks', { messages })

    expect(JSON.stringify(body?.messages.at(-1))).toMatch(/The tool failed:.*See\./)
  })

  test('an empty result of a tool passes every surface to every provider', async () => {
    const { bodyFor } = kinds
    const [id, name] = ['c', 'weather']
    const call = { id, type: 'function', function: { name, arguments: '{}' } }
    const chat = [
      ...buildMessages(),
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: id, content: '' },
    ]
    const messagesWithCall = [
      ...buildMessages(),
      { role: 'assistant', content: [{ type: 'tool_use', id, name, input: {} }] },
    ]
    const withResult = (content: unknown) => [
      ...messagesWithCall,
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
    ]
    const items = [
      { type: 'function_call', call_id: id, name, arguments: '{}' },
      { type: 'function_call_output', call_id: id, output: '' },
    ]
    const empty = [{ type: 'text', text: '' }]
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }

    for (const { adapter } of protocols) {
      expect.soft(await bodyFor(adapter, { messages: chat }), adapter).toMatchObject({ status: 200 })
      expect.soft(await response(adapter, { input: [{ role: 'user', content: 'Well?' }, ...items] })).toMatchObject({
        status: 200,
      })
      for (const content of ['', empty])
        expect.soft(await message(adapter, { messages: withResult(content) }), adapter).toMatchObject({ status: 200 })
    }
    const { body } = await message('anthropic', { messages: withResult([...empty, image]) })
    expect(body?.messages.at(-1)?.content).toMatchObject([{ type: 'tool_result', content: [{ type: 'image' }] }])
  })

  test('a document with hundreds of thousands of fences goes within one that is longer', async () => {
    const source = { type: 'text', media_type: 'text/plain', data: '```\n'.repeat(300_000) }
    const messages = [{ role: 'user', content: [{ type: 'document', source }] }]

    const { status, body } = await message('openai-compatible', { messages })

    expect(status).toBe(200)
    expect(JSON.stringify(body?.messages).match(/`{4,}/g)).toEqual(['````', '````'])
  })
})

import Anthropic from '@anthropic-ai/sdk'
import { beforeEach, expect, test } from 'vitest'
import {
  anthropic,
  dialects,
  fetchCall,
  fetchedPage,
  fetchers,
  searchCall,
  searchResult,
  title,
  url,
} from '../../kit/ai/native-dialects.ts'
import { fetchTool, messages, searchTool, startNativeTools } from '../../kit/ai/native-tools.ts'
import { type ProviderRequest, sendJson } from '../../kit/ai/provider.ts'
import { shareResource } from '../../kit/share-resource.ts'

const native = shareResource(startNativeTools)
beforeEach(() => native.reset())

const bills: Record<string, object> = {
  openai: { searches: 1, fetches: 0, cost: 70 * 10 + 9 * 30 + 10_000 },
  anthropic: { searches: 1, fetches: 0, cost: 70 * 10 + 9 * 30 + 10_000 },
  // The request has two different queries and a single price.
  google: { searches: 2, fetches: 0, cost: 70 * 10 + 9 * 30 + 35_000 },
}

const fn = { type: 'function', function: { name: 'own', parameters: { type: 'object', properties: {} } } }

test.for(Object.entries(dialects))(
  'a model of the kind %s searches the web and cites its sources',
  async ([model, { tools }]) => {
    const { upstream, chat, takeRecords } = native
    for (const reference of [searchTool, 'capability:web_search:auto', `${searchTool}:{}`]) {
      const whole = await chat(model, [reference])
      const streamed = await (await chat(model, [reference], { stream: true })).text()

      expect(await whole.json()).toMatchObject({
        choices: [
          {
            message: { content: 'It is e4.', annotations: [{ url_citation: { url, title } }] },
            finish_reason: 'stop',
          },
        ],
      })
      expect(streamed).toContain('"content":"It is e4."')
      expect(streamed.match(/"url_citation":\{"url":"https:\/\/example.org\/chess"/g)).toHaveLength(1)
      expect(streamed).not.toContain('tool_calls')
      const bodies = upstream.requests.splice(0).map(({ body }) => body)
      const bound = model === 'openai' ? 5 : undefined
      expect(bodies.map((body) => body['max_tool_calls'])).toEqual([bound, bound])
      expect(bodies.map((body) => body.tools)).toEqual(
        [tools, tools].map((all) => all.map((one) => expect.objectContaining(one))),
      )
      const record = { outcome: 'completed', input: 70, output: 9, ...bills[model] }
      expect(await takeRecords()).toEqual([record, record])
    }
  },
)

test.for(Object.entries(fetchers))(
  'a model of the kind %s reads a page, and its answer cites it',
  async ([model, { tools }]) => {
    const { upstream, send, chat, takeRecords } = native
    const whole = await chat(model, [fetchTool])
    const streamed = await (await chat(model, ['capability:web_fetch:auto'], { stream: true })).text()

    expect(await whole.json()).toMatchObject({
      choices: [{ message: { content: 'It is e4.', annotations: [{ url_citation: { url } }] }, finish_reason: 'stop' }],
    })
    expect(streamed).toContain('"content":"It is e4."')
    expect(streamed.match(/"url_citation":\{"url":"[^"]*"/g)).toEqual([`"url_citation":{"url":"${url}"`])
    expect(streamed).not.toContain('tool_calls')
    for (const stream of [false, true]) {
      const text = await (await send('/v1/responses', { model, input: 'Hello', tools: [fetchTool], stream })).text()
      expect(text).toContain(`"type":"url_citation","url":"${url}"`)
    }
    expect(upstream.requests.map(({ body }) => body.tools)).toEqual([tools, tools, tools, tools])
    const cost = 70 * 10 + 9 * 30 + (model === 'anthropic' ? 500 : 0)
    const record = { outcome: 'completed', input: 70, output: 9, searches: 0, fetches: 1, cost }
    expect(await takeRecords()).toEqual([record, record, record, record])
  },
)

test.for(Object.keys(dialects))(
  "a search of a client of Anthropic lists the pages that %s's model found",
  async (model) => {
    const client = new Anthropic({ apiKey: native.token, baseURL: native.svc.url })
    const options = { max_uses: 8, allowed_domains: ['example.org'], user_location: { type: 'approximate' as const } }
    const ask = (tool: Anthropic.ToolUnion) => ({
      model,
      max_tokens: 90,
      messages: [{ role: 'user' as const, content: 'Which opening is best?' }],
      tools: [tool],
    })
    const request = ask({ type: 'web_search_20250305', name: 'web_search', ...options })
    const whole = client.messages.create(request)
    const answers = [await whole, await client.messages.stream(request).finalMessage()]

    for (const { id, content } of answers) {
      const call = id.replace('msg_', 'srvtoolu_')
      const texts = content.filter((block) => block.type === 'text')
      expect(texts.map(({ text }) => text).join('')).toBe('It is e4.')
      expect(JSON.stringify(texts)).toContain('web_search_result_location')
      expect(content.slice(texts.length)).toMatchObject([
        { type: 'server_tool_use', id: call, name: 'web_search' },
        { type: 'web_search_tool_result', tool_use_id: call, content: [{ type: 'web_search_result', url, title }] },
      ])
    }
    const { headers } = await whole.asResponse()
    expect(headers.get('x-ignored-parameters')).toBe('tools.max_uses, tools.allowed_domains, tools.user_location')
    if (model === 'openai') return
    const read = await client.messages.create(ask({ type: 'web_fetch_20250910', name: 'web_fetch' }))
    expect(JSON.stringify(read.content)).not.toContain('web_search_tool_result')
    await native.takeRecords()
  },
)

test.for([
  [{ type: 'web_search' }, ['weather', 'web_search']],
  [{ type: 'function', name: 'own' }, ['own', 'weather']],
] as const)("of the caller's tools only the allowed %j is declared to the provider", async ([allowed, sent]) => {
  const { upstream, send, takeRecords } = native
  const tools = [{ type: 'web_search' }, { type: 'function', name: 'own', parameters: fn.function.parameters }]
  const choice = { type: 'allowed_tools', mode: 'auto', tools: [allowed] }
  const response = await send('/v1/responses', { model: 'openai', input: 'Hello', tools, tool_choice: choice })

  expect(response.status, await response.text()).toBe(200)
  await takeRecords()
  const declared = (upstream.requests[0]?.body.tools ?? []) as { type: string; name?: string }[]
  expect(declared.map(({ type, name }) => name ?? type).sort()).toEqual(sent)
})

test.each([
  ['openai without', searchTool, {}, 'tools[0]'],
  ['openai off', searchTool, {}, 'tools[0]'],
  ['openai-compatible', searchTool, {}, 'tools[0]'],
  ['openai', fetchTool, {}, 'tools[0]'],
  ['anthropic', 'capability:code_execution:native', {}, 'tools[0]'],
  ['anthropic', `${searchTool}:{"max_uses": 100}`, {}, 'tools[0]'],
  ['openai', searchTool, { stop: ['.'] }, 'stop'],
  ['openai', searchTool, { seed: 1 }, 'seed'],
  ['google', searchTool, { response_format: { type: 'json_object' } }, 'response_format'],
])('the model %s asked with %s and %j is refused by the field %s', async (model, reference, more, param) => {
  const { upstream, chat } = native
  const refusal = await chat(model, [reference], more)

  expect([refusal.status, await refusal.json()]).toMatchObject([400, { error: { param } }])
  expect(upstream.requests).toEqual([])
})

test("a tool of an unknown kind or with a provider's name is refused", async () => {
  const { upstream, send, chat } = native
  const own = (name: string) => ({ ...fn, function: { ...fn.function, name } })
  const refusals = await Promise.all([
    send('/v1/responses', { model: 'openai', input: 'Hello', tools: [{ type: 'code_interpreter' }] }),
    send('/v1/messages', { model: 'anthropic', messages, max_tokens: 9, tools: [{ type: 'bash_20250124' }] }),
    chat('google', [{ googleSearch: {} }]),
    chat('google', [searchTool, own('own')]),
    chat('google', [searchTool, 'weather']),
    chat('anthropic', [searchTool, own('web_search')]),
  ])

  expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 400))
  const code = await chat('anthropic', ['capability:code_execution:native'])
  expect(await code.text()).toContain('would have the provider run code, of which no answer of this service can tell')
  expect(upstream.requests).toEqual([])
})

test('a model that searches and calls tools gets back its earlier findings', async () => {
  const { upstream, chat, takeRecords } = native
  const call = { type: 'tool_use', id: 'call', name: 'weather', input: {} }
  upstream.behave = (request: ProviderRequest, response) => {
    const isAnswered = request.body.messages.length > 1
    const round = {
      ...anthropic.whole,
      content: [searchCall, searchResult, fetchCall, fetchedPage, call],
      stop_reason: 'tool_use',
    }
    sendJson(response, isAnswered ? anthropic.whole : round)
  }

  const answer = await chat('anthropic', [searchTool, fetchTool, 'weather'])

  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'It is e4.' } }] })
  const [, assistantMessage, results] = (upstream.requests[1]?.body.messages ?? []) as unknown as {
    content: object[]
  }[]
  expect(assistantMessage?.content).toMatchObject([
    { type: 'server_tool_use', id: searchCall.id, name: 'web_search' },
    { type: 'web_search_tool_result', tool_use_id: searchCall.id, content: [{ url, encrypted_content: 'sealed' }] },
    { type: 'server_tool_use', id: fetchCall.id, name: 'web_fetch' },
    fetchedPage,
    { type: 'tool_use', id: 'call', name: 'weather' },
  ])
  expect(results?.content).toMatchObject([{ type: 'tool_result', tool_use_id: 'call' }])
  expect(await takeRecords()).toEqual([
    { outcome: 'completed', input: 140, output: 18, searches: 2, fetches: 1, cost: 2 * 970 + 20_000 + 500 },
  ])
})

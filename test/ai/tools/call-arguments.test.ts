import { beforeEach, expect, test } from 'vitest'
import { buildModel, buildProvider, startWithConfig } from '../../kit/ai/model-config.ts'
import { answers, type Behaviour, beginStream, buildChunk, startProvider } from '../../kit/ai/provider.ts'
import { shareResource } from '../../kit/share-resource.ts'

const adapters = ['openai-compatible', 'mistral', 'openai', 'anthropic', 'google'] as const
type Adapter = (typeof adapters)[number]
const app = shareResource(startTools)

beforeEach(() => {
  app.upstream.behave = answers('Fine.')
})

/** Starts a service with a model behind each adapter and a tool without parameters; records the requests. */
async function startTools() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(answers('Fine.')))
  const providers = adapters.map((adapter) =>
    buildProvider(adapter, [buildModel(adapter, { tools: ['now'], settings: { toolCalling: true } })], {
      adapter,
      apiUrl: upstream.url,
      apiKey: 'provider-key',
    }),
  )
  const env = { EXTENSIONS: 'test/fixtures/clock-extension.ts' }
  const { svc } = resources.use(await startWithConfig({ providers, systemModels: { default: adapters[0] } }, env))
  const { token } = await svc.user()
  const disposables = resources.move()
  const send = (body: object) => svc.send('POST', '/v1/chat/completions', { token, body })
  return {
    upstream,
    send,
    /** Sends a call of a tool back with its result, and returns the arguments that the provider is sent. */
    async sendBack(adapter: Adapter, written: string, stream: boolean) {
      upstream.requests.length = 0
      const call = { id: 'call_1', type: 'function', function: { name: 'find', arguments: written } }
      const messages = [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'found' },
      ]
      await (await send({ model: adapter, messages, tools: [tool], stream })).text()
      return argumentsIn(upstream.requests[0]?.body ?? {})
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

const tool = { type: 'function', function: { name: 'find', parameters: { type: 'object' } } }

/** Finds the arguments of a call in the body of any dialect. */
function argumentsIn(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const members = value as Record<string, unknown>
  const isCall = members['name'] === 'find' && !('parameters' in members) && !('parametersJsonSchema' in members)
  const own = isCall ? (members['arguments'] ?? members['input'] ?? members['args']) : undefined
  return (
    own ??
    Object.values(members)
      .map(argumentsIn)
      .find((found) => found !== undefined)
  )
}

const exact = '{"id": 12345678901234567890, "q":"a"}'
const cut = '{"q":"aaa'
const invalid = { INVALID_JSON: cut }
const proto = '{"__proto__":{"q":1}}'

test.for<[Adapter, string, unknown]>([
  ...(['openai-compatible', 'mistral', 'openai'] as const).flatMap((adapter): [Adapter, string, unknown][] => [
    [adapter, '', '{}'],
    [adapter, ' ', '{}'],
    [adapter, exact, exact],
    [adapter, cut, cut],
    [adapter, 'now', 'now'],
    [adapter, proto, proto],
  ]),
  ...(['anthropic', 'google'] as const).flatMap((adapter): [Adapter, string, unknown][] => [
    [adapter, '', {}],
    [adapter, 'null', {}],
    [adapter, '{"q":"a"}', { q: 'a' }],
    [adapter, cut, invalid],
  ]),
])('arguments go back to %s as they came: %j', async ([adapter, written, sent]) => {
  for (const stream of [false, true]) expect(await app.sendBack(adapter, written, stream)).toEqual(sent)
})

test('arguments are sent without the marks of blocks that only the service writes', async () => {
  for (const written of ['{"q":"[SVC_META_X]"}', '{"q":"\\u005bSVC_META_X]"}', '[SVC_META_X] {'])
    expect(await app.sendBack('openai-compatible', written, false)).toContain('(SVC_META_X]')
})

/** Calls the tool without arguments, twice with one id, then answers. */
const callsNow: Behaviour = (request, response) => {
  const results = request.body.messages.filter(({ role }) => role === 'tool')
  if (results.length > 1) return answers('It is noon.')(request, response)
  beginStream(response)
  const call = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '' } }
  response.write(buildChunk({ delta: { tool_calls: [{ index: 0, ...call }] } }))
  response.end(buildChunk({ delta: {}, finish_reason: 'tool_calls' }))
}

test.for(['openai-compatible', 'mistral'])(
  'a tool without parameters runs for %s in each round, whatever its arguments',
  async (adapter) => {
    for (const stream of [true, false]) {
      app.upstream.requests.length = 0
      app.upstream.behave = callsNow

      const answer = await app.send({
        model: adapter,
        messages: [{ role: 'user', content: 'When?' }],
        tools: ['now'],
        stream,
      })

      expect(await answer.text()).toContain('noon.')
      const { messages } = app.upstream.requests[2]?.body ?? { messages: [] }
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool'])
      expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual(['noon', 'noon'])
      expect(JSON.stringify(messages).match(/"arguments":"\{\}"/g)).toHaveLength(2)
      expect(new Set(JSON.stringify(messages).match(/"tool_call_id":"[^"]+"/g)).size).toBe(2)
    }
  },
)

test.for(['openai-compatible', 'mistral'])('a call of a tool that was truncated for %s is not run', async (adapter) => {
  app.upstream.behave = (_, response) => {
    beginStream(response)
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } }
    response.write(buildChunk({ delta: { content: 'Well', tool_calls: [call] } }))
    response.end(buildChunk({ delta: {}, finish_reason: 'length' }))
  }

  for (const stream of [true, false]) {
    app.upstream.requests.length = 0
    const answer = await app.send({
      model: adapter,
      messages: [{ role: 'user', content: 'When?' }],
      tools: ['now'],
      stream,
    })

    expect(await answer.text()).toContain('"finish_reason":"length"')
    expect(app.upstream.requests).toHaveLength(1)
  }
})

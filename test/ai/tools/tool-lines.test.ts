import { beforeAll, beforeEach, expect, test } from 'vitest'
import { fetchTool, messages, searchTool, startNativeTools } from '../../kit/ai/native-tools.ts'
import { callsTools } from '../../kit/ai/provider.ts'
import { signIn, type TestBrowser } from '../../kit/browser.ts'
import { shareResource } from '../../kit/share-resource.ts'

let browser: TestBrowser
const native = shareResource(startNativeTools)
beforeAll(async () => {
  ;({ browser } = await signIn(native.svc, 'ada'))
})
beforeEach(() => native.reset())

const weather = (city: string) => ({ name: 'weather', input: JSON.stringify({ city }) })
const callsWeather = callsTools([weather('Jena'), { name: 'storm', input: '{}' }, weather('Gera')], 'It rains.')

async function linesOf(model: string, tools: string[]) {
  const messages = [{ role: 'user', content: { text: 'Which opening is best?' } }]
  const payload = { model, stream: true, messages, tools }
  const { text } = await browser.send('POST', '/req/streamAI', { body: { payload, broadcast: false } })
  const lines = text.split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as { type: string; status: object | null })
}

test('a line reports each tool that the service runs, before the answer continues', async () => {
  native.upstream.behave = callsWeather

  const lines = await linesOf('openai-compatible', ['weather'])

  const called = { type: 'status', content: '', isDone: false, status: { key: 'tool_call', value: 'weather' } }
  expect(lines.slice(0, -4)).toEqual([expect.objectContaining({ type: 'header' }), called, called])
  expect(lines.slice(-4).map(({ type }) => type)).toEqual(['message', 'message', 'message', 'completion'])
  expect(native.upstream.requests).toHaveLength(2)
})

test('no line reports a call that is not run', async () => {
  const unfit = { name: 'weather', input: '{"city":' }
  native.upstream.behave = callsTools([unfit, ...Array.from({ length: 70 }, () => weather('Jena'))], 'It rains.')

  const lines = await linesOf('openai-compatible', ['weather'])

  const results = native.upstream.requests.at(-1)?.body.messages.filter(({ role }) => role === 'tool')
  expect(results).toHaveLength(71)
  expect(lines.filter(({ type }) => type === 'status')).toHaveLength(63)
})

test.for([
  ['openai', searchTool, ['web_search', 'web_search']],
  ['anthropic', searchTool, ['web_search']],
  ['anthropic', fetchTool, ['web_fetch']],
] as const)('a model of the kind %s that uses %s is reported meanwhile', async ([model, tool, names]) => {
  const lines = await linesOf(model, [tool])

  const uses = lines.flatMap(({ type, status }) => (type === 'status' ? [status] : []))
  expect(uses).toEqual(names.map((value) => ({ key: 'provider_tool_call', value })))
  expect(lines.findIndex(({ type }) => type === 'status')).toBe(1)
})

test('a program learns of tools in a stream only on request', async () => {
  const { token } = await native.svc.user()
  const turns = messages.map(({ role, content }) => ({ role, content: [{ type: 'text', text: content }] }))
  const sendQuestion = async (model: string, tool: string, more: object) => {
    const body = { 0: { model, messages: turns, modelTools: [tool], ...more } }
    const headers = { 'trpc-accept': 'application/jsonl' }
    return (await native.svc.send('POST', '/trpc/ai.completeStream?batch=1', { token, headers, body })).text()
  }
  const shown = await sendQuestion('anthropic', searchTool, { toolUses: true })
  const hidden = await sendQuestion('anthropic', searchTool, {})
  const chat = await (await native.chat('anthropic', [searchTool], { stream: true })).text()
  native.upstream.behave = callsWeather
  const own = await sendQuestion('openai-compatible', 'weather', { toolUses: true })

  expect(shown.match(/tool-use/g)).toHaveLength(1)
  expect(own.match(/tool-use/g)).toHaveLength(2)
  expect(hidden + chat).toContain('It is e4.')
  expect(hidden + chat).not.toMatch(/tool[-_]use|provider_tool_call/)
})

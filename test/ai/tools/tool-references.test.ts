import { beforeAll, beforeEach, expect, test } from 'vitest'
import { buildQuestion, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'
import { shareResource } from '../../kit/share-resource.ts'

let token: string

const upstream = shareResource(startProvider)
const config = shareResource(() => {
  const model = { tools: ['weather', 'patient'] }
  return writeConfig(upstream.url, { model })
})
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, EXTENSIONS: 'test/fixtures/extension.ts' }))
beforeAll(async () => {
  token = (await svc.user()).token
})
beforeEach(() => {
  upstream.requests.length = 0
})

const readSentTools = () => upstream.requests.at(-1)?.body.tools as { function: { name: string } }[] | undefined
const names = () => readSentTools()?.map(({ function: { name } }) => name)

async function sendTools(tools: unknown) {
  const body = { payload: { ...buildQuestion().payload, tools } }
  const response = await svc.send('POST', '/api/ai-req', { token, body })
  return { status: response.status, body: (await response.json()) as { errors?: Record<string, string[]> } }
}

test.each([
  [undefined, ['weather', 'patient']],
  [[], undefined],
  [['patient'], ['patient']],
  [['weather:{}', 'weather'], ['weather']],
  [['capability:forecast:auto'], ['weather']],
  [
    ['capability:forecast:weather:{}', 'patient'],
    ['weather', 'patient'],
  ],
] as const)('a request with the tools %j lets the model call %j', async (tools, expected) => {
  expect((await sendTools(tools)).status).toBe(200)
  expect(names()).toEqual(expected)
})

test.each([
  ['nothing', 'is no tool'],
  ['example', 'is no tool'],
  ['capability:web_search:auto', 'is no tool'],
  ['capability:forecast:patient', 'is no tool'],
  ['capability:forecast:native', 'is a tool of the provider'],
  ['capability:forecast', 'must be'],
  ['capability::auto', 'must be'],
  ['weather:[]', 'has settings'],
  ['weather:{"days": 3}', 'has settings'],
  ['weather:{', 'has settings'],
])('a request with the tool %s is refused by field before any call', async (reference, reason) => {
  const { status, body } = await sendTools(['weather', reference])
  expect([status, body.errors, upstream.requests]).toEqual([
    422,
    { 'payload.tools.1': [expect.stringContaining(`The payload.tools.1 field ${reason}`)] },
    [],
  ])
})

test('an invalid list of texts is refused along with all other faults', async () => {
  const { status, body } = await sendTools([{}, 7])
  expect([status, Object.keys(body.errors ?? {})]).toEqual([422, ['payload.tools.0', 'payload.tools.1']])
})

test("OpenAI's endpoints take references beside the functions that the caller runs", async () => {
  const fn = { name: 'own', parameters: { type: 'object', properties: {} } }
  const messages = [{ role: 'user', content: 'Hello' }]
  const chat = (tools: unknown[]) =>
    svc.send('POST', '/v1/chat/completions', { token, body: { model: 'mock-1', messages, tools } })
  const respond = (tools: unknown[]) =>
    svc.send('POST', '/v1/responses', { token, body: { model: 'mock-1', input: 'Hello', tools } })

  expect((await chat(['capability:forecast:auto', { type: 'function', function: fn }])).status).toBe(200)
  expect(names()).toEqual(['weather', 'own'])
  expect((await respond([{ type: 'function', ...fn }, 'patient'])).status).toBe(200)
  expect(names()).toEqual(['patient', 'own'])
  const wrong = { ...fn, name: 'no name' }
  const big = { ...fn, parameters: { type: 'object', description: 'x'.repeat(100_001) } }
  const paramOf = async (response: Response) => [
    response.status,
    ((await response.json()) as { error: { param: string } }).error.param,
  ]
  const own = (of: object) => ({ type: 'function', function: of })
  expect(await paramOf(await chat([own(fn), 'patient', 'nothing']))).toEqual([400, 'tools[2]'])
  expect(await paramOf(await chat(['patient', own(wrong)]))).toEqual([400, 'tools[1].function.name'])
  expect(await paramOf(await chat(['patient', own(big)]))).toEqual([400, 'tools[1].function.parameters'])
  expect(await paramOf(await respond(['patient', { type: 'function', ...big }]))).toEqual([400, 'tools[1].parameters'])
  const { name, parameters } = big
  const tools = [{ name, input_schema: parameters }]
  const body = { model: 'mock-1', messages, max_tokens: 10, tools }
  const refusal = await (await svc.send('POST', '/v1/messages', { token, body })).json()
  expect(refusal).toMatchObject({ error: { message: expect.stringContaining('tools.0.input_schema: ') } })
})

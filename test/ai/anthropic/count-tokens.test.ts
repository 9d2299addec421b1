import Anthropic from '@anthropic-ai/sdk'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { PROVIDER_KEY } from '../../kit/ai/protocols.ts'
import {
  type Behaviour,
  canary,
  refuses,
  replies,
  sendJson,
  stalls,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { readUsageRecords } from '../../kit/ai/provider-service.ts'
import { startApp } from '../../kit/app.ts'
import { makePdf } from '../../kit/sample-files/pdf.ts'
import { shareResource } from '../../kit/share-resource.ts'

let client: Anthropic
let otherClient: Anthropic

const adapters = ['anthropic', 'google', 'openai', 'openai-compatible', 'mistral']

/** Counts tokens in the format of each kind of provider. */
const counts: Behaviour = ({ path }, response) =>
  path.includes(':countTokens') ? sendJson(response, { totalTokens: 42 }) : sendJson(response, { input_tokens: 42 })

const upstream = shareResource(() => startProvider(counts))
const config = shareResource(() => {
  const providers = adapters.map((adapter) => ({
    id: adapter,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: [{ id: `of-${adapter}`, upstreamId: 'up-1', label: adapter, external: true }],
  }))
  const slow = {
    id: 'slow',
    adapter: 'anthropic',
    apiUrl: upstream.url,
    timeouts: { firstByte: '300ms' },
    models: [{ id: 'of-slow', label: 'Slow', external: true }],
  }
  const twofold = {
    id: 'twofold',
    adapter: 'anthropic',
    apiUrl: `${upstream.url}/first`,
    apiKey: PROVIDER_KEY,
    servers: [{ apiUrl: `${upstream.url}/second`, apiKey: PROVIDER_KEY }],
    circuit: { failures: 1, openFor: '1h' },
    models: [{ id: 'of-twofold', label: 'Twofold', external: true }],
  }
  const more = { providers: [...providers, slow, twofold], systemModels: {} }
  return writeConfig(upstream.url, { more })
})
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, AI_CALLS_PER_PERSON: '200' }))
beforeAll(async () => {
  client = await newClient()
  otherClient = await newClient()
})
beforeEach(() => {
  upstream.behave = counts
  upstream.requests.length = 0
})

const newClient = async () => new Anthropic({ apiKey: (await svc.user()).token, baseURL: svc.url, maxRetries: 0 })

const weather = { name: 'weather', description: 'Tells the weather.', input_schema: { type: 'object' as const } }
const chatRequest = {
  system: 'Be kind.',
  messages: [{ role: 'user' as const, content: 'How do you do?' }],
  tools: [weather],
}
const count = (adapter = 'anthropic', by = client) =>
  by.messages.countTokens({ model: `of-${adapter}`, ...chatRequest })

const media_type = 'application/pdf' as const
const exact = { input_tokens: 42, estimated: false }
const estimate = { input_tokens: expect.any(Number), estimated: true }

test('Anthropic counts what it would be asked, with its key, and nothing is recorded', async () => {
  const recordsBefore = await readUsageRecords(svc)
  expect(await count()).toEqual(exact)
  const [{ path, headers, body } = {}] = upstream.requests
  expect(path).toBe('/v1/anthropic/messages/count_tokens')
  expect(headers).toMatchObject({ 'x-api-key': PROVIDER_KEY, 'anthropic-version': '2023-06-01' })
  expect(Object.keys(body ?? {}).sort()).toEqual(['messages', 'model', 'system', 'tools'])
  expect(body).toMatchObject({ model: 'up-1', system: [{ text: 'Be kind.' }], tools: [{ name: 'weather' }] })
  expect(JSON.stringify(body?.messages)).toContain('How do you do?')
  expect([upstream.requests.length, await readUsageRecords(svc)]).toEqual([1, recordsBefore])
})

test('Google and OpenAI count what they would be asked, too; other providers count nothing', async () => {
  expect([await count('google'), await count('openai')]).toEqual([exact, exact])
  const [google, openAi] = upstream.requests
  expect(google).toMatchObject({
    path: '/v1/google/models/up-1:countTokens',
    headers: { 'x-goog-api-key': PROVIDER_KEY },
    body: { generateContentRequest: { model: 'models/up-1', contents: [{ role: 'user' }] } },
  })
  expect(openAi).toMatchObject({
    path: '/v1/openai/responses/input_tokens',
    headers: { authorization: `Bearer ${PROVIDER_KEY}` },
    body: { model: 'up-1', tools: [{ name: 'weather' }] },
  })
  expect(openAi?.body).not.toHaveProperty('store')
  expect([await count('openai-compatible'), await count('mistral')]).toEqual([estimate, estimate])
  expect(upstream.requests).toHaveLength(2)
})

test.for<[string, Behaviour]>([
  ['refuses', refuses(404)],
  ['says no number', replies(JSON.stringify({ input_tokens: canary }))],
  ['says a page', replies(`<html>${canary}</html>`, { type: 'text/html' })],
  ['says too much', replies(`{"input_tokens":1,"more":"${canary.repeat(5000)}"}`)],
  ['redirects', (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['closes the connection', (_, response) => void response.destroy()],
])('where the counter of a provider %s, tokens are estimated', async ([, behave]) => {
  upstream.behave = behave
  const counted = await count()
  expect([counted, JSON.stringify(counted)]).toEqual([estimate, expect.not.stringContaining(canary)])
  expect(upstream.requests).toHaveLength(1)
})

test('a counter that says nothing in time is not waited for', async () => {
  upstream.behave = stalls
  expect(await count('slow')).toEqual(estimate)
})

test('a failing server gets no count requests, and another one counts instead', async () => {
  const paths = () => upstream.requests.splice(0).map(({ path }) => path.replace('/v1/', ''))
  const question = { model: 'of-twofold', max_tokens: 10, messages: chatRequest.messages }
  /** Asks for two people, because no circuit opens by the failures of one. */
  const fail = async (...brokenServers: string[]) => {
    upstream.behave = (request, response) =>
      (brokenServers.some((name) => request.path.includes(name)) ? refuses(500) : counts)(request, response)
    for (const { messages } of [client, otherClient]) await messages.create(question).catch(() => {})
  }
  await fail('first')
  expect(new Set(paths())).toEqual(new Set(['first/messages', 'second/messages']))
  expect([await count('twofold'), paths()]).toEqual([exact, ['second/messages/count_tokens']])

  await fail('first', 'second')
  expect(new Set(paths())).toEqual(new Set(['second/messages']))
  expect([await count('twofold'), paths()]).toEqual([estimate, []])
})

test('files are estimated at the most that providers may count for them', async () => {
  const data = makePdf({ lines: Array<string>(30).fill('Short.') }).toString('base64')
  const document = { type: 'document' as const, source: { type: 'base64' as const, media_type, data } }
  const counted = await client.messages.countTokens({
    model: 'of-mistral',
    messages: [{ role: 'user', content: [document] }],
  })
  expect(counted).toEqual(estimate)
  // Each page counts as a text of 3000 tokens and an image of 4160.
  expect(counted.input_tokens).toBeGreaterThanOrEqual(30 * (3000 + 4160))
})

test('providers count 100 times a minute for one person, and the rest is estimated', async () => {
  const mine = await newClient()
  const results = await Promise.all(Array.from({ length: 103 }, () => count('anthropic', mine)))
  expect(results.filter((answer) => 'estimated' in answer && answer.estimated)).toHaveLength(3)
  expect([upstream.requests.length, await count()]).toEqual([100, exact])
})

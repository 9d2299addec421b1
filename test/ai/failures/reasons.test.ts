import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { PROVIDER_KEY } from '../../kit/ai/protocols.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  canary,
  sendJson,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { startWithProvider } from '../../kit/ai/provider-service.ts'
import { startApp } from '../../kit/app.ts'
import { signIn, type TestBrowser } from '../../kit/browser.ts'
import { shareResource } from '../../kit/share-resource.ts'

let browser: TestBrowser

const app = shareResource(() => startWithProvider(answers('Good day.'), { circuit: { failures: 1000 } }))
beforeAll(async () => {
  browser = (await signIn(app.svc, 'ada')).browser
})

/** An error of a provider, and its form on each surface. */
interface Reason {
  name: string
  behave: Behaviour
  /** Code at `/api/ai-req`, the status of which is 500 for everything except invalid input. */
  code: string
  openAi: [status: number, code: string]
  anthropic: [status: number, type: string]
  retryAfter?: string
  retryAfterMs?: string
}

const refuses =
  (status: number, error: object | string, headers: Record<string, string> = {}): Behaviour =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof error === 'string' ? error : JSON.stringify({ error: { message: canary, ...error } }))
  }

const caseFile = async (name: string): Promise<Behaviour> => {
  const file = await readFile(`${import.meta.dirname}/../cases/refusals/${name}.json`, 'utf8')
  const { status, body } = JSON.parse(file) as { status: number; body: object }
  return (_, response) => sendJson(response, body, status)
}

const tooLong = {
  code: 'context_length_exceeded',
  openAi: [400, 'context_length_exceeded'] as [number, string],
  anthropic: [400, 'invalid_request_error'] as [number, string],
}
const operators = (code: string) => ({
  code,
  openAi: [500, code] as [number, string],
  anthropic: [500, 'api_error'] as [number, string],
})
const rateLimited = {
  code: 'provider_rate_limited',
  openAi: [429, 'rate_limit_exceeded'] as [number, string],
  anthropic: [429, 'rate_limit_error'] as [number, string],
}

const reasons: Reason[] = [
  { name: 'too long a conversation', behave: await caseFile('e400ctx'), ...tooLong },
  { name: 'a wrong key', behave: await caseFile('e401'), ...operators('provider_key_refused') },
  {
    name: 'a key that is not valid, by a sentence',
    behave: refuses(400, { message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' }),
    ...operators('provider_key_refused'),
  },
  { name: 'no such model', behave: refuses(404, { code: 'model_not_found' }), ...operators('provider_model_unknown') },
  {
    name: 'no such model, among keys that are valid',
    behave: refuses(400, { code: 'invalid_model' }),
    ...operators('provider_model_unknown'),
  },
  {
    name: 'an account without money',
    behave: refuses(429, { code: 'insufficient_quota' }),
    ...operators('provider_quota_exceeded'),
  },
  { name: 'a bill', behave: refuses(402, {}), ...operators('provider_quota_exceeded') },
  {
    name: 'too many requests',
    behave: refuses(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '77' }),
    ...rateLimited,
    retryAfter: '77',
  },
  {
    name: 'too many requests, and for how long in the body',
    behave: refuses(429, { details: [{ retryDelay: '77.5s' }], status: 'RESOURCE_EXHAUSTED' }),
    ...rateLimited,
    retryAfter: '78',
    retryAfterMs: '77500',
  },
  {
    name: 'too many requests, and for how long with a fraction',
    behave: refuses(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '77.5' }),
    ...rateLimited,
    retryAfter: '78',
    retryAfterMs: '77500',
  },
  {
    name: 'too many requests, and for how long in milliseconds',
    behave: refuses(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '78', 'retry-after-ms': '77250' }),
    ...rateLimited,
    retryAfter: '78',
    retryAfterMs: '77250',
  },
]

/** Names the headers that tell clients when to try again. */
const readDelays = ({ headers }: Response) => [headers.get('retry-after'), headers.get('retry-after-ms')]
const expectedDelays = ({ retryAfter, retryAfterMs }: Reason) => [retryAfter ?? null, retryAfterMs ?? null]

const messages = [{ role: 'user', content: 'Hi' }]
const older = { model: 'mock-1', messages: [{ role: 'user', content: { text: 'Hi' } }] }
const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  app.svc.send('POST', path, { token: app.token, body, headers })

describe.each(reasons)('a provider that says: $name', (reason) => {
  test.for([false, true])('is reported in the words of OpenAI and Anthropic (streamed: %s)', async (stream) => {
    await app.answerBy(reason.behave)
    const faces: [path: string, body: object, wanted: [number, string], member: 'code' | 'type'][] = [
      ['/v1/chat/completions', { messages }, reason.openAi, 'code'],
      ['/v1/responses', { input: 'Hi' }, reason.openAi, 'code'],
      ['/v1/messages', { messages, max_tokens: 9 }, reason.anthropic, 'type'],
    ]
    for (const [path, body, wanted, member] of faces) {
      const response = await send(path, { model: 'mock-1', stream, ...body })
      const text = await response.text()
      const { error } = JSON.parse(text) as { error: Record<string, string> }

      expect([response.status, error[member]], path).toEqual(wanted)
      expect(readDelays(response), path).toEqual(expectedDelays(reason))
      expect(text).not.toContain(canary)
      if (reason.code === tooLong.code && member === 'type') expect(error['message']).toMatch(/^prompt is too long/)
    }
  })

  test.for(['application/json', 'text/event-stream'])('is reported by a code of /api/ai-req as %s', async (accept) => {
    await app.answerBy(reason.behave)
    const response = await send('/api/ai-req', { payload: older }, { accept })
    const body = (await response.json()) as Record<string, unknown>

    const isInput = reason.code === tooLong.code
    expect([response.status, body['code']]).toEqual([isInput ? 422 : 500, reason.code])
    expect(readDelays(response)).toEqual(expectedDelays(reason))
    if (isInput) expect(Object.keys(body['errors'] as object)).toEqual(['payload.messages'])
    expect(JSON.stringify(body)).not.toContain(canary)
  })

  test('is reported in a sentence to people in a browser', async () => {
    await app.answerBy(reason.behave)
    const body = { payload: { ...older, stream: false }, broadcast: false }
    const response = await browser.send('POST', '/req/streamAI', { body })

    expect(response.body).toMatchObject({
      success: false,
      code: reason.code,
      error: expect.stringMatching(/^[A-Z].+\.$/),
    })
  })
})

test('a reason within a stream is reported in its frames', async () => {
  const error = { message: canary, code: 'context_length_exceeded' }
  await app.answerBy((_, response) => {
    beginStream(response)
    response.end(`data: ${JSON.stringify({ error })}\n\n`)
  })

  const text = await (await send('/v1/responses', { model: 'mock-1', input: 'Hi', stream: true })).text()

  expect(text).toContain('context_length_exceeded')
  expect(text).not.toContain(canary)
})

const tooLongBy: [adapter: string, status: number, body: object][] = [
  [
    'anthropic',
    400,
    { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' } },
  ],
  [
    'google',
    400,
    {
      error: {
        status: 'INVALID_ARGUMENT',
        message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).',
      },
    },
  ],
  [
    'mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 9 tokens, too large for model with 8 maximum context length',
      code: '3051',
    },
  ],
  [
    'openai',
    400,
    { error: { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.' } },
  ],
  ['open_web_ui', 400, { detail: 'the request exceeds the available context size' }],
  ['openai-compatible', 500, { error: 'input length exceeds the context length' }],
]

test('too long a conversation is reported as such by every kind of provider', async () => {
  await using upstream = await startProvider(({ path }, response) => {
    const [, status = 500, body = {}] = tooLongBy.find(([adapter]) => path.includes(`/${adapter}/`)) ?? []
    sendJson(response, body, status)
  })
  await using config = await writeConfig(upstream.url)
  const providers = tooLongBy.map(([adapter]) => ({
    id: adapter,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: [{ id: adapter, external: true }],
  }))
  await config.write({ providers, systemModels: {} })
  await using svc = await startApp({ AI_CONFIG: config.file })
  const { token } = await svc.user()

  for (const [model] of tooLongBy)
    for (const stream of [false, true]) {
      const response = await svc.send('POST', '/v1/chat/completions', { token, body: { model, messages, stream } })
      expect([model, response.status, await response.json()]).toMatchObject([
        model,
        400,
        { error: { code: 'context_length_exceeded', param: 'messages' } },
      ])
    }
})

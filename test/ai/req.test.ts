import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildModel, buildProvider as providerOf } from '../kit/ai/model-config.ts'
import { answers, buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { createHugeBody } from '../kit/inputs/huge-body.ts'

const resources = new AsyncDisposableStack()
let provider: Awaited<ReturnType<typeof startProvider>>
let svc: TestApp
let token: string

beforeAll(async () => {
  provider = resources.use(await startProvider())
  const config = resources.use(await writeConfig(provider.url))
  const [own] = config.config.providers
  const models = [
    ...(own?.models ?? []),
    buildModel('tempered', { parameters: { temperature: 0.5, maxTokens: 100 } }),
    buildModel('brief', { limits: { maxInputTokens: 100 } }),
    ...['inactive', 'internal', 'painting'].map((id) => buildModel(id)),
  ]
  const demo = { id: 'demo', adapter: 'demo', models: [buildModel('demo')] }
  const off = providerOf('off', [buildModel('of a provider')], { apiUrl: provider.url })
  await config.write({ ...config.config, providers: [{ ...own, models }, off, demo] })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  token = (await svc.user()).token
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  provider.behave = answers('Good day.')
  provider.requests.length = 0
})

const says = (...turns: [role: string, text: string][]) => ({
  payload: { model: 'mock-1', messages: turns.map(([role, text]) => ({ role, content: { text } })) },
})

describe('POST /api/ai-req', () => {
  test('POST /api/ai-req answers with the text of the model', async () => {
    provider.behave = answers('Good day to you.')

    const response = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion('How do you do?') })

    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await response.json()).toEqual({ success: true, content: { text: 'Good day to you.' } })
    expect(provider.requests).toMatchObject([
      {
        path: '/v1/chat/completions',
        body: { model: 'mock-1', messages: [{ role: 'user', content: 'How do you do?' }] },
      },
    ])
    expect(provider.requests[0]?.headers.authorization).toBe('Bearer provider-key')
  })

  test('POST /api/ai-req answers from the demo model without any configuration, and always the same', async () => {
    await using svc = await startApp()
    const { token } = await svc.user()
    const sendQuestion = async () =>
      (await svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', 'demo') })).json()

    expect(await sendQuestion()).toEqual({ success: true, content: { text: expect.stringContaining('not an AI') } })
    expect(await sendQuestion()).toEqual(await sendQuestion())
  })

  test('POST /api/ai-req takes conversations with missing, late and repeated roles', async () => {
    const sendAndReadPrompt = async (body: object) => {
      const response = await svc.send('POST', '/api/ai-req', { token, body })
      expect(response.status).toBe(200)
      return provider.requests.at(-1)?.body.messages.map(({ role, content }) => `${role}: ${content}`)
    }

    expect(await sendAndReadPrompt(says(['user', 'A']))).toEqual(['user: A'])
    expect(await sendAndReadPrompt(says(['system', 'S'], ['user', 'A']))).toEqual(['system: S', 'user: A'])
    expect(await sendAndReadPrompt(says(['user', 'A'], ['user', 'B']))).toEqual(['user: A\n\nB'])
    expect(
      await sendAndReadPrompt(
        says(['user', 'A'], ['assistant', 'B'], ['assistant', 'C'], ['user', 'D'], ['user', 'E']),
      ),
    ).toEqual(['user: A', 'assistant: B\n\nC', 'user: D\n\nE'])
    expect(
      await sendAndReadPrompt(says(['user', 'A'], ['system', 'S'], ['user', 'B'], ['system', 'T'], ['user', 'C'])),
    ).toEqual(['system: S\n\nT', 'user: A\n\nB\n\nC'])
  })

  test('POST /api/ai-req drops what is sent beside model and messages', async () => {
    const { payload } = buildQuestion('Hello', 'tempered')
    const body = { version: 'x', payload: { ...payload, stream: true, params: { temperature: 2 } } }

    expect((await svc.send('POST', '/api/ai-req', { token, body })).status).toBe(200)

    const sentBody = provider.requests[0]?.body
    expect(sentBody).toMatchObject({ temperature: 0.5, max_tokens: 100 })
    expect(sentBody).not.toHaveProperty('tools')
    expect(sentBody?.stream).toBeFalsy()
  })

  test.for(['tools', 'conversation', 'documents'])('POST /api/ai-req takes null as no %s', async (name) => {
    const { payload } = buildQuestion('Hello', 'brief')
    const body = { payload: { ...payload, [name]: null } }

    const response = await svc.send('POST', '/api/ai-req', { token, body })

    expect([response.status, response.headers.get('x-ignored-parameters')]).toEqual([200, null])
  })

  test('POST /api/ai-req takes a long conversation in many messages', async () => {
    const turns = Array.from({ length: 2000 }, (): [string, string] => ['user', 'word'])

    expect((await svc.send('POST', '/api/ai-req', { token, body: says(...turns) })).status).toBe(200)
    expect(provider.requests[0]?.body.messages).toHaveLength(1)
  })
})

describe('a body that will not do', () => {
  const requiredErrors = (...fields: string[]) =>
    Object.fromEntries(fields.map((field) => [field, [`The ${field} field is required.`]]))
  const user = { role: 'user', content: { text: 'Hello' } }
  const withMessages = (...messages: unknown[]) => ({ payload: { model: 'brief', messages } })
  const tooDeep = { payload: ['The body nests deeper than 50 levels.'] }
  const notYours = { 'payload.model': ['The payload.model field is not a model that you may use.'] }

  const bodies: [name: string, body: unknown, errors: Record<string, unknown>][] = [
    ['none', undefined, requiredErrors('payload.model', 'payload.messages')],
    ['an empty object', {}, requiredErrors('payload.model', 'payload.messages')],
    ['null', 'null', requiredErrors('payload.model', 'payload.messages')],
    ['a list', [], requiredErrors('payload.model', 'payload.messages')],
    ['a text', '"hello"', requiredErrors('payload.model', 'payload.messages')],
    ['an empty payload', { payload: {} }, requiredErrors('payload.model', 'payload.messages')],
    ['a payload of null', { payload: null }, requiredErrors('payload.model', 'payload.messages')],
    ['a payload of text', { payload: 'x' }, { payload: ['The payload field must be an object.'] }],
    ['no model', { payload: { messages: [user] } }, requiredErrors('payload.model')],
    ['an empty model', { payload: { model: '', messages: [user] } }, requiredErrors('payload.model')],
    [
      'a number as model',
      { payload: { model: 1, messages: [user] } },
      { 'payload.model': ['The payload.model field must be a string.'] },
    ],
    ['an unknown model', { payload: { model: 'gpt-99', messages: [user] } }, notYours],
    [
      'a model with a forbidden character',
      { payload: { model: 'brief\u0000', messages: [user] } },
      { 'payload.model': ['The payload.model field must not contain a NUL character.'] },
    ],
    ['a very long model', { payload: { model: 'x'.repeat(100_000), messages: [user] } }, notYours],
    ['an SQL model', { payload: { model: "' or 1=1 --", messages: [user] } }, notYours],
    ['no messages', { payload: { model: 'brief' } }, requiredErrors('payload.messages')],
    ['an empty list', withMessages(), requiredErrors('payload.messages')],
    [
      'messages of text',
      { payload: { model: 'brief', messages: 'Hello' } },
      { 'payload.messages': ['The payload.messages field must be an array.'] },
    ],
    [
      'an empty message',
      withMessages({}),
      requiredErrors('payload.messages.0.role', 'payload.messages.0.content', 'payload.messages.0.content.text'),
    ],
    [
      'an empty text',
      withMessages({ role: 'user', content: { text: '' } }),
      requiredErrors('payload.messages.0.content.text'),
    ],
    [
      'a content of text',
      withMessages({ role: 'user', content: 'Hello' }),
      { 'payload.messages.0.content': ['The payload.messages.0.content field must be an object.'] },
    ],
    [
      'a number as text',
      withMessages({ role: 'user', content: { text: 1 } }),
      { 'payload.messages.0.content.text': ['The payload.messages.0.content.text field must be a string.'] },
    ],
    [
      'another role',
      withMessages(user, { role: 'tool', content: { text: 'x' } }, user),
      { 'payload.messages.1.role': ['The payload.messages.1.role field must be one of system, user, assistant.'] },
    ],
    [
      'the last message of the assistant',
      withMessages(user, { role: 'assistant', content: { text: 'x' } }),
      { 'payload.messages': ['The payload.messages field must end with a message of the user.'] },
    ],
    [
      'the last message of the system',
      withMessages(user, { role: 'system', content: { text: 'x' } }),
      { 'payload.messages': ['The payload.messages field must end with a message of the user.'] },
    ],
    [
      'more input than the model takes',
      withMessages({ role: 'user', content: { text: 'word '.repeat(1000) } }),
      { 'payload.messages': ['The payload.messages field is more input than the model takes, which is 100 tokens.'] },
    ],
    [
      'another role, an unknown model and no message of the user at the end',
      {
        payload: {
          model: 'gpt-99',
          messages: [
            { role: 'tool', content: { text: 'x' } },
            { role: 'assistant', content: 'x' },
          ],
        },
      },
      {
        ...notYours,
        'payload.messages': ['The payload.messages field must end with a message of the user.'],
        'payload.messages.0.role': ['The payload.messages.0.role field must be one of system, user, assistant.'],
        'payload.messages.1.content': ['The payload.messages.1.content field must be an object.'],
      },
    ],
    [
      'no messages for an unknown model',
      { payload: { model: 'gpt-99' } },
      { ...notYours, ...requiredErrors('payload.messages') },
    ],
    [
      'another role and more input than the model takes',
      withMessages({ role: 'tool', content: { text: 'word '.repeat(1000) } }),
      {
        'payload.messages': ['The payload.messages field is more input than the model takes, which is 100 tokens.'],
        'payload.messages.0.role': ['The payload.messages.0.role field must be one of system, user, assistant.'],
      },
    ],
    ['half a document', '{"payload": {', { payload: ['The body is not valid JSON.'] }],
    ['no JSON', 'CANARY', { payload: ['The body is not valid JSON.'] }],
    ['a forbidden key', '{"__proto__": {"canary": 1}}', { payload: ['The body is not valid JSON.'] }],
    [
      'a forbidden key within',
      '{"payload": {"constructor": {"prototype": {"canary": 1}}}}',
      { payload: ['The body is not valid JSON.'] },
    ],
    ['100,000 open brackets', '['.repeat(100_000), tooDeep],
    ['a list 100,000 deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, tooDeep],
    ['a payload 100,000 deep', `{"payload":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`, tooDeep],
  ]

  test('a body that will not do is a 422 that names the field', async () => {
    const { id, token } = await svc.user()

    for (const [name, body, errors] of bodies) {
      const response = await svc.send('POST', '/api/ai-req', { token, body })
      const text = await response.text()
      const requestId = response.headers.get('x-request-id')

      expect.soft(response.status, name).toBe(422)
      expect
        .soft(JSON.parse(text), name)
        .toEqual({ success: false, message: 'Validation Error', code: 'invalid', requestId, errors })
      expect.soft(text + svc.log.join(''), name).not.toMatch(/canary/i)
      expect.soft(svc.log.join(''), name).toContain(requestId)
    }
    expect(provider.requests).toEqual([])
    await svc.services.ai.usageLedger.flush()
    expect(await svc.rows('select id from usage_records where user_id = $1', [id])).toEqual([])
    expect(Object.hasOwn(Object.prototype, 'canary')).toBe(false)
  })

  test.for<[string, string, string]>([
    ['switched off', 'inactive', "update ai_models set active = false where model_id = 'inactive'"],
    [
      'of a provider that is switched off',
      'of a provider',
      "update ai_providers set active = false where provider_id = 'off'",
    ],
    [
      'not for programs',
      'internal',
      `delete from ai_model_usage_rules where usage_type = 'external'
         and model_id = (select id from ai_models where model_id = 'internal')`,
    ],
    ['not for talking', 'painting', "update ai_models set model_type = 'image_generation' where model_id = 'painting'"],
  ])('a body that will not do is one with a model that is %s', async ([, model, change]) => {
    const sendQuestion = () => svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', model) })
    expect((await sendQuestion()).status).toBe(200)

    await svc.changeCatalogue(change)

    const response = await sendQuestion()
    expect(response.status).toBe(422)
    expect(await response.json()).toMatchObject({ errors: notYours })
    expect(provider.requests).toHaveLength(1)
  })
})

describe('an unusual body', () => {
  let narrow: TestApp
  let own: string
  beforeAll(async () => {
    narrow = await startApp({ AI_MAX_BODY: '2048' })
    own = (await narrow.user()).token
  })
  afterAll(() => narrow[Symbol.asyncDispose]())

  test('a body for POST /api/ai-req beyond the configured limit is 413', async () => {
    const fits = await narrow.send('POST', '/api/ai-req', { token: own, body: buildQuestion('x'.repeat(1500), 'demo') })
    const large = await narrow.send('POST', '/api/ai-req', {
      token: own,
      body: buildQuestion('x'.repeat(3000), 'demo'),
    })

    expect(fits.status).toBe(200)
    expect(large.status).toBe(413)
    expect(await large.json()).toEqual({
      success: false,
      message: 'The body is too large.',
      code: 'too_large',
      requestId: large.headers.get('x-request-id'),
    })
  })

  test('a body for POST /api/ai-req beyond two mebibytes is 413 by default', async () => {
    const sendText = (length: number) =>
      svc.send('POST', '/api/ai-req', { token, body: buildQuestion('x'.repeat(length), 'demo') })

    expect((await sendText(2 * 1024 * 1024 - 1000)).status).toBe(200)
    expect((await sendText(2 * 1024 * 1024)).status).toBe(413)
  })

  test('a body for POST /api/ai-req of unannounced length is 413 before its end', async () => {
    const response = await fetch(`${narrow.url}/api/ai-req`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
      body: createHugeBody(),
      duplex: 'half',
    } as RequestInit).catch(() => undefined)

    // The connection may be cut before the answer is read.
    expect(response?.status ?? 413).toBe(413)
    expect((await narrow.send('GET', '/api/user', { token: own })).status).toBe(200)
  })

  test('a body for POST /api/ai-req is 415 as anything but JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'x/y']) {
      const headers = { 'content-type': type }
      const response = await svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion('Hello', 'demo') })

      expect.soft(response.status, type).toBe(415)
      expect.soft(await response.json(), type).toMatchObject({ success: false, code: 'unsupported_media_type' })
    }
  })

  test('POST /api/ai-req asks for the token before it reads a byte', async () => {
    expect((await narrow.send('POST', '/api/ai-req', { body: 'x'.repeat(100_000) })).status).toBe(401)
    expect(
      (await narrow.send('POST', '/api/ai-req', { headers: { 'content-type': 'text/plain' }, body: 'x' })).status,
    ).toBe(401)
  })

  test('a body for POST /api/ai-req may carry a charset', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    expect(
      (await svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion('Hallo', 'demo') })).status,
    ).toBe(200)
  })
})

import { beforeAll, beforeEach, expect, test } from 'vitest'
import { answers } from '../../kit/ai/provider.ts'
import { openBrowser, signIn, type TestBrowser } from '../../kit/browser.ts'
import { KEY, startRoomAi } from '../../kit/rooms/ai.ts'
import { shareResource } from '../../kit/share-resource.ts'

let ada: TestBrowser
let slug: string

const app = shareResource(startRoomAi)
beforeAll(async () => {
  app.provider.behave = answers('Good day.')
  ;({ browser: ada } = await signIn(app.svc, 'ada'))
  const { body } = await ada.send('POST', '/req/room/createRoom', { body: { room_name: 'Chess' } })
  ;({ slug } = body['roomData'] as { slug: string })
})
beforeEach(() => {
  app.provider.requests.length = 0
})

const saying = (text: string | null) => ({ role: 'user', content: { text } })
const buildBody = (payload: object = {}, more: object = {}) => ({
  payload: { model: 'mock-1', stream: false, messages: [saying('Well?')], ...payload },
  broadcast: true,
  key: KEY,
  threadIndex: 0,
  ...more,
})
const send = (body: object, by = ada) => by.send('POST', `/req/room/streamAI/${slug}`, { body })
const refusal = { success: false, code: 'invalid', requestId: expect.any(String) }

test.for<[string, object, string]>([
  ['too warm a temperature', buildBody({ params: { temp: 3 } }), 'payload.params.temp'],
  ['half a token', buildBody({ params: { max_tokens: 0.5 } }), 'payload.params.max_tokens'],
  ['an unknown tool', buildBody({ tools: ['none'] }), 'payload.tools.0'],
  ['a message without text', buildBody({ messages: [saying(null)] }), 'payload.messages.0.content.text'],
  ['no messages', buildBody({ messages: [] }), 'payload.messages'],
  ['no model', buildBody({ model: '' }), 'payload.model'],
  ['a key that is none', buildBody({}, { key: 'key' }), 'key'],
  ['a thread that is no number', buildBody({}, { threadIndex: 'x' }), 'threadIndex'],
])('%s is refused by the field of the older front end, and asks nobody', async ([, question, field]) => {
  const { status, body } = await send(question)

  expect([status, body]).toMatchObject([422, { ...refusal, message: 'Validation Error' }])
  const errors = body['errors'] as Record<string, string[]>
  expect(Object.keys(errors)).toEqual([field])
  expect(errors[field]?.[0]).toContain(`The ${field} field `)
  expect(app.provider.requests).toEqual([])
})

test('a missing model is refused with the word that older front ends know', async () => {
  const { status, body } = await send(buildBody({ model: 'none' }))

  expect([status, body]).toEqual([400, { ...refusal, error: 'The requested model is not available.' }])
  expect(app.provider.requests).toEqual([])
})

test('parameters that are null are as good as none', async () => {
  const params = { temp: null, top_p: null, max_tokens: null, max_thinking_tokens: null }
  expect((await send(buildBody({ params }))).body).toEqual({ success: true })
  await expect.poll(() => app.provider.requests.length).toBe(1)
})

test("a stranger's refusal is equal for existing and missing rooms", async () => {
  const { browser } = await signIn(app.svc, 'bob')
  const guest = openBrowser(app.svc.url)

  expect((await send(buildBody({ model: 'none' }), browser)).status).toBe(404)
  expect((await send(buildBody({ model: 'none' }), guest)).status).toBe(401)
  expect((await send(buildBody({}, { slug: 'another' }))).status).toBe(404)
  expect(app.provider.requests).toEqual([])
})

import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { callsTool, callsTools, configFor, question, startProvider } from '../kit/ai/provider.ts'
import { startApp, type TestApp, type TestUser } from '../kit/app.ts'
import { startToolServer, tool } from '../kit/mcp/hostile.ts'

const resources = new AsyncDisposableStack()
let svc: TestApp
let server: Awaited<ReturnType<typeof startToolServer>>
let upstream: Awaited<ReturnType<typeof startProvider>>
let ada: TestUser
let eve: TestUser

beforeAll(async () => {
  server = resources.use(await startToolServer())
  upstream = resources.use(await startProvider(callsTool('mail_echo', '{"text":"to Bob"}')))
  const mcpServers = [{ label: 'Mail', url: server.url, requireApproval: 'always' }]
  const model = { tools: ['mail_echo'] }
  const config = resources.use(await configFor(upstream.url, { model, more: { mcpServers } }))
  svc = resources.use(await startApp({ AI_CONFIG: config.file, AI_TOOL_APPROVAL_TIMEOUT: '4s' }))
  ada = await svc.user()
  eve = await svc.user()
  await svc.host.mcp.sync()
  await approve()
})
afterAll(() => resources.disposeAsync())

async function approve() {
  const [known] = await svc.host.mcp.tools()
  await svc.host.mcp.approve({ name: 'mail_echo', hash: known?.hash ?? '' })
}

const said = { role: 'user', content: [{ type: 'text', text: 'Hello' }] }

beforeEach(() => {
  server.seen.length = 0
  upstream.asked.length = 0
})

const answer = async (token: string | undefined, body: object) =>
  (await svc.send('POST', '/trpc/ai.approve', { token, body })).status

/** Asks, and does something at the question whether the tool may be called; the names of the events. */
async function asked(
  atQuestion: (question: { id: string }) => unknown,
  signal = new AbortController().signal,
  { by = ada.token, conversation }: { by?: string; conversation?: string | undefined } = {},
) {
  const headers = { accept: 'text/event-stream' }
  const body = { payload: { ...question().payload, conversation } }
  const response = await svc.send('POST', '/api/ai-req', { token: by, body, headers, signal })
  const events: string[] = []
  for await (const line of createInterface(Readable.fromWeb(response.body as never))) {
    if (line.startsWith('event: ')) events.push(line.slice(7))
    if (line.startsWith('data: ') && events.at(-1) === 'approval') await atQuestion(JSON.parse(line.slice(6)))
  }
  return [...new Set(events)]
}

const calls = () => server.seen.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.arguments)
const told = () => String(upstream.asked.at(-1)?.body.messages.at(-1)?.content)

test('a call waits until the person has seen what it is, and has allowed it; nobody else can', async () => {
  const events = await asked(async (part) => {
    expect(part).toEqual({ id: expect.any(String), tool: 'mail_echo', server: 'Mail', input: { text: 'to Bob' } })
    const body = { id: part.id, allow: true }
    expect([await answer(undefined, body), await answer(eve.token, body), calls()]).toEqual([401, 404, []])
    expect([await answer(ada.token, body), await answer(ada.token, { ...body, allow: false })]).toEqual([200, 404])
  })
  expect(events).toEqual(['approval', 'delta', 'usage', 'done'])
  expect([calls(), told()]).toEqual([[{ text: 'to Bob' }], '"done"'])
})

test('a call that the person refuses, does not answer, or cannot be asked about reaches no server', async () => {
  await asked(({ id }) => answer(ada.token, { id, allow: false }))
  expect(told()).toMatch(/does not allow/)
  await asked(() => {})
  expect(told()).toMatch(/did not answer in time/)
  expect((await svc.send('POST', '/api/ai-req', { token: ada.token, body: question() })).status).toBe(200)
  expect(told()).toMatch(/cannot be asked/)
  expect(calls()).toEqual([])
})

test('an answer that is to be remembered holds for the further rounds of the same answer', async () => {
  const once = callsTool('mail_echo', '{"text":"again"}')
  upstream.behave = (asked, response) => {
    const results = asked.body.messages.filter(({ role }) => role === 'tool').length
    const messages = results < 3 ? asked.body.messages.filter(({ role }) => role !== 'tool') : asked.body.messages
    return once({ ...asked, body: { ...asked.body, messages } }, response)
  }
  let questions = 0
  await asked(({ id }) => {
    questions++
    return answer(ada.token, { id, allow: true, remember: true })
  })
  expect([questions, calls()]).toEqual([1, [{ text: 'again' }, { text: 'again' }, { text: 'again' }]])
})

test('an answer that is to be remembered settles the other calls of the same round', async () => {
  upstream.behave = callsTools(Array(3).fill({ name: 'mail_echo', input: '{"text":"all"}' }))
  let isAnswered = false
  const events = await asked(({ id }) => {
    if (isAnswered) return
    isAnswered = true
    return answer(ada.token, { id, allow: true, remember: true })
  })
  expect([events.at(-1), calls()]).toEqual(['done', Array(3).fill({ text: 'all' })])
})

test('a tool that is allowed for a conversation asks no more in it, and asks everywhere else', async () => {
  upstream.behave = callsTool('mail_echo', '{"text":"to Bob"}')
  const isAsked = async (by: string, conversation: string | undefined, given: object = { allow: false }) => {
    const events = await asked(({ id }) => answer(by, { id, ...given }), undefined, { by, conversation })
    return events.includes('approval')
  }
  const other = (await svc.host.tokens.createFor({ user: { id: ada.id }, name: 'other', abilities: ['ai'] })).token
  expect(await isAsked(ada.token, 'one', { allow: false, remember: true })).toBe(true)
  expect(await isAsked(ada.token, 'one', { allow: true })).toBe(true)
  expect(await isAsked(ada.token, 'one', { allow: true, remember: true })).toBe(true)
  expect(await isAsked(ada.token, 'one')).toBe(false)
  for (const [by, conversation] of [
    [ada.token, 'two'],
    [ada.token, undefined],
    [eve.token, 'one'],
    [other, 'one'],
  ] as const)
    expect(await isAsked(by, conversation)).toBe(true)

  server.seen.length = 0
  const whole = { payload: { ...question().payload, conversation: 'one' } }
  expect((await svc.send('POST', '/api/ai-req', { token: ada.token, body: whole })).status).toBe(200)
  expect(calls()).toEqual([{ text: 'to Bob' }])
  const long = { payload: { ...question().payload, conversation: 'x'.repeat(201) } }
  expect((await svc.send('POST', '/api/ai-req', { token: ada.token, body: long })).status).toBe(422)

  server.tools = [tool('echo', { description: 'Sends mail to everybody.' })]
  await svc.host.mcp.sync()
  await approve()
  expect(await isAsked(ada.token, 'one')).toBe(true)
})

test('a face that cannot ask refuses a request for the tool by its field, and tells the model of a call', async () => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const asking: [path: string, body: object, status: number, names: RegExp][] = [
    ['/api/ai-req', { payload: { ...question().payload, tools: ['mail_echo'] } }, 422, /payload\.tools\.0/],
    ['/v1/chat/completions', { model: 'mock-1', messages, tools: ['mail_echo'] }, 400, /"param":"tools/],
    ['/trpc/ai.complete', { model: 'mock-1', messages: [said], modelTools: ['mail_echo'] }, 422, /modelTools/],
  ]
  for (const [path, body, status, names] of asking) {
    const response = await svc.send('POST', path, { token: ada.token, body })
    const text = await response.text()
    expect([path, response.status, text]).toEqual([path, status, expect.stringMatching(/cannot be asked here/)])
    expect(text).toMatch(names)
  }
  expect(upstream.asked).toEqual([])
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'mock-1', messages }],
    ['/v1/chat/completions', { model: 'mock-1', messages, stream: true }],
    ['/v1/messages', { model: 'mock-1', messages, max_tokens: 10 }],
    ['/v1/messages', { model: 'mock-1', messages, max_tokens: 10, stream: true }],
  ] as const) {
    const response = await svc.send('POST', path, { token: ada.token, body })
    expect([path, response.status, await response.text()]).toEqual([path, 200, expect.stringContaining('The')])
    expect(told()).toMatch(/cannot be asked here/)
  }
  expect(calls()).toEqual([])
})

test('a person who goes away leaves no question behind', async () => {
  const gone = new AbortController()
  let left = ''
  await asked(({ id }) => {
    left = id
    gone.abort()
  }, gone.signal).catch(() => {})
  await expect.poll(() => answer(ada.token, { id: left, allow: true })).toBe(404)
  expect(calls()).toEqual([])
})

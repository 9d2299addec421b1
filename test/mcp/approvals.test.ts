import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { buildQuestion, callsTool, callsTools, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestUser } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

let ada: TestUser
let eve: TestUser

const server = shareResource(startToolServer)
const upstream = shareResource(() => startProvider(callsBob))
const config = shareResource(() => {
  const mcpServers = [{ label: 'Mail', url: server.url, requireApproval: 'always' }]
  const model = { tools: ['mail_echo'] }
  return writeConfig(upstream.url, { model, more: { mcpServers } })
})
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, AI_TOOL_APPROVAL_TIMEOUT: '10s' }))
beforeAll(async () => {
  ada = await svc.user()
  eve = await svc.user()
  await svc.host.mcp.sync()
  await approve()
})

async function approve() {
  const [known] = await svc.host.mcp.tools()
  await svc.host.mcp.approve({ name: 'mail_echo', hash: known?.hash ?? '' })
}

const callsBob = callsTool('mail_echo', '{"text":"to Bob"}')
const userMessage = { role: 'user', content: [{ type: 'text', text: 'Hello' }] }

beforeEach(() => {
  server.seen.length = 0
  upstream.behave = callsBob
  upstream.requests.length = 0
})

/** A token, or a browser that has a session. */
type By = string | TestBrowser

const buildCredentials = (by: By | undefined) =>
  typeof by === 'object'
    ? { headers: { cookie: `svc_session=${by.session}`, 'sec-fetch-site': 'same-origin' } }
    : { token: by, headers: {} }

const answer = async (by: By | undefined, body: object) =>
  (await svc.send('POST', '/trpc/ai.approve', { ...buildCredentials(by), body })).status

/** Sends a question and runs a function when approval is requested; returns the names of the events. */
async function sendUntilApproval(
  atQuestion: (question: { id: string }) => unknown,
  signal = new AbortController().signal,
  { by = ada.token, conversation }: { by?: string; conversation?: string | undefined } = {},
) {
  const headers = { accept: 'text/event-stream' }
  const body = { payload: { ...buildQuestion().payload, conversation } }
  const response = await svc.send('POST', '/api/ai-req', { token: by, body, headers, signal })
  const events: string[] = []
  for await (const line of createInterface(Readable.fromWeb(response.body as never))) {
    if (line.startsWith('event: ')) events.push(line.slice(7))
    if (line.startsWith('data: ') && events.at(-1) === 'approval') await atQuestion(JSON.parse(line.slice(6)))
  }
  return [...new Set(events)]
}

/** Returns whether a question in a conversation asks for approval, and answers it. */
async function needsApproval(by: By, conversation: string | undefined, given: object = { allow: false }) {
  const atQuestion = ({ id }: { id: string }) => answer(by, { id, ...given })
  if (typeof by === 'object') return needsApprovalInBrowser(by, conversation, atQuestion)
  return (await sendUntilApproval(atQuestion, undefined, { by, conversation })).includes('approval')
}

async function needsApprovalInBrowser(
  by: TestBrowser,
  conversation: string | undefined,
  atQuestion: (question: { id: string }) => unknown,
) {
  const headers = { ...buildCredentials(by).headers, 'trpc-accept': 'application/jsonl' }
  const body = { 0: { ...buildQuestion().payload, conversation } }
  const response = await svc.send('POST', '/trpc/ai.stream?batch=1', { body, headers })
  let isQuestion = false
  for await (const line of createInterface(Readable.fromWeb(response.body as never))) {
    const [, id] = /"type":"approval","id":"([^"]+)"/.exec(line) ?? []
    isQuestion ||= id !== undefined
    if (id) await atQuestion({ id })
  }
  return isQuestion
}

const calls = () => server.seen.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.arguments)
const lastToolResult = () => String(upstream.requests.at(-1)?.body.messages.at(-1)?.content)

test('a call waits until its person has seen and approved it', async () => {
  const events = await sendUntilApproval(async (part) => {
    expect(part).toEqual({ id: expect.any(String), tool: 'mail_echo', server: 'Mail', input: { text: 'to Bob' } })
    const body = { id: part.id, allow: true }
    expect([await answer(undefined, body), await answer(eve.token, body), calls()]).toEqual([401, 404, []])
    expect([await answer(ada.token, body), await answer(ada.token, { ...body, allow: false })]).toEqual([200, 404])
  })
  expect(events).toEqual(['approval', 'delta', 'usage', 'done'])
  expect([calls(), lastToolResult()]).toEqual([[{ text: 'to Bob' }], 'done'])
})

test('a call that is refused, unanswered or cannot be asked reaches no server', async () => {
  await sendUntilApproval(({ id }) => answer(ada.token, { id, allow: false }))
  expect(lastToolResult()).toMatch(/does not allow/)
  await sendUntilApproval(() => {})
  expect(lastToolResult()).toMatch(/did not answer in time/)
  expect((await svc.send('POST', '/api/ai-req', { token: ada.token, body: buildQuestion() })).status).toBe(200)
  expect(lastToolResult()).toMatch(/cannot be asked/)
  expect(calls()).toEqual([])
})

test('a remembered approval holds for further rounds of the same response', async () => {
  const once = callsTool('mail_echo', '{"text":"again"}')
  upstream.behave = (request, response) => {
    const results = request.body.messages.filter(({ role }) => role === 'tool').length
    const messages = results < 3 ? request.body.messages.filter(({ role }) => role !== 'tool') : request.body.messages
    return once({ ...request, body: { ...request.body, messages } }, response)
  }
  let questions = 0
  await sendUntilApproval(({ id }) => {
    questions++
    return answer(ada.token, { id, allow: true, remember: true })
  })
  expect([questions, calls()]).toEqual([1, [{ text: 'again' }, { text: 'again' }, { text: 'again' }]])
})

test('a remembered approval settles the other calls of the same round', async () => {
  upstream.behave = callsTools(Array(3).fill({ name: 'mail_echo', input: '{"text":"all"}' }))
  let isAnswered = false
  const events = await sendUntilApproval(({ id }) => {
    if (isAnswered) return
    isAnswered = true
    return answer(ada.token, { id, allow: true, remember: true })
  })
  expect([events.at(-1), calls()]).toEqual(['done', Array(3).fill({ text: 'all' })])
})

test('a tool that is approved for a conversation still asks in others', async () => {
  const other = (await svc.host.tokens.createFor({ user: { id: ada.id }, name: 'other', abilities: ['ai'] })).token
  expect(await needsApproval(ada.token, 'one', { allow: false, remember: true })).toBe(true)
  expect(await needsApproval(ada.token, 'one', { allow: true })).toBe(true)
  expect(await needsApproval(ada.token, 'one', { allow: true, remember: true })).toBe(true)
  expect(await needsApproval(ada.token, 'one')).toBe(false)
  for (const [by, conversation] of [
    [ada.token, 'two'],
    [ada.token, undefined],
    [eve.token, 'one'],
    [other, 'one'],
  ] as const)
    expect(await needsApproval(by, conversation)).toBe(true)

  server.seen.length = 0
  const whole = { payload: { ...buildQuestion().payload, conversation: 'one' } }
  expect((await svc.send('POST', '/api/ai-req', { token: ada.token, body: whole })).status).toBe(200)
  expect(calls()).toEqual([{ text: 'to Bob' }])
  const long = { payload: { ...buildQuestion().payload, conversation: 'x'.repeat(201) } }
  expect((await svc.send('POST', '/api/ai-req', { token: ada.token, body: long })).status).toBe(422)

  server.tools = [buildTool('echo', { description: 'Sends mail to everybody.' })]
  await svc.host.mcp.sync()
  await approve()
  expect(await needsApproval(ada.token, 'one')).toBe(true)
})

test('approvals for a conversation belong to one session and can be revoked elsewhere', async () => {
  const { browser: first, id } = await signIn(svc, 'grace')
  const second = openBrowser(svc.url)
  await second.login('grace')
  const { browser: other } = await signIn(svc, 'linus')
  const grant = { user: { id }, name: 'script', abilities: ['ai' as const] }
  const { id: tokenId, token } = await svc.host.tokens.createFor(grant)
  const listed = async (by: TestBrowser) => {
    const { body } = await by.send('GET', '/trpc/ai.approvals')
    return (body['result'] as { data: { id: string; conversation: string; token: string | null }[] }).data
  }
  const revoke = async (by: By | undefined, approval: string) =>
    (await svc.send('POST', '/trpc/ai.revokeApproval', { ...buildCredentials(by), body: { id: approval } })).status
  const always = { allow: true, remember: true }

  expect(await needsApproval(first, 'one', always)).toBe(true)
  expect([
    await needsApproval(first, 'one'),
    await needsApproval(second, 'one'),
    await needsApproval(token, 'one'),
  ]).toEqual([false, true, true])
  await Promise.all(['one', 'two', 'three', 'four'].map((conversation) => needsApproval(token, conversation, always)))

  const [mine, ...scripts] = await listed(second)
  expect(mine).toEqual({
    id: expect.any(String),
    tool: 'mail_echo',
    server: 'Mail',
    conversation: 'one',
    token: null,
    until: expect.stringMatching(/Z$/),
  })
  expect(scripts.map(({ conversation, token }) => `${token} ${conversation}`).sort()).toEqual([
    'script four',
    'script one',
    'script three',
    'script two',
  ])
  expect(await listed(other)).toEqual([])
  const name = mine?.id ?? ''
  expect([await revoke(undefined, name), await revoke(token, name), await revoke(other, name)]).toEqual([401, 403, 404])
  expect(await needsApproval(first, 'one')).toBe(false)

  expect([await revoke(second, name), await revoke(second, name)]).toEqual([200, 404])
  expect([await needsApproval(first, 'one'), await needsApproval(token, 'one')]).toEqual([true, false])
  await svc.host.tokens.revokeFor({ user: { id }, tokenId })
  expect(await listed(first)).toEqual([])
})

test('an API without approvals refuses the tool by its field', async () => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const refusals: [path: string, body: object, status: number, names: RegExp][] = [
    ['/api/ai-req', { payload: { ...buildQuestion().payload, tools: ['mail_echo'] } }, 422, /payload\.tools\.0/],
    ['/v1/chat/completions', { model: 'mock-1', messages, tools: ['mail_echo'] }, 400, /"param":"tools/],
    ['/trpc/ai.complete', { model: 'mock-1', messages: [userMessage], modelTools: ['mail_echo'] }, 422, /modelTools/],
  ]
  for (const [path, body, status, names] of refusals) {
    const response = await svc.send('POST', path, { token: ada.token, body })
    const text = await response.text()
    expect([path, response.status, text]).toEqual([path, status, expect.stringMatching(/cannot be asked here/)])
    expect(text).toMatch(names)
  }
  expect(upstream.requests).toEqual([])
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'mock-1', messages }],
    ['/v1/chat/completions', { model: 'mock-1', messages, stream: true }],
    ['/v1/messages', { model: 'mock-1', messages, max_tokens: 10 }],
    ['/v1/messages', { model: 'mock-1', messages, max_tokens: 10, stream: true }],
  ] as const) {
    const response = await svc.send('POST', path, { token: ada.token, body })
    expect([path, response.status, await response.text()]).toEqual([path, 200, expect.stringContaining('The')])
    expect(lastToolResult()).toMatch(/cannot be asked here/)
  }
  expect(calls()).toEqual([])
})

test('a person who goes away leaves no question behind', async () => {
  const gone = new AbortController()
  let left = ''
  await sendUntilApproval(({ id }) => {
    left = id
    gone.abort()
  }, gone.signal).catch(() => {})
  await expect.poll(() => answer(ada.token, { id: left, allow: true })).toBe(404)
  expect(calls()).toEqual([])
})

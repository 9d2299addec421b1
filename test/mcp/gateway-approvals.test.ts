import { beforeAll, beforeEach, expect, test } from 'vitest'
import { signIn, type TestBrowser } from '../kit/browser.ts'
import { newName } from '../kit/identity/people.ts'
import { callTool, MODERN, revisions, startGateway } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { callFromPage, chooseAddress, signInProgram } from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const mail = shareResource(() => startToolServer([buildTool('send')]))
const bank = shareResource(() => startToolServer([buildTool('pay')]))
const svc = shareResource(async () =>
  startGateway(
    [
      { label: 'Mail', url: mail.url, requireApproval: 'always' },
      { label: 'Bank', url: bank.url, requireApproval: 'page' },
    ],
    { MCP_CALLS_PER_MINUTE: '1000', AI_TOOL_APPROVAL_LIFETIME: '90m', ...(await chooseAddress()) },
  ),
)

interface Person {
  token: string
  browser: TestBrowser
  id: number
}

let ada: Person
let bob: Person

async function addPerson(): Promise<Person> {
  const { browser, id } = await signIn(svc, newName())
  const { token } = await svc.host.tokens.createFor({ user: { id }, name: 'test', abilities: ['mcp'] })
  return { token, browser, id }
}
beforeAll(async () => {
  ada = await addPerson()
  bob = await addPerson()
})
beforeEach(() => {
  mail.seen.length = 0
  bank.seen.length = 0
})

const form = { elicitation: { form: {} } }
const sent = () => mail.seen.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.arguments)
const paid = () => bank.seen.filter(({ method }) => method === 'tools/call').length

interface Answer {
  action?: string
  choice?: string
  capabilities?: object
}

/** Calls with the answer to a question before. */
const send = (
  token: string,
  text: string,
  state?: string,
  { action = 'accept', choice, capabilities = form }: Answer = {},
) =>
  callTool(svc, 'mail_send', {
    token,
    capabilities,
    input: { text },
    ...(state !== undefined && {
      params: {
        requestState: state,
        inputResponses: { approval: { action, ...(choice && { content: { choice } }) } },
      },
    }),
  })

/** Queries a procedure without input. */
const query = async <Row>({ browser }: Person, name: string): Promise<Row[]> =>
  ((await browser.send('GET', `/trpc/${name}`)).body as { result: { data: Row[] } }).result.data
const questionsOf = (person: Person) => query<Record<'id' | 'input', string>>(person, 'mcpGateway.questions')
const answer = ({ browser }: Person, id: string, allow: string) =>
  browser.send('POST', '/trpc/mcpGateway.answer', { body: { id, allow } })
const AT_PAGE = /allow it at http:\S+\/settings\/approvals, then call the tool again with the same arguments/

test('a program that shows forms asks its person, and the call runs once', async () => {
  const asked = await send(ada.token, 'once')
  expect(asked.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
  const { method, params } = asked.result.inputRequests.approval
  expect([method, params.message]).toEqual([
    'elicitation/create',
    'May “mail_send” of Mail be called with this input?\n{\n  "text": "once"\n}',
  ])
  expect(params.requestedSchema.properties.choice.oneOf).toEqual([
    { const: 'once', title: 'Allow once' },
    { const: 'remember', title: 'Allow for 90 minutes' },
    { const: 'no', title: 'Do not allow' },
  ])
  expect(sent()).toEqual([])
  const state = asked.result.requestState

  expect((await send(ada.token, 'once', state, { choice: 'once' })).result.content[0].text).toBe('done')
  expect(sent()).toEqual([{ text: 'once' }])
  const replayed = await send(ada.token, 'once', state, { choice: 'once' })
  expect([replayed.result.isError, replayed.result.content[0].text]).toEqual([
    true,
    expect.stringMatching(/used already/),
  ])
  expect(sent()).toEqual([{ text: 'once' }])
})

test("an altered answer, or one to another's call, runs nothing", async () => {
  const { state } = { state: (await send(ada.token, 'first')).result.requestState as string }
  const { token: second } = await svc.host.tokens.createFor({
    user: { id: ada.id },
    name: 'second',
    abilities: ['mcp'],
  })
  const other = await send(bob.token, 'first')
  const altered = state.slice(0, -4) + (state.endsWith('AAAA') ? 'BBBB' : 'AAAA')
  for (const [token, text, forged] of [
    [ada.token, 'second', state],
    [second, 'first', state],
    [bob.token, 'first', state],
    [ada.token, 'first', other.result.requestState],
    [ada.token, 'first', altered],
    [ada.token, 'first', ''],
    [ada.token, 'first', 'x'.repeat(10_000)],
  ] as const) {
    const { result } = await send(token, text, forged, { choice: 'once' })
    expect([result.isError, result.content[0].text]).toEqual([true, expect.stringMatching(/another call|too old/)])
  }
  expect(sent()).toEqual([])
  expect((await send(ada.token, 'first', state, { choice: 'once' })).result.isError).toBeUndefined()
  expect(sent()).toEqual([{ text: 'first' }])
})

test('one answer that four calls use at once runs one of them', async () => {
  const caller = await addPerson()
  const state = (await send(caller.token, 'race')).result.requestState as string
  const work = Array.from({ length: 4 }, () => send(caller.token, 'race', state, { choice: 'once' }))
  await Promise.all(work)
  expect(sent()).toEqual([{ text: 'race' }])
})

test('a refusal runs nothing, and an answer for hours is for one program alone', async () => {
  const caller = await addPerson()
  const state = (await send(caller.token, 'a')).result.requestState as string
  for (const no of [{ action: 'decline' }, { choice: 'no' }]) {
    const { result } = await send(caller.token, 'a', state, no)
    expect([result.isError, result.content[0].text]).toEqual([true, 'The person does not allow this call.'])
  }
  expect(sent()).toEqual([])

  await send(caller.token, 'a', state, { choice: 'remember' })
  await send(caller.token, 'b')
  expect(sent()).toEqual([{ text: 'a' }, { text: 'b' }])
  const { token: second } = await svc.host.tokens.createFor({
    user: { id: caller.id },
    name: 'second',
    abilities: ['mcp'],
  })
  expect((await send(second, 'c')).result.resultType).toBe('input_required')
  const listed = await query<{ id: string }>(caller, 'ai.approvals')
  expect(listed).toMatchObject([{ tool: 'mail_send', server: 'Mail', conversation: '/mcp', token: 'test' }])
  await caller.browser.send('POST', '/trpc/ai.revokeApproval', { body: { id: listed[0]?.id } })
  expect((await send(caller.token, 'd')).result.resultType).toBe('input_required')
  expect(sent()).toEqual([{ text: 'a' }, { text: 'b' }])
})

test('a program that cannot ask gets a page whose answer runs the call once', async () => {
  const caller = await addPerson()
  const call = (revision: (typeof revisions)[number], input = { text: 'hi' }) =>
    callTool(svc, 'mail_send', { token: caller.token, revision, input })
  for (const revision of revisions) {
    const { result } = await call(revision)
    expect([result.isError, result.content[0].text]).toEqual([true, expect.stringMatching(AT_PAGE)])
  }
  const cancelled = (await send(caller.token, 'hi')).result.requestState as string
  expect((await send(caller.token, 'hi', cancelled, { action: 'cancel' })).result.content[0].text).toMatch(AT_PAGE)
  const [question, ...more] = await questionsOf(caller)
  expect([question, more]).toEqual([
    expect.objectContaining({ tool: 'mail_send', server: 'Mail', token: 'test', input: '{\n  "text": "hi"\n}' }),
    [],
  ])
  const id = question?.id ?? ''

  expect((await answer(bob, id, 'once')).status).toBe(404)
  expect(await questionsOf(bob)).toEqual([])
  const byToken = await svc.send('POST', '/trpc/mcpGateway.answer', {
    token: caller.token,
    body: { id, allow: 'once' },
  })
  expect([byToken.status, sent()]).toEqual([403, []])

  expect((await answer(caller, id, 'once')).status).toBe(200)
  expect((await answer(caller, id, 'once')).status).toBe(404)
  expect((await call(MODERN, { text: 'other' })).result.content[0].text).toMatch(AT_PAGE)
  const results = await Promise.all([call('2025-06-18'), call(MODERN), call('2025-11-25')])
  expect(results.filter(({ result }) => !result.isError)).toHaveLength(1)
  expect(sent()).toEqual([{ text: 'hi' }])
})

test('where only the page may answer, no form is sent and no form answers', async () => {
  const caller = await addPerson()
  const pay = (params: object = {}) =>
    callTool(svc, 'bank_pay', {
      token: caller.token,
      capabilities: form,
      input: { text: 'Eve' },
      params: { ...params },
    })
  const { result } = await pay()
  expect(result.content[0].text).toMatch(AT_PAGE)
  const state = (await send(caller.token, 'x')).result.requestState as string
  const forced = {
    requestState: state,
    inputResponses: { approval: { action: 'accept', content: { choice: 'once' } } },
  }
  expect((await pay(forced)).result.content[0].text).toMatch(AT_PAGE)
  expect(paid()).toBe(0)
  const [question] = await questionsOf(caller)
  await answer(caller, question?.id ?? '', 'remember')
  for (let n = 0; n < 2; n++) expect((await pay()).result.isError).toBeUndefined()
  expect(paid()).toBe(2)
})

test('a signed-in program asks on our page, which lists and ends its approvals', async () => {
  const caller = await addPerson()
  const { tokens } = await signInProgram(svc, caller.browser)
  const token = tokens.access_token
  const call = (text: string) => callTool(svc, 'mail_send', { token, input: { text } })
  expect((await call('page')).result.content[0].text).toMatch(AT_PAGE)
  const [question] = await questionsOf(caller)
  expect(question).toMatchObject({ token: 'Test program', tool: 'mail_send' })
  await answer(caller, question?.id ?? '', 'once')
  expect((await call('page')).result.isError).toBeUndefined()

  const state = (await send(token, 'form')).result.requestState as string
  await send(token, 'form', state, { choice: 'remember' })
  // A refresh makes the same token valid again, so its approval stays while the grant runs.
  await svc.rows("update access_tokens set expires_at = now() where user_id = $1 and holder = 'program'", [caller.id])
  const [approval, ...more] = await query<{ id: string }>(caller, 'ai.approvals')
  expect([approval, more]).toEqual([expect.objectContaining({ tool: 'mail_send', token: 'Test program' }), []])
  await svc.rows("update access_tokens set expires_at = now() + interval '1 hour' where user_id = $1", [caller.id])
  await caller.browser.send('POST', '/trpc/ai.revokeApproval', { body: { id: approval?.id } })
  expect((await send(token, 'again')).result.resultType).toBe('input_required')
  await call('later')
  expect(await questionsOf(bob)).toEqual([])
  const { data } = await callFromPage(caller.browser, 'oauth.grants')
  await callFromPage(caller.browser, 'oauth.endGrant', { id: (data as { id: number }[])[0]?.id })
  expect(await questionsOf(caller)).toEqual([])
  expect(sent()).toEqual([{ text: 'page' }, { text: 'form' }])
})

test.each([
  ['mail_send', 'Mail'],
  ['bank_pay', 'Bank'],
])('a revoked answer for hours to %s lets not even its own call run', async (tool, server) => {
  const caller = await addPerson()
  const call = () => callTool(svc, tool, { token: caller.token, input: { text: 'hours' } })
  expect((await call()).result.content[0].text).toMatch(AT_PAGE)
  const [question] = await questionsOf(caller)
  expect((await answer(caller, question?.id ?? '', 'remember')).status).toBe(200)
  expect((await call()).result.isError).toBeUndefined()
  const [approval] = await query<{ id: string }>(caller, 'ai.approvals')
  expect(approval).toMatchObject({ server })
  await caller.browser.send('POST', '/trpc/ai.revokeApproval', { body: { id: approval?.id } })
  expect((await call()).result.content[0].text).toMatch(AT_PAGE)
  expect(sent().length + paid()).toBe(1)
})

test('a program that asks much drops its own questions alone, and no given answer', async () => {
  const caller = await addPerson()
  const { token: busy } = await svc.host.tokens.createFor({ user: { id: caller.id }, name: 'busy', abilities: ['mcp'] })
  const call = (token: string, text: string) => callTool(svc, 'bank_pay', { token, input: { text } })
  await call(caller.token, 'of the other')
  await call(busy, 'allowed')
  const allowed = (await questionsOf(caller)).find(({ input }) => input.includes('allowed'))
  await answer(caller, allowed?.id ?? '', 'once')
  for (let n = 0; n < 12; n++) expect((await call(busy, `n${n}`)).result.content[0].text).toMatch(AT_PAGE)
  const texts = (await questionsOf(caller)).map(({ input }) => (JSON.parse(input) as { text: string }).text)
  expect(texts).toEqual(['of the other', ...[3, 4, 5, 6, 7, 8, 9, 10, 11].map((n) => `n${n}`)])
  expect((await call(busy, 'allowed')).result.isError).toBeUndefined()
  expect(paid()).toBe(1)
})

test('a program whose questions are all allowed is told that there are too many', async () => {
  const caller = await addPerson()
  const call = (text: string) => callTool(svc, 'bank_pay', { token: caller.token, input: { text } })
  for (let n = 0; n < 10; n++) await call(`n${n}`)
  for (const { id } of await questionsOf(caller)) await answer(caller, id, 'once')
  const { result } = await call('one more')
  expect([result.isError, result.content[0].text]).toEqual([true, expect.stringContaining('too many open questions')])
  expect(await questionsOf(caller)).toEqual([])
  expect((await call('n0')).result.isError).toBeUndefined()
  expect(paid()).toBe(1)
})

test('a limit without room leaves the answer for once to a later call', async () => {
  const caller = await addPerson()
  const [person] = await svc.rows<{ username: string }>('select username from users where id = $1', [caller.id])
  const limit = {
    name: 'once',
    for: `user:${person?.username}`,
    unit: 'calls',
    per: 'month',
    countFrom: 'now',
  } as const
  const pay = () => callTool(svc, 'bank_pay', { token: caller.token, input: { text: 'once' } })
  await pay()
  const [question] = await questionsOf(caller)
  await answer(caller, question?.id ?? '', 'once')
  await svc.host.limits.set({ ...limit, cap: 0 })
  for (let n = 0; n < 2; n++) expect((await pay()).result.content[0].text).toContain('lets no call through')
  expect(await svc.host.limits.show({ name: 'once' })).toMatchObject([{ used: 0, refused: 2 }])
  await svc.host.limits.set({ ...limit, cap: 1 })
  expect((await pay()).result.isError).toBeUndefined()
  expect((await pay()).result.content[0].text).toContain('1 used of 1 calls')
  expect(await questionsOf(caller)).toEqual([])
  expect(paid()).toBe(1)
  await svc.host.limits.remove({ name: 'once' })
})

test('a record tells who was asked from who refused, and neither counts', async () => {
  const caller = await addPerson()
  const state = (await send(caller.token, 'x')).result.requestState as string
  await callTool(svc, 'bank_pay', { token: caller.token, input: { text: 'x' } })
  await send(caller.token, 'x', state, { choice: 'no' })
  await send(caller.token, 'y', state, { choice: 'once' })
  const outcomes = () =>
    svc.rows<{ outcome: string }>('select outcome from tool_uses where user_id = $1 order by id', [caller.id])
  await expect
    .poll(async () => (await outcomes()).map(({ outcome }) => outcome))
    .toEqual(['asked', 'asked', 'refused', 'refused'])
  const [person] = await svc.rows<{ username: string }>('select username from users where id = $1', [caller.id])
  const limit = { name: 'few', for: `user:${person?.username}`, unit: 'calls', per: 'month', cap: 9 } as const
  expect((await svc.host.limits.set({ ...limit, countFrom: 'period' })).begun).toMatchObject({ used: 0 })
  await svc.host.limits.remove({ name: 'few' })
})

test('a changed definition ends each approval', async () => {
  const caller = await addPerson()
  const state = (await send(caller.token, 'y')).result.requestState as string
  await send(caller.token, 'y', state, { choice: 'remember' })
  const pending = (await callTool(svc, 'bank_pay', { token: caller.token, input: { text: 'z' } })).result
  expect(pending.isError).toBe(true)
  mail.tools = [buildTool('send', { description: 'Sends mail to everybody.' })]
  await svc.host.mcp.sync()
  expect((await send(caller.token, 'y')).error).toMatchObject({ message: 'Unknown tool' })
  const changed = (await svc.host.mcp.tools()).find(({ name }) => name === 'mail_send')
  await svc.host.mcp.approve({ name: 'mail_send', hash: changed?.hash ?? '' })
  expect((await send(caller.token, 'y')).result.resultType).toBe('input_required')
  expect(sent()).toEqual([{ text: 'y' }])
})

test('arguments of open questions are sealed, and nowhere else', async () => {
  const caller = await addPerson()
  await callTool(svc, 'mail_send', { token: caller.token, input: { text: 'canary-7f3a' } })
  expect(JSON.stringify(await questionsOf(caller))).toContain('canary-7f3a')
  expect(JSON.stringify(svc.log)).not.toContain('canary-7f3a')
  expect(await svc.services.stores.kv.get(`mcp-questions:${caller.id}`)).not.toContain('canary')
})

import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { callsTool, callsTools } from '../kit/ai/provider.ts'
import {
  appendOutput,
  buildApprovals,
  createResponse,
  findApprovalRequest,
  findApprovalRequests,
  HELLO,
  type Input,
  startMail,
} from '../kit/mcp/mail.ts'
import { shareResource } from '../kit/share-resource.ts'

const mail = shareResource(startMail)
beforeEach(() => mail.reset())

test('a response ends with an approval request, which the next request answers once', async () => {
  const { upstream, ada, calls, lastModelMessage: told, buildApprovedInput: allowed } = mail
  const { response, input } = await allowed()
  expect(response).toMatchObject({ status: 'completed', output_text: '' })
  expect(response.output).toEqual([
    {
      type: 'mcp_approval_request',
      id: expect.stringMatching(/^mcpr_\w{9}$/),
      server_label: 'Mail',
      name: 'mail_echo',
      arguments: '{"text":"to Bob"}',
    },
  ])
  expect(calls()).toEqual([])

  const done = await createResponse(ada, input)
  expect(done.output).toMatchObject([
    {
      type: 'mcp_call',
      name: 'mail_echo',
      arguments: '{"text":"to Bob"}',
      server_label: 'Mail',
      approval_request_id: findApprovalRequest(response).id,
      status: 'completed',
      output: 'done',
      error: null,
    },
    { type: 'message' },
  ])
  expect(done.output_text).toBe('The tool was of help.')
  expect([calls(), told()]).toMatchObject([[{ text: 'to Bob' }], { role: 'tool', content: 'done' }])

  await createResponse(ada, [...appendOutput(input, done), { role: 'user', content: 'Thanks' }])
  expect(upstream.requests.at(-1)?.body.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ])
  const { input: both } = await allowed()
  await Promise.all([createResponse(ada, both), createResponse(ada, both)])
  expect(calls()).toHaveLength(2)
})

test('a model hears that the person does not allow a call, and why', async () => {
  const { ada, calls, lastModelMessage: told } = mail
  const response = await createResponse(ada, HELLO)
  const input = [...appendOutput(HELLO, response), ...buildApprovals(response, false, 'Bob is away.')]
  const { output_text } = await createResponse(ada, input)
  expect([output_text, calls()]).toEqual(['The tool was of help.', []])
  expect(told()).toMatchObject({ content: 'The person does not allow this call. They say: Bob is away.' })
  const changed = input.map((item) => ('approve' in item ? { ...item, approve: true } : item))
  findApprovalRequest(await createResponse(ada, changed))
  expect(calls()).toEqual([])
})

test('an approval holds for the very call, person and token alone', async () => {
  const { svc, upstream, adaId, ada, eve, createOpenAiClient, calls, buildApprovedInput: allowed } = mail
  const { response, input } = await allowed()
  const other = (await svc.host.tokens.createFor({ user: { id: adaId }, name: 'other', abilities: ['ai'] })).token
  const changed = input.map((item) => ('arguments' in item ? { ...item, arguments: '{"text":"to all"}' } : item))
  for (const [client, variant] of [
    [eve, input],
    [createOpenAiClient(other), input],
    [ada, changed],
  ] as const) {
    const question = findApprovalRequest(await createResponse(client, variant))
    expect(question.id).not.toBe(findApprovalRequest(response).id)
    expect(question.arguments).toBe(variant === changed ? '{"text":"to all"}' : '{"text":"to Bob"}')
  }
  await expect(createResponse(createOpenAiClient('nobody'), input)).rejects.toMatchObject({ status: 401 })
  expect([calls(), upstream.requests.length]).toEqual([[], 1])
  await createResponse(createOpenAiClient(other), [
    ...appendOutput(HELLO, response),
    ...buildApprovals(response, false),
  ])

  const anew = await createResponse(ada, changed)
  const done = await createResponse(ada, [...appendOutput(changed, anew), ...buildApprovals(anew, true)])
  expect([done.output.map(({ type }) => type), calls()]).toEqual([['mcp_call', 'message'], [{ text: 'to all' }]])
  const at = upstream.requests.at(-1)?.body.messages.find(({ role }) => role === 'tool')
  expect(at?.content).toBe('This call was not made.')
  expect((await createResponse(ada, input)).output[0]?.type).toBe('mcp_call')
})

test('a question that is too old is asked anew', async () => {
  const { start, createOpenAiClient, calls, buildApprovedInput: allowed } = mail
  const forgetful = await start({ AI_TOOL_QUESTION_LIFETIME: '1ms' })
  const client = createOpenAiClient((await forgetful.user()).token, forgetful)
  const { input } = await allowed(client)
  await pause(10)
  findApprovalRequest(await createResponse(client, input))
  expect(calls()).toEqual([])
})

test('several calls are allowed one by one; beside a question no other call runs', async () => {
  const { upstream, eve, calls } = mail
  upstream.behave = callsTools([
    { name: 'mail_echo', input: '{"text":"to Bob"}' },
    { name: 'mail_echo', input: '{"text":1}' },
    { name: 'mail_echo', input: '{"text":"to Eve"}' },
  ])
  const response = await createResponse(eve, HELLO)
  expect(findApprovalRequests(response).map((question) => question.arguments)).toEqual([
    '{"text":"to Bob"}',
    '{"text":"to Eve"}',
  ])
  const [yes, other] = buildApprovals(response, true)
  const input: Input = [...appendOutput(HELLO, response), ...(yes ? [yes] : [])]
  await expect(createResponse(eve, input)).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/has no result/),
  })
  const no = { ...other, approve: false } as Input[number]
  expect((await createResponse(eve, [...input, no])).output.map(({ type }) => type)).toEqual(['mcp_call', 'message'])
  expect(calls()).toEqual([{ text: 'to Bob' }])
})

test('several approval requests may be answered at once, and all approved calls run', async () => {
  const { upstream, eve, calls } = mail
  upstream.behave = callsTools([
    { name: 'mail_echo', input: '{"text":"to Bob"}' },
    { name: 'mail_echo', input: '{"text":"to Eve"}' },
  ])
  const response = await createResponse(eve, HELLO)
  const words = buildApprovals(response, true)
  const input = [...HELLO, ...response.output.flatMap((item, at) => [item, ...words.slice(at, at + 1)])] as Input
  const done = await createResponse(eve, input)
  expect(done.output.map(({ type }) => type)).toEqual(['mcp_call', 'mcp_call', 'message'])
  expect(calls()).toHaveLength(2)
  expect(calls()).toEqual(expect.arrayContaining([{ text: 'to Bob' }, { text: 'to Eve' }]))
})

test("the number of a person's pending approvals is bounded", async () => {
  const { svc, upstream, createOpenAiClient, calls, lastModelMessage: told } = mail
  upstream.behave = callsTools(Array(64).fill({ name: 'mail_echo', input: '{"text":"to Bob"}' }))
  const mia = createOpenAiClient((await svc.user()).token)
  const requestApprovals = async () => {
    const response = await createResponse(mia, HELLO)
    return {
      count: findApprovalRequests(response).length,
      input: appendOutput(HELLO, response),
      no: buildApprovals(response, false),
    }
  }
  const [first, second] = [await requestApprovals(), await requestApprovals()]
  expect([first.count, second.count]).toEqual([64, 36])
  expect((await createResponse(mia, HELLO)).output_text).toBe('The tools were of help.')
  expect(String(told()?.content)).toMatch(/too many open questions/)
  expect(calls()).toEqual([])

  const changed = JSON.parse(
    JSON.stringify([...second.input, ...second.no.map((no) => ({ ...no, approve: true }))]).replaceAll('Bob', 'all'),
  )
  const types = []
  for await (const { type } of await mia.responses.create({ model: 'mock-1', input: changed, stream: true }))
    types.push(type)
  expect(types).not.toContain('response.mcp_call.in_progress')
  expect(types.filter((type) => type === 'response.mcp_call.failed')).toHaveLength(36)

  const [no = {}, ...others] = second.no
  await createResponse(mia, [...second.input, { ...no, approve: true } as Input[number], ...others])
  expect(calls()).toEqual([{ text: 'to Bob' }])
  const forged = JSON.stringify([...second.input, ...second.no]).replaceAll(/mcpr_\w+/g, '$&:taken')
  await createResponse(mia, JSON.parse(forged))
  const third = await requestApprovals()
  expect([third.count, (await requestApprovals()).count]).toEqual([36, 0])

  const refusal = [...third.input, ...third.no]
  await Promise.all([createResponse(mia, refusal), createResponse(mia, refusal)])
  expect([(await requestApprovals()).count, (await requestApprovals()).count]).toEqual([36, 0])
})

test('a tool call without approval request is accepted back, and errors name its item', async () => {
  const { upstream, ada } = mail
  const ran = { type: 'mcp_call', id: 'mcp_1', server_label: 'Mail', name: 'mail_echo', arguments: '{}' } as const
  const input: Input = [...HELLO, { ...ran, output: 'sent' }, { role: 'user', content: 'Thanks' }]
  const variants = [input, input.map((item) => ('output' in item ? { ...item, approval_request_id: null } : item))]
  upstream.behave = callsTool('mail_echo', '{"text":1}')
  for (const variant of variants) {
    await createResponse(ada, variant as Input)
    expect(upstream.requests.at(-1)?.body.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ function: { name: 'mail_echo', arguments: '{}' } }] },
      { role: 'tool', content: 'sent' },
      { role: 'user' },
    ])
  }
  const lost = [...input, { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{}' }] as Input
  await expect(createResponse(ada, [...lost, ...HELLO])).rejects.toMatchObject({ status: 400, param: 'input[3]' })
  const named = input.map((item) => ('output' in item ? { ...item, name: 'bad name' } : item))
  const refused = await createResponse(ada, named as Input).catch((error: Error) => error.message)
  expect(String(refused).match(/'input\[1\]\.name'/g)).toHaveLength(1)
})

test('a tool that asks can be named, and runs beside functions of the caller', async () => {
  const { upstream, ada, calls } = mail
  const weather = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} }, strict: false }
  const more = { tools: [weather, 'mail_echo'] }
  upstream.behave = callsTools([
    { name: 'mail_echo', input: '{"text":"to Bob"}' },
    { name: 'weather', input: '{}' },
  ])
  const response = await createResponse(ada, HELLO, more)
  expect(response.output.map(({ type }) => type)).toEqual(['function_call', 'mcp_approval_request'])
  const result = { type: 'function_call_output', call_id: 'call-2', output: 'Rain' } as const
  const done = await createResponse(
    ada,
    [...appendOutput(HELLO, response), result, ...buildApprovals(response, true)],
    more,
  )
  expect([done.output.map(({ type }) => type), calls()]).toEqual([['mcp_call', 'message'], [{ text: 'to Bob' }]])
})

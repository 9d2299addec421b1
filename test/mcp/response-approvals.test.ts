import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { UNKNOWN } from '../../routers/ai/approvals/kept-outcomes.ts'
import { recordsOf } from '../kit/ai/asked-provider.ts'
import { callsTool, callsTools, configFor, refuses, startProvider } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { startToolServer } from '../kit/mcp/hostile.ts'

type Input = OpenAI.Responses.ResponseInput
type Response = OpenAI.Responses.Response

const resources = new AsyncDisposableStack()
let svc: TestApp
let server: Awaited<ReturnType<typeof startToolServer>>
let upstream: Awaited<ReturnType<typeof startProvider>>
let adaId: number
let ada: OpenAI
let eve: OpenAI

const clientOf = (apiKey: string, { url } = svc) => new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 })

async function start(settings: Record<string, string> = {}): Promise<TestApp> {
  const mcpServers = [{ label: 'Mail', url: server.url, requireApproval: 'always' }]
  const models = [
    { id: 'mock-1', external: true, tools: ['mail_echo'], fallback: ['mock-2'] },
    { id: 'mock-2', external: true },
  ]
  const provider = { models, circuit: { failures: 1_000_000 } }
  const config = resources.use(await configFor(upstream.url, { provider, more: { mcpServers } }))
  const started = resources.use(await startApp({ AI_CONFIG: config.file, ...settings }))
  await started.host.mcp.sync()
  const [known] = await started.host.mcp.tools()
  await started.host.mcp.approve({ name: 'mail_echo', hash: known?.hash ?? '' })
  return started
}

beforeAll(async () => {
  server = resources.use(await startToolServer())
  upstream = resources.use(await startProvider())
  svc = await start()
  const [one, other] = [await svc.user(), await svc.user()]
  adaId = one.id
  ada = clientOf(one.token)
  eve = clientOf(other.token)
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  server.seen.length = 0
  server.behave = undefined
  upstream.asked.length = 0
  upstream.behave = callsTool('mail_echo', '{"text":"to Bob"}')
})

const calls = () => server.seen.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.arguments)
const told = () => upstream.asked.at(-1)?.body.messages.at(-1)
const hello: Input = [{ role: 'user', content: 'Hello' }]

const ask = (client: OpenAI, input: Input, more: object = {}): Promise<Response> =>
  client.responses.create({ model: 'mock-1', input, ...more, stream: false })

/** What was said so far, and what a response adds to it. */
const after = (input: Input, { output }: Response): Input => [...input, ...(output as Input)]

function questionsIn({ output }: Response) {
  return output.filter((item) => item.type === 'mcp_approval_request')
}

function questionIn(response: Response) {
  const [question, ...others] = questionsIn(response)
  if (!question || others.length > 0) throw new Error('not one question')
  return question
}

const word = (response: Response, approve: boolean, reason?: string): Input =>
  questionsIn(response).map(({ id }) => ({
    ...{ type: 'mcp_approval_response', approval_request_id: id, approve, ...(reason && { reason }) },
  }))

/** The conversation up to a question with yes for an answer. */
async function allowed(client = ada) {
  const asked = await ask(client, hello)
  return { asked, input: [...after(hello, asked), ...word(asked, true)] }
}

test('a response ends with the question whether a tool may be called, which a further request allows once', async () => {
  const { asked, input } = await allowed()
  expect(asked).toMatchObject({ status: 'completed', output_text: '' })
  expect(asked.output).toEqual([
    {
      ...{ type: 'mcp_approval_request', id: expect.stringMatching(/^mcpr_\w{9}$/), server_label: 'Mail' },
      ...{ name: 'mail_echo', arguments: '{"text":"to Bob"}' },
    },
  ])
  expect(calls()).toEqual([])

  const done = await ask(ada, input)
  expect(done.output).toMatchObject([
    {
      ...{ type: 'mcp_call', name: 'mail_echo', arguments: '{"text":"to Bob"}', server_label: 'Mail' },
      ...{ approval_request_id: questionIn(asked).id, status: 'completed', output: 'done', error: null },
    },
    { type: 'message' },
  ])
  expect(done.output_text).toBe('The tool was of help.')
  expect([calls(), told()]).toMatchObject([[{ text: 'to Bob' }], { role: 'tool', content: 'done' }])

  await ask(ada, [...after(input, done), { role: 'user', content: 'Thanks' }])
  expect(upstream.asked.at(-1)?.body.messages.map(({ role }) => role)).toEqual([
    ...['user', 'assistant', 'tool', 'assistant', 'user'],
  ])
  const { input: both } = await allowed()
  await Promise.all([ask(ada, both), ask(ada, both)])
  expect(calls()).toHaveLength(2)
})

test('who asks again with the same word is told what came of the call, which runs no more, also after a lost connection', async () => {
  const { input } = await allowed()
  const first = await ask(ada, input)
  const again = await ask(ada, input)
  expect(again.output.map(({ type }) => type)).toEqual(['mcp_call', 'message'])
  expect([again.output[0], told()]).toMatchObject([
    { ...first.output[0], id: expect.any(String) },
    { role: 'tool', content: 'done' },
  ])
  expect(calls()).toHaveLength(1)

  const { input: lost } = await allowed()
  const { promise: isGone, resolve: gone } = Promise.withResolvers<void>()
  const client = new AbortController()
  server.behave = async ({ rpc, response }) => {
    if (rpc.method !== 'tools/call') return false
    response.once('close', gone)
    client.abort()
    return true
  }
  await expect(
    ada.responses.create({ model: 'mock-1', input: lost, stream: false }, { signal: client.signal }),
  ).rejects.toThrow(/abort/)
  await isGone
  server.behave = undefined
  const { output } = await ask(ada, lost)
  expect(output).toMatchObject([
    { type: 'mcp_call', status: 'failed', error: { content: expect.stringMatching(/may have done its work/) } },
    { type: 'message' },
  ])
  expect(calls()).toHaveLength(2)
})

test('who asks again while the call runs waits for what comes of it; one whose process is gone is not waited for', async () => {
  const [isCalled, isFree] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  server.behave = async ({ rpc }) => {
    if (rpc.method !== 'tools/call') return false
    isCalled.resolve()
    await isFree.promise
    return false
  }
  const { asked, input } = await allowed()
  const first = ask(ada, input)
  await isCalled.promise
  const [again, meanwhile] = [ask(ada, input), ask(ada, hello)]
  await meanwhile
  await ask(ada, hello)
  isFree.resolve()
  for (const { output } of [await first, await again])
    expect(output).toMatchObject([{ type: 'mcp_call', status: 'completed', output: 'done' }, { type: 'message' }])
  expect(calls()).toHaveLength(1)

  const id = `${adaId}:${questionIn(asked).id.replace('mcpr_', '')}`
  await svc.services.answers.delete(`tool-outcome:${id}`)
  const late = ask(ada, input)
  await ask(ada, hello)
  await svc.services.kv.delete(`tool-running:${id}`)
  expect((await late).output[0]).toMatchObject({ status: 'failed', error: { content: UNKNOWN.text } })
  expect(calls()).toHaveLength(1)
})

test('of a result that is too long to be kept who asks again is told that the call was made', async () => {
  server.behave = ({ rpc, reply }) => {
    if (rpc.method === 'tools/call') reply({ content: [{ type: 'text', text: 'long '.repeat(14_000) }] })
    return rpc.method === 'tools/call'
  }
  const { input } = await allowed()
  await ask(ada, input)
  const output = 'This call was made; its result is too long to be told again.'
  expect((await ask(ada, input)).output[0]).toMatchObject({ type: 'mcp_call', status: 'completed', output })
  expect([calls().length, told()]).toMatchObject([1, { role: 'tool', content: output }])
})

test('a stream tells the question, the call and its result by the events of OpenAI', async () => {
  const types = async (input: Input) => {
    const events = []
    for await (const event of await ada.responses.create({ model: 'mock-1', input, stream: true })) events.push(event)
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
    return events.map(({ type }) => type.replace('response.', ''))
  }
  expect(await types(hello)).toEqual([
    ...['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed'],
  ])
  const said = await types((await allowed()).input)
  expect(said.slice(0, 10)).toEqual([
    ...['created', 'in_progress', 'output_item.added', 'mcp_call.in_progress', 'mcp_call_arguments.delta'],
    ...['mcp_call_arguments.done', 'mcp_call.completed', 'output_item.done', 'output_item.added', 'content_part.added'],
  ])
  const { input } = await allowed()
  const whole = await ada.responses.stream({ model: 'mock-1', input }).finalResponse()
  expect(whole.output.map(({ type }) => type)).toEqual(['mcp_call', 'message'])
  await ask(ada, [...after(input, whole), { role: 'user', content: 'Thanks' }])
  expect(told()).toMatchObject({ role: 'user', content: 'Thanks' })
})

test('calls that are allowed run at the same time; a stream tells when each begins and ends, by the events of OpenAI', async () => {
  const [isBegunTold, isBobTold] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  server.behave = async ({ rpc, reply }) => {
    if (rpc.method !== 'tools/call') return false
    await isBegunTold.promise
    const isForEve = JSON.stringify(rpc.params?.arguments) === '{"text":"to Eve"}'
    if (!isForEve) return false
    await isBobTold.promise
    reply({ content: [{ type: 'text', text: 'The box is full.' }], isError: true })
    return true
  }
  upstream.behave = callsTools([
    { name: 'mail_echo', input: '{"text":"to Eve"}' },
    { name: 'mail_echo', input: '{"text":"to Bob"}' },
  ])
  const asked = await ask(eve, hello)
  const input = [...after(hello, asked), ...word(asked, true)]
  const told: { type: string; output_index?: number; item_id?: string; item?: { id?: string | undefined } }[] = []
  for await (const event of await eve.responses.create({ model: 'mock-1', input, stream: true })) {
    told.push(event as (typeof told)[number])
    if (event.type === 'response.mcp_call.in_progress' && event.output_index === 1) isBegunTold.resolve()
    if (event.type === 'response.mcp_call.completed') isBobTold.resolve()
  }
  const ofCall = (at: number, ...types: string[]) =>
    types.map((type) => [`response.${type}`, at, expect.stringMatching(new RegExp(`^mcp_.*_${at}$`))])
  const begins = (at: number) =>
    ofCall(at, 'output_item.added', 'mcp_call.in_progress', 'mcp_call_arguments.delta', 'mcp_call_arguments.done')
  const [toEve, toBob] = [0, 1]
  expect(
    told.slice(2, 14).map(({ type, output_index, item_id, item }) => [type, output_index, item_id ?? item?.id]),
  ).toEqual([
    ...begins(toEve),
    ...begins(toBob),
    ...ofCall(toBob, 'mcp_call.completed', 'output_item.done'),
    ...ofCall(toEve, 'mcp_call.failed', 'output_item.done'),
  ])
  expect(told.at(-1)).toMatchObject({
    type: 'response.completed',
    response: {
      output: [
        { arguments: '{"text":"to Eve"}', status: 'failed' },
        { arguments: '{"text":"to Bob"}', status: 'completed' },
        { type: 'message' },
      ],
    },
  })
})

test('a model hears that the person does not allow a call, and why', async () => {
  const asked = await ask(ada, hello)
  const input = [...after(hello, asked), ...word(asked, false, 'Bob is away.')]
  const { output_text } = await ask(ada, input)
  expect([output_text, calls()]).toEqual(['The tool was of help.', []])
  expect(told()).toMatchObject({ content: 'The person does not allow this call. They say: Bob is away.' })
  const changed = input.map((item) => ('approve' in item ? { ...item, approve: true } : item))
  questionIn(await ask(ada, changed))
  expect(calls()).toEqual([])
})

test('what the person allows is this very call, by the same person and token: all else is asked about anew', async () => {
  const { asked, input } = await allowed()
  const other = (await svc.host.tokens.createFor({ user: { id: adaId }, name: 'other', abilities: ['ai'] })).token
  const changed = input.map((item) => ('arguments' in item ? { ...item, arguments: '{"text":"to all"}' } : item))
  for (const [client, said] of [
    [eve, input],
    [clientOf(other), input],
    [ada, changed],
  ] as const) {
    const question = questionIn(await ask(client, said))
    expect(question.id).not.toBe(questionIn(asked).id)
    expect(question.arguments).toBe(said === changed ? '{"text":"to all"}' : '{"text":"to Bob"}')
  }
  await expect(ask(clientOf('nobody'), input)).rejects.toMatchObject({ status: 401 })
  expect([calls(), upstream.asked.length]).toEqual([[], 1])
  await ask(clientOf(other), [...after(hello, asked), ...word(asked, false)])

  const anew = await ask(ada, changed)
  const done = await ask(ada, [...after(changed, anew), ...word(anew, true)])
  expect([done.output.map(({ type }) => type), calls()]).toEqual([['mcp_call', 'message'], [{ text: 'to all' }]])
  const at = upstream.asked.at(-1)?.body.messages.find(({ role }) => role === 'tool')
  expect(at?.content).toBe('This call was not made.')
  expect((await ask(ada, input)).output[0]?.type).toBe('mcp_call')
})

test('a question that is too old is asked anew', async () => {
  const forgetful = await start({ AI_TOOL_QUESTION_LIFETIME: '1ms' })
  const client = clientOf((await forgetful.user()).token, forgetful)
  const { input } = await allowed(client)
  questionIn(await ask(client, input))
  expect(calls()).toEqual([])
})

test('several calls are allowed one by one; beside a question no other call runs', async () => {
  upstream.behave = callsTools([
    { name: 'mail_echo', input: '{"text":"to Bob"}' },
    { name: 'mail_echo', input: '{"text":1}' },
    { name: 'mail_echo', input: '{"text":"to Eve"}' },
  ])
  const asked = await ask(eve, hello)
  expect(questionsIn(asked).map((question) => question.arguments)).toEqual(['{"text":"to Bob"}', '{"text":"to Eve"}'])
  const [yes, other] = word(asked, true)
  const input: Input = [...after(hello, asked), ...(yes ? [yes] : [])]
  await expect(ask(eve, input)).rejects.toMatchObject({ status: 400, message: expect.stringMatching(/has no result/) })
  const no = { ...other, approve: false } as Input[number]
  expect((await ask(eve, [...input, no])).output.map(({ type }) => type)).toEqual(['mcp_call', 'message'])
  expect(calls()).toEqual([{ text: 'to Bob' }])
})

test('each question may be sent back with its answer beside it: all that are allowed run', async () => {
  upstream.behave = callsTools([
    { name: 'mail_echo', input: '{"text":"to Bob"}' },
    { name: 'mail_echo', input: '{"text":"to Eve"}' },
  ])
  const asked = await ask(eve, hello)
  const words = word(asked, true)
  const input = [...hello, ...asked.output.flatMap((item, at) => [item, ...words.slice(at, at + 1)])] as Input
  const done = await ask(eve, input)
  expect(done.output.map(({ type }) => type)).toEqual(['mcp_call', 'mcp_call', 'message'])
  expect(calls()).toHaveLength(2)
  expect(calls()).toEqual(expect.arrayContaining([{ text: 'to Bob' }, { text: 'to Eve' }]))
})

test('a person has no endless questions; each that is answered makes room for one other, and those refused take none', async () => {
  upstream.behave = callsTools(Array(64).fill({ name: 'mail_echo', input: '{"text":"to Bob"}' }))
  const mia = clientOf((await svc.user()).token)
  const opened = async () => {
    const response = await ask(mia, hello)
    return { count: questionsIn(response).length, said: after(hello, response), no: word(response, false) }
  }
  const [first, second] = [await opened(), await opened()]
  expect([first.count, second.count]).toEqual([64, 36])
  expect((await ask(mia, hello)).output_text).toBe('The tools were of help.')
  expect(String(told()?.content)).toMatch(/too many open questions/)
  expect(calls()).toEqual([])

  const changed = JSON.parse(
    JSON.stringify([...second.said, ...second.no.map((no) => ({ ...no, approve: true }))]).replaceAll('Bob', 'all'),
  )
  const types = []
  for await (const { type } of await mia.responses.create({ model: 'mock-1', input: changed, stream: true }))
    types.push(type)
  expect(types).not.toContain('response.mcp_call.in_progress')
  expect(types.filter((type) => type === 'response.mcp_call.failed')).toHaveLength(36)

  const [no = {}, ...others] = second.no
  await ask(mia, [...second.said, { ...no, approve: true } as Input[number], ...others])
  expect(calls()).toEqual([{ text: 'to Bob' }])
  const forged = JSON.stringify([...second.said, ...second.no]).replaceAll(/mcpr_\w+/g, '$&:taken')
  await ask(mia, JSON.parse(forged))
  const third = await opened()
  expect([third.count, (await opened()).count]).toEqual([36, 0])

  const refusal = [...third.said, ...third.no]
  await Promise.all([ask(mia, refusal), ask(mia, refusal)])
  expect([(await opened()).count, (await opened()).count]).toEqual([36, 0])
})

test('a call that fails is told as failed; a request that only asks anew takes no tokens, and asks no provider', async () => {
  server.behave = ({ rpc, reply }) => {
    if (rpc.method !== 'tools/call') return false
    reply({ content: [{ type: 'text', text: 'The box is full.' }], isError: true })
    return true
  }
  const { input } = await allowed()
  const failed = await ask(ada, input)
  expect(failed.output[0]).toMatchObject({
    ...{ type: 'mcp_call', status: 'failed', output: null },
    error: { type: 'mcp_tool_execution_error', content: 'The box is full.' },
  })
  await ask(ada, [...after(input, failed), { role: 'user', content: 'Well' }])
  const results = upstream.asked.at(-1)?.body.messages.filter(({ role }) => role === 'tool')
  expect(results?.map(({ content }) => content)).toEqual(['The box is full.'])

  const before = await recordsOf(svc)
  upstream.asked.length = 0
  const { usage } = await ask(
    ada,
    input.map((item) => ('arguments' in item ? { ...item, arguments: '{"text":"to all"}' } : item)),
  )
  expect([usage?.total_tokens, upstream.asked]).toEqual([0, []])
  expect((await recordsOf(svc)).slice(before.length)).toEqual([{ outcome: 'completed', input: 0, output: 0 }])
})

test('a structured result that has a member `error` of its own is a result, and is told whole', async () => {
  const structuredContent = { rows: [1, 2], error: null }
  server.behave = ({ rpc, reply }) => {
    if (rpc.method === 'tools/call') reply({ content: [], structuredContent })
    return rpc.method === 'tools/call'
  }
  const output = JSON.stringify(structuredContent)
  const { input } = await allowed()
  expect((await ask(ada, input)).output[0]).toMatchObject({
    type: 'mcp_call',
    status: 'completed',
    output,
    error: null,
  })
  expect(told()).toMatchObject({ role: 'tool', content: output })
})

test('an allowed call runs whatever tools the model may call then; one that cannot run is told as failed', async () => {
  const { input } = await allowed()
  const types = (await ask(ada, input, { tool_choice: 'none' })).output.map(({ type }) => type)
  expect([types, calls()]).toEqual([['mcp_call', 'message'], [{ text: 'to Bob' }]])

  const { input: other } = await allowed()
  const changed = other.map((item) => ('arguments' in item ? { ...item, arguments: '{"text":1}' } : item))
  const [failed] = (await ask(ada, changed)).output
  expect(failed).toMatchObject({ type: 'mcp_call', server_label: 'Mail', status: 'failed', output: null })
  const gone = other.map((item) => ('arguments' in item ? { ...item, name: 'mail_gone' } : item))
  expect((await ask(ada, gone)).output[0]).toMatchObject({
    ...{ type: 'mcp_call', name: 'mail_gone', status: 'failed' },
    error: { content: expect.stringMatching(/no such tool/) },
  })
  expect(calls()).toHaveLength(1)
})

test('a call about which nobody was asked is taken back with its result, and problems name the right item', async () => {
  const ran = { type: 'mcp_call', id: 'mcp_1', server_label: 'Mail', name: 'mail_echo', arguments: '{}' } as const
  const input: Input = [...hello, { ...ran, output: 'sent' }, { role: 'user', content: 'Thanks' }]
  const taken = [input, input.map((item) => ('output' in item ? { ...item, approval_request_id: null } : item))]
  upstream.behave = callsTool('mail_echo', '{"text":1}')
  for (const said of taken) {
    await ask(ada, said as Input)
    expect(upstream.asked.at(-1)?.body.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ function: { name: 'mail_echo', arguments: '{}' } }] },
      ...[{ role: 'tool', content: 'sent' }, { role: 'user' }],
    ])
  }
  const lost = [...input, { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{}' }] as Input
  await expect(ask(ada, [...lost, ...hello])).rejects.toMatchObject({ status: 400, param: 'input[3]' })
  const named = input.map((item) => ('output' in item ? { ...item, name: 'bad name' } : item))
  const refused = await ask(ada, named as Input).catch((error: Error) => error.message)
  expect(String(refused).match(/'input\[1\]\.name'/g)).toHaveLength(1)
})

test('a tool that asks can be named, and runs beside functions of the caller', async () => {
  const weather = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} }, strict: false }
  const more = { tools: [weather, 'mail_echo'] }
  upstream.behave = callsTools([
    { name: 'mail_echo', input: '{"text":"to Bob"}' },
    { name: 'weather', input: '{}' },
  ])
  const asked = await ask(ada, hello, more)
  expect(asked.output.map(({ type }) => type)).toEqual(['function_call', 'mcp_approval_request'])
  const result = { type: 'function_call_output', call_id: 'call-2', output: 'Rain' } as const
  const done = await ask(ada, [...after(hello, asked), result, ...word(asked, true)], more)
  expect([done.output.map(({ type }) => type), calls()]).toEqual([['mcp_call', 'message'], [{ text: 'to Bob' }]])
})

test('a model that takes the place of another one is told what came of the call, which runs once', async () => {
  const calling = callsTool('mail_echo', '{"text":"to Bob"}')
  upstream.behave = (asked, response) => {
    const isOver = asked.body.model === 'mock-1' && asked.body.messages.length > 1
    return (isOver ? refuses(404) : calling)(asked, response)
  }
  for (const types of [
    async (input: Input) => (await ask(ada, input)).output.map(({ type }) => type),
    async (input: Input) => {
      const { output } = await ada.responses.stream({ model: 'mock-1', input }).finalResponse()
      return output.map(({ type }) => type)
    },
  ]) {
    const { input } = await allowed()
    server.seen.length = 0
    expect([await types(input), calls()]).toEqual([['mcp_call', 'message'], [{ text: 'to Bob' }]])
    expect([upstream.asked.at(-1)?.body.model, told()]).toMatchObject(['mock-2', { content: 'done' }])
  }
})

test('a result that no limit has room for goes to no model', async () => {
  const limited = await start({ LIMITS_MAX_OUTPUT_TOKENS: '100' })
  const limit = { name: 'all', for: 'installation', cap: 1000, unit: 'tokens', per: 'month' }
  await limited.host.limits.set(limit as never)
  server.behave = ({ rpc, reply }) => {
    if (rpc.method !== 'tools/call') return false
    reply({ content: [{ type: 'text', text: 'long '.repeat(1000) }] })
    return true
  }
  const client = clientOf((await limited.user()).token, limited)
  const { input } = await allowed(client)
  const failed = await ask(client, input)
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } })
  expect(failed.output.map(({ type }) => type)).toEqual(['mcp_call'])
  expect([calls().length, upstream.asked.length]).toEqual([1, 1])
})

test('where the model fails after an allowed call ran, the response tells of the call, which is sent back and runs no more', async () => {
  upstream.behave = (asked, response) =>
    (asked.body.messages.length > 1 ? refuses(404) : callsTool('mail_echo', '{"text":"to Bob"}'))(asked, response)
  const { input } = await allowed()
  const failed = await ask(ada, input)
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
  expect(failed.output).toMatchObject([{ type: 'mcp_call', status: 'completed', output: 'done' }])

  upstream.behave = callsTool('mail_echo', '{"text":"to Bob"}')
  expect((await ask(ada, after(input, failed))).output.map(({ type }) => type)).toEqual(['message'])
  expect(calls()).toHaveLength(1)
})

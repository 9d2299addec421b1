import { beforeEach, expect, test } from 'vitest'
import { UNKNOWN_RESULT } from '../../routers/ai/approvals/tool-results.ts'
import { callsTool, refuses } from '../kit/ai/provider.ts'
import { readUsageRecords } from '../kit/ai/provider-service.ts'
import { appendOutput, createResponse, findApprovalRequest, HELLO, type Input, startMail } from '../kit/mcp/mail.ts'
import { shareResource } from '../kit/share-resource.ts'

const mail = shareResource(startMail)
beforeEach(() => mail.reset())

test('a repeated request gets the result of its call, which runs once', async () => {
  const { server, ada, calls, lastModelMessage: told, buildApprovedInput: allowed } = mail
  const { input } = await allowed()
  const first = await createResponse(ada, input)
  const again = await createResponse(ada, input)
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
  const { output } = await createResponse(ada, lost)
  expect(output).toMatchObject([
    { type: 'mcp_call', status: 'failed', error: { content: expect.stringMatching(/may have done its work/) } },
    { type: 'message' },
  ])
  expect(calls()).toHaveLength(2)
})

test('a repeated request waits for its running call, unless the process died', async () => {
  const { svc, server, adaId, ada, calls, buildApprovedInput: allowed } = mail
  const [isCalled, isFree] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  server.behave = async ({ rpc }) => {
    if (rpc.method !== 'tools/call') return false
    isCalled.resolve()
    await isFree.promise
    return false
  }
  const { response, input } = await allowed()
  const first = createResponse(ada, input)
  await isCalled.promise
  const [again, meanwhile] = [createResponse(ada, input), createResponse(ada, HELLO)]
  await meanwhile
  await createResponse(ada, HELLO)
  isFree.resolve()
  for (const { output } of [await first, await again])
    expect(output).toMatchObject([{ type: 'mcp_call', status: 'completed', output: 'done' }, { type: 'message' }])
  expect(calls()).toHaveLength(1)

  const id = `${adaId}:${findApprovalRequest(response).id.replace('mcpr_', '')}`
  await svc.services.stores.answers.delete(`tool-outcome:${id}`)
  const late = createResponse(ada, input)
  await createResponse(ada, HELLO)
  await svc.services.stores.kv.delete(`tool-running:${id}`)
  expect((await late).output[0]).toMatchObject({ status: 'failed', error: { content: UNKNOWN_RESULT.text } })
  expect(calls()).toHaveLength(1)
})

test('a repeated request learns of a call whose result was too long', async () => {
  const { server, ada, calls, lastModelMessage: told, buildApprovedInput: allowed } = mail
  server.behave = ({ rpc, reply }) => {
    if (rpc.method === 'tools/call') reply({ content: [{ type: 'text', text: 'long '.repeat(14_000) }] })
    return rpc.method === 'tools/call'
  }
  const { input } = await allowed()
  await createResponse(ada, input)
  const output = 'This call was made; its result is too long to be told again.'
  expect((await createResponse(ada, input)).output[0]).toMatchObject({ type: 'mcp_call', status: 'completed', output })
  expect([calls().length, told()]).toMatchObject([1, { role: 'tool', content: output }])
})

test('a failed call is reported as failed, and a pure repeat costs no tokens', async () => {
  const { svc, server, upstream, ada, buildApprovedInput: allowed } = mail
  server.behave = ({ rpc, reply }) => {
    if (rpc.method !== 'tools/call') return false
    reply({ content: [{ type: 'text', text: 'The box is full.' }], isError: true })
    return true
  }
  const { input } = await allowed()
  const failed = await createResponse(ada, input)
  expect(failed.output[0]).toMatchObject({
    type: 'mcp_call',
    status: 'failed',
    output: null,
    error: { type: 'mcp_tool_execution_error', content: 'The box is full.' },
  })
  await createResponse(ada, [...appendOutput(input, failed), { role: 'user', content: 'Well' }])
  const results = upstream.requests.at(-1)?.body.messages.filter(({ role }) => role === 'tool')
  expect(results?.map(({ content }) => content)).toEqual(['The box is full.'])

  const before = await readUsageRecords(svc)
  upstream.requests.length = 0
  const { usage } = await createResponse(
    ada,
    input.map((item) => ('arguments' in item ? { ...item, arguments: '{"text":"to all"}' } : item)),
  )
  expect([usage?.total_tokens, upstream.requests]).toEqual([0, []])
  expect((await readUsageRecords(svc)).slice(before.length)).toEqual([{ outcome: 'completed', input: 0, output: 0 }])
})

test('a structured result with a member `error` is returned whole', async () => {
  const { server, ada, lastModelMessage: told, buildApprovedInput: allowed } = mail
  const structuredContent = { rows: [1, 2], error: null }
  server.behave = ({ rpc, reply }) => {
    if (rpc.method === 'tools/call') reply({ content: [], structuredContent })
    return rpc.method === 'tools/call'
  }
  const output = JSON.stringify(structuredContent)
  const { input } = await allowed()
  expect((await createResponse(ada, input)).output[0]).toMatchObject({
    type: 'mcp_call',
    status: 'completed',
    output,
    error: null,
  })
  expect(told()).toMatchObject({ role: 'tool', content: output })
})

test('an approved call runs whatever tools are allowed then, or is reported failed', async () => {
  const { ada, calls, buildApprovedInput: allowed } = mail
  const { input } = await allowed()
  const types = (await createResponse(ada, input, { tool_choice: 'none' })).output.map(({ type }) => type)
  expect([types, calls()]).toEqual([['mcp_call', 'message'], [{ text: 'to Bob' }]])

  const { input: other } = await allowed()
  const changed = other.map((item) => ('arguments' in item ? { ...item, arguments: '{"text":1}' } : item))
  const [failed] = (await createResponse(ada, changed)).output
  expect(failed).toMatchObject({ type: 'mcp_call', server_label: 'Mail', status: 'failed', output: null })
  const gone = other.map((item) => ('arguments' in item ? { ...item, name: 'mail_gone' } : item))
  expect((await createResponse(ada, gone)).output[0]).toMatchObject({
    type: 'mcp_call',
    name: 'mail_gone',
    status: 'failed',
    error: { content: expect.stringMatching(/no such tool/) },
  })
  expect(calls()).toHaveLength(1)
})

test('a fallback model gets the result of an approved call, which ran once', async () => {
  const { server, upstream, ada, calls, lastModelMessage: told, buildApprovedInput: allowed } = mail
  const calling = callsTool('mail_echo', '{"text":"to Bob"}')
  upstream.behave = (request, response) => {
    const isOver = request.body.model === 'mock-1' && request.body.messages.length > 1
    return (isOver ? refuses(404) : calling)(request, response)
  }
  for (const types of [
    async (input: Input) => (await createResponse(ada, input)).output.map(({ type }) => type),
    async (input: Input) => {
      const { output } = await ada.responses.stream({ model: 'mock-1', input }).finalResponse()
      return output.map(({ type }) => type)
    },
  ]) {
    const { input } = await allowed()
    server.seen.length = 0
    expect([await types(input), calls()]).toEqual([['mcp_call', 'message'], [{ text: 'to Bob' }]])
    expect([upstream.requests.at(-1)?.body.model, told()]).toMatchObject(['mock-2', { content: 'done' }])
  }
})

test('a result that no limit has room for goes to no model', async () => {
  const { server, upstream, start, createOpenAiClient, calls, buildApprovedInput: allowed } = mail
  const limited = await start({ LIMITS_MAX_OUTPUT_TOKENS: '100' })
  const limit = { name: 'all', for: 'installation', cap: 1000, unit: 'tokens', per: 'month' }
  await limited.host.limits.set(limit as never)
  server.behave = ({ rpc, reply }) => {
    if (rpc.method !== 'tools/call') return false
    reply({ content: [{ type: 'text', text: 'long '.repeat(1000) }] })
    return true
  }
  const client = createOpenAiClient((await limited.user()).token, limited)
  const { input } = await allowed(client)
  const failed = await createResponse(client, input)
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } })
  expect(failed.output.map(({ type }) => type)).toEqual(['mcp_call'])
  expect([calls().length, upstream.requests.length]).toEqual([1, 1])
})

test('a call that ran before the model failed is reported, and runs once', async () => {
  const { upstream, ada, calls, buildApprovedInput: allowed } = mail
  upstream.behave = (request, response) =>
    (request.body.messages.length > 1 ? refuses(404) : callsTool('mail_echo', '{"text":"to Bob"}'))(request, response)
  const { input } = await allowed()
  const failed = await createResponse(ada, input)
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
  expect(failed.output).toMatchObject([{ type: 'mcp_call', status: 'completed', output: 'done' }])

  upstream.behave = callsTool('mail_echo', '{"text":"to Bob"}')
  expect((await createResponse(ada, appendOutput(input, failed))).output.map(({ type }) => type)).toEqual(['message'])
  expect(calls()).toHaveLength(1)
})

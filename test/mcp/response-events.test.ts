import { beforeEach, expect, test } from 'vitest'
import { callsTools } from '../kit/ai/provider.ts'
import { appendOutput, buildApprovals, createResponse, HELLO, type Input, startMail } from '../kit/mcp/mail.ts'
import { shareResource } from '../kit/share-resource.ts'

const mail = shareResource(startMail)
beforeEach(() => mail.reset())

test('a stream reports the approval request, call and result by events of OpenAI', async () => {
  const { ada, lastModelMessage, buildApprovedInput: allowed } = mail
  const types = async (input: Input) => {
    const events = []
    for await (const event of await ada.responses.create({ model: 'mock-1', input, stream: true })) events.push(event)
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
    return events.map(({ type }) => type.replace('response.', ''))
  }
  expect(await types(HELLO)).toEqual(['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed'])
  const sequence = await types((await allowed()).input)
  expect(sequence.slice(0, 10)).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'mcp_call.in_progress',
    'mcp_call_arguments.delta',
    'mcp_call_arguments.done',
    'mcp_call.completed',
    'output_item.done',
    'output_item.added',
    'content_part.added',
  ])
  const { input } = await allowed()
  const whole = await ada.responses.stream({ model: 'mock-1', input }).finalResponse()
  expect(whole.output.map(({ type }) => type)).toEqual(['mcp_call', 'message'])
  await createResponse(ada, [...appendOutput(input, whole), { role: 'user', content: 'Thanks' }])
  expect(lastModelMessage()).toMatchObject({ role: 'user', content: 'Thanks' })
})

test('approved calls run concurrently, and a stream reports their start and end', async () => {
  const { server, upstream, eve } = mail
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
  const response = await createResponse(eve, HELLO)
  const input = [...appendOutput(HELLO, response), ...buildApprovals(response, true)]
  const events: { type: string; output_index?: number; item_id?: string; item?: { id?: string | undefined } }[] = []
  for await (const event of await eve.responses.create({ model: 'mock-1', input, stream: true })) {
    events.push(event as (typeof events)[number])
    if (event.type === 'response.mcp_call.in_progress' && event.output_index === 1) isBegunTold.resolve()
    if (event.type === 'response.mcp_call.completed') isBobTold.resolve()
  }
  const ofCall = (at: number, ...types: string[]) =>
    types.map((type) => [`response.${type}`, at, expect.stringMatching(new RegExp(`^mcp_.*_${at}$`))])
  const begins = (at: number) =>
    ofCall(at, 'output_item.added', 'mcp_call.in_progress', 'mcp_call_arguments.delta', 'mcp_call_arguments.done')
  const [toEve, toBob] = [0, 1]
  expect(
    events.slice(2, 14).map(({ type, output_index, item_id, item }) => [type, output_index, item_id ?? item?.id]),
  ).toEqual([
    ...begins(toEve),
    ...begins(toBob),
    ...ofCall(toBob, 'mcp_call.completed', 'output_item.done'),
    ...ofCall(toEve, 'mcp_call.failed', 'output_item.done'),
  ])
  expect(events.at(-1)).toMatchObject({
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

import { beforeEach, expect, test } from 'vitest'
import { type Behaviour, sendJson } from '../kit/ai/provider.ts'
import {
  appendOutput,
  buildApprovals,
  createResponse,
  findApprovalRequests,
  HELLO,
  type Input,
  startMail,
} from '../kit/mcp/mail.ts'
import { shareResource } from '../kit/share-resource.ts'

const mail = shareResource(() => startMail('google'))
beforeEach(() => {
  mail.reset()
  mail.upstream.behave = calls
})

const proof = (name: string) => `${Buffer.alloc(3000, name).toString('base64')}+/==`
const call = (text: string) => ({ functionCall: { name: 'mail_echo', args: { text } } })

/** Behaves like Gemini: only the first of several calls in one round has a signature. Answers with text after the second round. */
const calls: Behaviour = ({ path, body }, response) => {
  const sentParts = (body['contents'] as { parts: object[] }[]).flatMap(({ parts }) => parts)
  const rounds = [
    [{ ...call('to Bob'), thoughtSignature: proof('first') }, call('to Eve')],
    [{ ...call('to Mia'), thoughtSignature: proof('second') }],
    [{ text: 'All are sent.' }],
  ]
  const parts = rounds[[0, 0, 1, 2][sentParts.filter((part) => 'functionResponse' in part).length] ?? 0]
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 }
  const answer = { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }], usageMetadata }
  if (!path.includes('stream')) return sendJson(response, answer)
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(answer)}\n\n`)
}

/** The calls that the provider gets back, with their signatures. */
function sentBack() {
  const contents = (mail.upstream.requests.at(-1)?.body['contents'] ?? []) as { parts: Record<string, unknown>[] }[]
  const sent = contents.flatMap(({ parts }) => parts).filter((part) => part['functionCall'])
  return sent.map(({ functionCall, thoughtSignature }) => [(functionCall as { args: object }).args, thoughtSignature])
}

const first = [
  [{ text: 'to Bob' }, proof('first')],
  [{ text: 'to Eve' }, undefined],
]
const second = [...first, [{ text: 'to Mia' }, proof('second')]]

test.each(['whole', 'streamed'])(
  'calls that wait for the person (%s) keep the proofs of their provider',
  async (how) => {
    const { ada } = mail
    const createAnswer = (input: Input) =>
      how === 'whole' ? createResponse(ada, input) : ada.responses.stream({ model: 'mock-1', input }).finalResponse()
    const response = await createAnswer(HELLO)
    const input = [...appendOutput(HELLO, response), ...buildApprovals(response, true)]
    const next = await createAnswer(input)
    expect([sentBack(), mail.calls()]).toEqual([first, [{ text: 'to Bob' }, { text: 'to Eve' }]])

    const ran = next.output.filter((item) => item.type === 'mcp_call')
    expect(ran.map((item) => item.approval_request_id).sort()).toEqual(
      findApprovalRequests(response)
        .map(({ id }) => id)
        .sort(),
    )
    const whole = [...appendOutput(input, next), ...buildApprovals(next, false, 'Mia is away.')]
    const { output_text } = await createAnswer(whole)
    expect([output_text, sentBack()]).toEqual(['All are sent.', second])
  },
)

interface Answered {
  result: { data: { content: Part[] } }
}

interface Part {
  id: string
  tool: string
  input: unknown
  signature?: string
}

test('parts of approval requests carry the signatures of their calls', async () => {
  const { token } = await mail.svc.user()
  const messages: object[] = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }]
  const body = { model: 'mock-1', messages, mayAsk: true }
  const completeChat = async (): Promise<Answered> =>
    JSON.parse(await (await mail.svc.send('POST', '/trpc/ai.complete', { token, body })).text())
  const questions = (await completeChat()).result.data.content
  const called = questions.map(({ id, tool: name, input, signature }) => ({
    type: 'tool-call',
    id,
    name,
    input: JSON.stringify(input),
    ...(signature && { signature }),
  }))
  messages.push({ role: 'assistant', content: called })
  messages.push({ role: 'tool', content: questions.map(({ id }) => ({ type: 'tool-approval', id, allow: true })) })

  await completeChat()

  expect([sentBack(), mail.calls().length]).toEqual([first, 2])
})

test('an approval id of somebody else sends nothing to the provider', async () => {
  for (const id of ['abc', 'mcpr_abc~', 'abc~cHJvb2Y', 'mcpr_a~b c']) {
    const request = {
      type: 'mcp_approval_request',
      id,
      server_label: 'Mail',
      name: 'mail_echo',
      arguments: '{}',
    } as const
    const no = { type: 'mcp_approval_response', approval_request_id: id, approve: false } as const
    await createResponse(mail.ada, [...HELLO, request, no])
    expect([id, sentBack()]).toEqual([id, [[{}, undefined]]])
  }
})

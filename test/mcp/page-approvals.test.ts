import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type OpenAI from 'openai'
import { beforeEach, expect, test } from 'vitest'
import { buildQuestion } from '../kit/ai/provider.ts'
import { signIn, type TestBrowser } from '../kit/browser.ts'
import { newName } from '../kit/identity/people.ts'
import {
  appendOutput,
  buildApprovals,
  createResponse,
  findApprovalRequest,
  HELLO,
  type Input,
  startMail,
} from '../kit/mcp/mail.ts'
import { shareResource } from '../kit/share-resource.ts'

const mail = shareResource(() => startMail('openai-compatible', 'page'))
beforeEach(() => mail.reset())

const AT_PAGE = /allow it at http:\S+\/settings\/approvals, then call the tool again with the same arguments/

interface Person {
  id: number
  browser: TestBrowser
  token: string
  /** Their program, which speaks as programs for OpenAI do. */
  program: OpenAI
}

async function addPerson(): Promise<Person> {
  const { browser, id } = await signIn(mail.svc, newName())
  const { token } = await mail.svc.host.tokens.createFor({ user: { id }, name: 'agent', abilities: ['ai'] })
  return { id, browser, token, program: mail.createOpenAiClient(token) }
}

async function addProgram({ id }: Person): Promise<OpenAI> {
  const { token } = await mail.svc.host.tokens.createFor({ user: { id }, name: 'second', abilities: ['ai'] })
  return mail.createOpenAiClient(token)
}

async function listQuestions({ browser }: Person): Promise<{ id: string; tool: string; token: string }[]> {
  const { body } = await browser.send('GET', '/trpc/mcpGateway.questions')
  return (body as { result: { data: { id: string; tool: string; token: string }[] } }).result.data
}

async function answerOnPage(person: Person, allow: 'once' | 'remember' | 'no'): Promise<void> {
  const [question] = await listQuestions(person)
  const { status } = await person.browser.send('POST', '/trpc/mcpGateway.answer', { body: { id: question?.id, allow } })
  expect(status).toBe(200)
}

/** Sends the program's own approval of the call about which a response asks. */
const approveBy = async (program: OpenAI, input: Input) => (await createResponse(program, input)).output[0]

test('where only the page may answer, a program cannot approve its own call', async () => {
  const person = await addPerson()
  const { input } = await mail.buildApprovedInput(person.program)
  for (let n = 0; n < 2; n++)
    expect(await approveBy(person.program, input)).toMatchObject({
      type: 'mcp_call',
      status: 'failed',
      error: { content: expect.stringMatching(AT_PAGE) },
    })
  expect([mail.calls(), mail.lastModelMessage()]).toMatchObject([[], { content: expect.stringMatching(AT_PAGE) }])
  expect(await listQuestions(person)).toMatchObject([{ tool: 'mail_echo', server: 'Mail', token: 'agent' }])

  await answerOnPage(person, 'once')
  expect(await approveBy(person.program, input)).toMatchObject({ status: 'completed', output: 'done' })
  expect(await approveBy(person.program, input)).toMatchObject({ status: 'completed', output: 'done' })
  expect(mail.calls()).toEqual([{ text: 'to Bob' }])
})

test('an answer on the page is for its own call, program and person alone', async () => {
  const [person, other] = [await addPerson(), await addPerson()]
  const { input } = await mail.buildApprovedInput(person.program)
  const { input: foreign } = await mail.buildApprovedInput(other.program)
  await answerOnPage(person, 'once')
  expect(await approveBy(other.program, foreign)).toMatchObject({ error: { content: expect.stringMatching(AT_PAGE) } })
  for (const program of [other.program, await addProgram(person)])
    findApprovalRequest(await createResponse(program, input))
  const changed = JSON.parse(JSON.stringify(input).replaceAll('to Bob', 'to all'))
  findApprovalRequest(await createResponse(person.program, changed))
  expect(mail.calls()).toEqual([])

  const refused = await addPerson()
  const { input: asked } = await mail.buildApprovedInput(refused.program)
  await answerOnPage(refused, 'no')
  expect(await approveBy(refused.program, asked)).toMatchObject({ status: 'failed' })
  expect(mail.calls()).toEqual([])
})

test('an answer on the page for hours lets the program call without a question', async () => {
  const person = await addPerson()
  const response = await createResponse(person.program, HELLO)
  await answerOnPage(person, 'remember')
  const input = [...appendOutput(HELLO, response), ...buildApprovals(response, true)]
  expect(await approveBy(person.program, input)).toMatchObject({ status: 'completed' })
  expect((await createResponse(person.program, HELLO)).output_text).toBe('The tool was of help.')
  expect(mail.calls()).toEqual([{ text: 'to Bob' }, { text: 'to Bob' }])
})

test('a stream asks no program amid an answer where only the page may answer', async () => {
  const person = await addPerson()
  const body = { ...buildQuestion().payload, mayAsk: 'amid' }
  const accept = 'text/event-stream'
  const simple = await mail.svc.send('POST', '/api/ai-req', {
    token: person.token,
    body: buildQuestion(),
    headers: { accept },
  })
  expect(await simple.text()).not.toContain('event: approval')
  const whole = await mail.svc.send('POST', '/trpc/ai.completeStream', { token: person.token, body })
  expect(await whole.text()).not.toContain('"approval"')
  expect([mail.calls(), mail.lastModelMessage()]).toMatchObject([[], { content: expect.stringMatching(AT_PAGE) }])
})

test('in the chat the person answers by the session, and no token answers there', async () => {
  const person = await addPerson()
  const response = await mail.svc.send('POST', '/trpc/ai.stream?batch=1', {
    body: { 0: buildQuestion().payload },
    headers: {
      cookie: `svc_session=${person.browser.session}`,
      'sec-fetch-site': 'same-origin',
      'trpc-accept': 'application/jsonl',
    },
  })
  for await (const line of createInterface(Readable.fromWeb(response.body as never))) {
    const [, id] = /"type":"approval","id":"([^"]+)"/.exec(line) ?? []
    if (!id) continue
    const body = { id, allow: true }
    const byToken = await mail.svc.send('POST', '/trpc/ai.approve', { token: person.token, body })
    expect([byToken.status, mail.calls()]).toEqual([403, []])
    expect((await person.browser.send('POST', '/trpc/ai.approve', { body })).status).toBe(200)
  }
  expect(mail.calls()).toEqual([{ text: 'to Bob' }])
})

import OpenAI from 'openai'
import { expect, test } from 'vitest'
import * as web from '../../facades/web/browser/crypto.ts'
import { answers, callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { startEverything } from '../kit/mcp/everything.ts'
import { buildUserMessage, openContent, requestRoomAnswer, waitForAnswer } from '../kit/rooms/ai.ts'
import { sendAttachments, UNTIL_READ, upload } from '../kit/rooms/attachments.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'
import { salts } from '../kit/web/crypto.ts'

const QUESTION = 'What is planned for the evening?'

/** Starts a service with a model that has a tool server's tool, approved by an administrator. */
async function startHouse() {
  await using resources = new AsyncDisposableStack()
  const [tools, provider] = [resources.use(await startEverything('http')), resources.use(await startProvider())]
  const mcpServers = [{ label: 'Everything', url: tools.url, transport: 'http' }]
  const model = { tools: ['everything_echo'] }
  const config = resources.use(await writeConfig(provider.url, { model, more: { mcpServers } }))
  const svc = resources.use(await startApp({ AI_CONFIG: config.file, ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true' }))
  await svc.host.mcp.sync()
  const echo = (await svc.host.mcp.tools()).find(({ name }) => name === 'everything_echo')
  await svc.host.mcp.approve({ name: 'everything_echo', hash: echo?.hash ?? '' })
  const disposables = resources.move()
  return { svc, provider, [Symbol.asyncDispose]: () => disposables.disposeAsync() }
}

type House = Awaited<ReturnType<typeof startHouse>>

/** Uploads a plan as PDF and waits until its text has been read. */
async function uploadPlan({ svc }: House, token: string) {
  const { one } = await upload(svc, token, makePdf({ lines: ['A game of chess at eight.'] }), { name: 'plan.pdf' })
  const state = async () =>
    (await svc.rows<{ text_state: string }>('select text_state from attachments where id = $1', [one.id]))[0]
  await expect.poll(state, UNTIL_READ).toEqual({ text_state: 'ready' })
  return one.id
}

test('a newcomer asks by the client of OpenAI and in an encrypted room', async () => {
  await using house = await startHouse()
  const { svc, provider } = house
  const { id, token } = await svc.user({ username: 'newcomer', abilities: ['ai', 'read', 'write'] })
  const client = new OpenAI({ apiKey: token, baseURL: `${svc.url}/v1`, maxRetries: 0 })
  const model = (await client.models.list()).data[0]?.id ?? ''
  const messages = [{ role: 'user' as const, content: QUESTION }]

  const chat = await client.chat.completions.create({ model, messages })
  expect(chat).toMatchObject({ choices: [{ message: { content: 'Good day.' }, finish_reason: 'stop' }] })

  const pieces: string[] = []
  for await (const { choices } of await client.chat.completions.create({ model, messages, stream: true }))
    pieces.push(choices[0]?.delta.content ?? '')
  expect(pieces.join('')).toBe('Good day.')
  expect(pieces.length).toBeGreaterThan(2)

  provider.behave = callsTool('everything_echo', '{"message":"chess"}', 'It said chess.')
  const withTool = await client.chat.completions.create({ model, messages })
  expect(withTool.choices[0]?.message.content).toBe('It said chess.')
  expect(provider.requests.at(-1)?.body.messages.at(-1)).toMatchObject({ role: 'tool', content: 'Echo: chess' })

  provider.behave = answers('Chess at eight.')
  const plan = await uploadPlan(house, token)
  const content = [
    { type: 'text' as const, text: QUESTION },
    { type: 'file' as const, file: { file_id: plan } },
  ]
  const read = await client.chat.completions.create({ model, messages: [{ role: 'user', content }] })
  expect(read.choices[0]?.message.content).toBe('Chess at eight.')
  expect(JSON.stringify(provider.requests.at(-1)?.body.messages)).toContain('A game of chess at eight.')

  const newcomer = createApiClient(svc, token)
  const { one: room } = await newcomer.create('rooms', { name: 'Evening' })
  const roomKey = web.makeKey()
  const key = await web.roomAiKey(roomKey, String(room.attributes['slug']), salts)
  const sealed = { content: await web.sealMessage(roomKey, QUESTION), keyEpoch: 0 }
  const { one: message } = await sendAttachments(newcomer, room.id, [plan], sealed)
  const parts = [
    { type: 'text', text: QUESTION },
    { type: 'attachment', id: plan },
  ]
  await requestRoomAnswer(newcomer, room.id, '', {
    model,
    key,
    messages: [buildUserMessage('', { content: parts, source: message.id })],
  })

  const disclosure = await waitForAnswer(newcomer, room.id)
  const answer = (await newcomer.get(`/room-messages/${disclosure.answer}`)).one.attributes
  expect(await openContent(answer['content'], key)).toEqual({ text: 'Chess at eight.' })
  expect(JSON.stringify(provider.requests.at(-1)?.body.messages)).toContain('A game of chess at eight.')
  expect(disclosure.parts.map(({ message: of, kind }) => [of, kind])).toEqual([
    [message.id, 'text'],
    [message.id, 'text/plain'],
  ])

  await svc.services.ai.usageLedger.flush()
  const records = await svc.rows(
    'select context, outcome, count(*)::int as calls from usage_records group by 1, 2 order by 1',
  )
  expect(records).toEqual([
    { context: 'api', outcome: 'completed', calls: 4 },
    { context: 'group', outcome: 'completed', calls: 1 },
  ])
  expect(await svc.rows('select from usage_records where user_id <> $1', [id])).toEqual([])
  expect(svc.log.join('')).not.toContain(QUESTION)
})

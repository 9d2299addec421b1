import { beforeEach, expect, test } from 'vitest'
import { answersWithBlocks, buildFetchedPage } from '../../kit/ai/anthropic.ts'
import { startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'
import { signIn } from '../../kit/browser.ts'
import { createAiRoom, openContent, requestRoomAnswer, waitForAnswer } from '../../kit/rooms/ai.ts'
import { shareResource } from '../../kit/share-resource.ts'

const url = 'https://example.org/chess'
const tools = ['capability:web_fetch:native']
const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_fetch', input: { url } }
const usage = { input_tokens: 70, output_tokens: 9, server_tool_use: { web_fetch_requests: 1 } }
const answerBlocks = [use, buildFetchedPage(use.id, url, 'e4 is best.'), { type: 'text', text: 'It is e4.' }]

const upstream = shareResource(() => startProvider(answersWithBlocks(answerBlocks, { stop_reason: 'end_turn', usage })))
const config = shareResource(() => {
  const model = { nativeCapabilities: ['web_fetch'] }
  return writeConfig(upstream.url, { provider: { adapter: 'anthropic' }, model })
})
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true' }))
beforeEach(() => {
  upstream.requests.length = 0
})

const expectFetch = () => expect(upstream.requests[0]?.body.tools).toMatchObject([{ name: 'web_fetch' }])

test('older front ends learn in a separate line which page was read', async () => {
  const { browser } = await signIn(svc, 'ada')
  const messages = [{ role: 'user', content: { text: `Read ${url}` } }]

  const payload = { model: 'mock-1', stream: true, messages, tools }
  const { text } = await browser.send('POST', '/req/streamAI', { body: { payload, broadcast: false } })

  const lines = text.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []))
  expect(lines.filter(({ type }) => type === 'citation')).toEqual([
    {
      type: 'citation',
      isDone: false,
      status: null,
      content: { url, title: 'Chess', ranges: [], byteOffset: false },
    },
  ])
  expect(lines.at(-1)).toMatchObject({ type: 'completion', content: 'It is e4.', isDone: true })
  expectFetch()
})

test("a reader of a room's answer learns which page the model has read", async () => {
  const { id, admin, viewer } = await createAiRoom({ svc }, ['viewer'])

  expect((await requestRoomAnswer(admin, id, `Read ${url}`, { modelTools: tools })).status).toBe(200)

  const { answer } = await waitForAnswer(viewer, id)
  const { attributes } = (await viewer.get(`/room-messages/${answer}`)).one
  expect(await openContent(attributes['content'])).toEqual({ text: 'It is e4.', citations: [{ url, title: 'Chess' }] })
  expectFetch()
  await svc.services.ai.usageLedger.flush()
  expect(await svc.rows(`select web_fetches from usage_records where room_id = $1`, [id])).toEqual([{ web_fetches: 1 }])
})

import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { expect, test } from 'vitest'
import { waitForLocks } from '../kit/locks.ts'
import {
  addCaller,
  buildRpc,
  MODERN,
  type RpcMessage,
  sendRpc,
  startGateway,
  syncAndApprove,
} from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { openClient } from '../kit/postgres-client.ts'
import { shareResource } from '../kit/share-resource.ts'

const desk = shareResource(async () =>
  Object.assign(await startToolServer([buildTool('find')]), { prompts: [{ name: 'review' }] }),
)
const other = shareResource(() => startToolServer([buildTool('find')]))
const svc = shareResource(() =>
  startGateway([
    { label: 'Desk', url: desk.url, offers: ['prompts'] },
    { label: 'Staff', url: other.url, groups: ['staff'] },
  ]),
)

const everything = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

/** Listens as a program does; collects the messages of the stream. */
async function listen(token: string, notifications: object = everything, path = '/mcp') {
  const gone = new AbortController()
  const { body, headers } = buildRpc('subscriptions/listen', { token, params: { notifications } })
  const init = { method: 'POST', headers, body: JSON.stringify(body), signal: gone.signal }
  const response = await fetch(svc.url + path, init)
  const messages: RpcMessage[] = []
  const read = async () => {
    if (!response.body) return
    for await (const line of createInterface(Readable.fromWeb(response.body as ReadableStream)))
      if (line.startsWith('data: ')) messages.push(JSON.parse(line.slice(6)))
  }
  const ended = read().catch(() => {})
  return { response, messages, methods: () => messages.map(({ method }) => method), ended, leave: () => gone.abort() }
}

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const TOOLS = 'notifications/tools/list_changed'
const PROMPTS = 'notifications/prompts/list_changed'

test('a program that listens is told which of its own lists has changed', async () => {
  const { token } = await addCaller(svc)
  const all = await listen(token)
  const prompts = await listen(token, { promptsListChanged: true })
  await expect.poll(all.methods).toEqual([ACKNOWLEDGED])
  expect(all.messages[0]?.params?.['notifications']).toEqual(everything)

  other.tools = [buildTool('find'), buildTool('send')]
  desk.tools = [buildTool('find', { description: 'Finds more.' })]
  await svc.host.mcp.sync()
  await expect.poll(all.methods).toEqual([ACKNOWLEDGED, TOOLS])
  await syncAndApprove(svc)
  await expect.poll(all.methods).toEqual([ACKNOWLEDGED, TOOLS, TOOLS])
  await svc.host.mcp.setAccess({ name: 'desk_review', active: false })
  await expect.poll(all.methods).toEqual([ACKNOWLEDGED, TOOLS, TOOLS, PROMPTS])
  await expect.poll(prompts.methods).toEqual([ACKNOWLEDGED, PROMPTS])
  all.leave()
  prompts.leave()
})

test('a program that listens to a server learns that its token has ended', async () => {
  const { token, id } = await addCaller(svc)
  const stream = await listen(token, everything, '/mcp/desk')
  await expect.poll(stream.methods).toEqual([ACKNOWLEDGED])
  await svc.rows('delete from access_tokens where user_id = $1', [id])
  await stream.ended
  expect(stream.messages.at(-1)?.result).toMatchObject({ resultType: 'complete' })
})

test('a token that ends while the lists are read leaves no open stream', async () => {
  const { token, id } = await addCaller(svc)
  const first = await listen(token)
  await expect.poll(first.methods).toEqual([ACKNOWLEDGED])
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin; lock table ai_tools in access exclusive mode')
  const second = listen(token)
  await waitForLocks(svc.env.DATABASE_URL)
  await svc.rows('delete from access_tokens where user_id = $1', [id])
  await first.ended
  await client.query('rollback')
  const { messages, ended } = await second
  await ended
  expect(messages.at(-1)?.result).toMatchObject({ resultType: 'complete' })
  await expect.poll(() => svc.services.changes.subscriptions.count()).toBe(0)
})

test('a failed look-up of changed lists ends the stream alone', async () => {
  const { token } = await addCaller(svc)
  const stream = await listen(token)
  await expect.poll(stream.methods).toEqual([ACKNOWLEDGED])
  const [server] = await svc.host.mcp.servers()
  await svc.rows('alter table ai_tools rename column approved to away')
  try {
    await svc.host.mcpServers.update({ id: String(server?.id), groups: ['board'] })
    await stream.ended
  } finally {
    await svc.rows('alter table ai_tools rename column away to approved')
  }
  expect(stream.messages.at(-1)?.result).toMatchObject({ resultType: 'complete' })
  expect((await sendRpc(svc, 'tools/list', { token })).result.tools).toEqual([])
})

test('what nobody can be told is not acknowledged, and earlier revisions promise nothing', async () => {
  const { token } = await addCaller(svc)
  const { messages, ended } = await listen(token, { resourceSubscriptions: ['svc://1/desk'] })
  await ended
  expect(messages[0]?.params?.['notifications']).toEqual({})
  expect((await sendRpc(svc, 'subscriptions/listen', { token })).error?.code).toBe(-32602)
  expect((await sendRpc(svc, 'subscriptions/listen', { token, revision: '2025-11-25' })).error?.code).toBe(-32601)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const opened = await sendRpc(svc, 'initialize', { token, revision: '2025-11-25', params })
  expect(opened.result.capabilities.tools).toEqual({})
  const discovered = await sendRpc(svc, 'server/discover', { token, revision: MODERN })
  expect(discovered.result.capabilities.tools).toEqual({ listChanged: true })
})

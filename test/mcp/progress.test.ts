import { createRequire } from 'node:module'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { startEverything } from '../kit/mcp/everything.ts'
import { addCaller, callTool, type RpcMessage, revisions, startGateway } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer, type ToolServerRequest } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

const library = shareResource(() => startToolServer([buildTool('search')]))
const everything = shareResource(() => startEverything('http'))
const older = shareResource(() => startEverything('sse'))
const everythingFile = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const program = { label: 'Program', transport: 'stdio', command: process.execPath, args: [everythingFile, 'stdio'] }
const svc = shareResource(() =>
  startGateway(
    [
      { label: 'Library', url: library.url },
      { label: 'Everything', url: everything.url },
      { label: 'Older', url: older.url, transport: 'sse' },
      program,
    ],
    { MCP_CALLS_PER_MINUTE: '1000' },
  ),
)
let token: string
beforeAll(async () => {
  token = (await addCaller(svc)).token
})
beforeEach(() => {
  library.behave = undefined
  library.seen.length = 0
})

const input = { text: 'Ovid' }
const meta = { progressToken: 'mine' }
const readProgress = ({ messages }: { messages: RpcMessage[] }) =>
  messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params)

/** Lets the library report before it answers. The reports are sent with the token of the call. */
function report(...reports: object[]) {
  library.behave = ({ rpc, response }: ToolServerRequest) => {
    if (rpc.method !== 'tools/call') return false
    const { progressToken } = (rpc.params as { _meta?: { progressToken?: unknown } })._meta ?? {}
    const toEvent = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const params of reports)
      response.write(toEvent({ method: 'notifications/progress', params: { progressToken, ...params } }))
    const result = { resultType: 'complete', content: [{ type: 'text', text: 'done' }] }
    response.end(toEvent({ id: rpc.id, result }))
    return true
  }
}

test('a program with a progress token gets the progress before the result', async () => {
  report({ progress: 1, total: 3, message: 'Opening Ovid' }, { progress: 2.5 })
  for (const revision of revisions)
    for (const progressToken of ['mine', 7]) {
      const answer = await callTool(svc, 'library_search', { token, revision, input, meta: { progressToken } })
      expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
      expect([revision, readProgress(answer)]).toEqual([
        revision,
        [
          { progressToken, progress: 1, total: 3, message: 'Opening Ovid' },
          { progressToken, progress: 2.5 },
        ],
      ])
      expect(answer.messages.at(-1)?.result.content).toEqual([{ type: 'text', text: 'done' }])
    }
})

test('a program without a progress token gets none, and none is requested', async () => {
  report({ progress: 1 })
  for (const revision of revisions) {
    const answer = await callTool(svc, 'library_search', { token, revision, input })
    expect([answer.result.content[0].text, readProgress(answer)]).toEqual(['done', []])
  }
  expect(JSON.stringify(library.seen)).not.toContain('progressToken')
})

test('the token of a program is not told to the tool server', async () => {
  report({ progress: 1 })
  await callTool(svc, 'library_search', { token, input, meta: { progressToken: 'CANARY' } })
  expect(JSON.stringify(library.seen)).not.toContain('CANARY')
})

test('reports that lie, repeat, or belong to no call are left out', async () => {
  report(
    { progress: 5 },
    { progress: 5 },
    { progress: 4 },
    { progress: '6' },
    { progress: null },
    {},
    { progress: 7, progressToken: 'other' },
    { progress: 8, total: 'all', message: { text: 'x' } },
  )
  const answer = await callTool(svc, 'library_search', { token, input, meta })
  expect(readProgress(answer)).toEqual([
    { ...meta, progress: 5 },
    { ...meta, progress: 8 },
  ])
  expect(answer.result.content[0].text).toBe('done')
})

test('the text of a report is cut, without invisible characters and other members', async () => {
  const tags = '\u{e0041}\u{e0042}'
  report({ progress: 1, message: `Read${tags} this`, _meta: { a: 1 } }, { progress: 2, message: 'x'.repeat(5000) })
  const answer = await callTool(svc, 'library_search', { token, input, meta })
  expect(readProgress(answer)).toEqual([
    { ...meta, progress: 1, message: 'Read this' },
    { ...meta, progress: 2, message: 'x'.repeat(1000) },
  ])
})

test('of endless reports a thousand are passed on, and then the result', async () => {
  report(...Array.from({ length: 1500 }, (_, n) => ({ progress: n })))
  const answer = await callTool(svc, 'library_search', { token, input, meta })
  expect(readProgress(answer)).toHaveLength(1000)
  expect(answer.result.content[0].text).toBe('done')
})

test('progress comes from servers with sessions, of the older transport, and from programs', async () => {
  for (const server of ['everything', 'older', 'program']) {
    const answer = await callTool(svc, `${server}_trigger-long-running-operation`, {
      token,
      input: { duration: 0.1, steps: 3 },
      meta,
    })
    expect([server, readProgress(answer)]).toEqual([
      server,
      [1, 2, 3].map((progress) => ({ ...meta, progress, total: 3 })),
    ])
  }
})

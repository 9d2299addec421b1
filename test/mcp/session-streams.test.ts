import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildQuestion, callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { startSessionServer } from '../kit/mcp/session-server.ts'

const resources = new AsyncDisposableStack()
let svc: TestApp
let server: Awaited<ReturnType<typeof startSessionServer>>
let upstream: Awaited<ReturnType<typeof startProvider>>
let token: string

beforeAll(async () => {
  server = resources.use(await startSessionServer())
  upstream = resources.use(await startProvider())
  const mcpServers = [{ label: 'Peer', url: server.url }]
  const tools = ['peer_slow', 'peer_curious', 'peer_aside']
  const config = resources.use(await writeConfig(upstream.url, { model: { tools }, more: { mcpServers } }))
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  token = (await svc.user()).token
  await svc.host.mcp.sync()
  for (const { name, hash } of await svc.host.mcp.tools()) await svc.host.mcp.approve({ name, hash: hash ?? '' })
})
afterAll(() => resources.disposeAsync())

/** Returns the result of a tool that the model got. */
async function callTool(name: string): Promise<string> {
  upstream.requests.length = 0
  server.requests.length = 0
  upstream.behave = callsTool(name, '{}')
  const response = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
  expect(response.status).toBe(200)
  return String(upstream.requests.at(-1)?.body.messages.at(-1)?.content)
}

test('a stream that the server closes while a tool works is resumed', async () => {
  expect(await callTool('peer_slow')).toBe('the answer came later')
  expect(server.requests).toContain('GET resumed')
})

test.for(['peer_curious', 'peer_aside'])('the request of a server during %s is refused at once', async (tool) => {
  expect(await callTool(tool)).toBe('the client refused with -32601')
})

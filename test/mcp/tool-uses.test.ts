import { beforeAll, beforeEach, expect, test } from 'vitest'
import { buildQuestion, callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestUser } from '../kit/app.ts'
import { buildTool, startToolServer, type ToolServerRequest } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

let ada: TestUser
let bob: TestUser
let root: TestUser

const text = { type: 'string' }
const server = shareResource(() =>
  startToolServer([
    buildTool('find', { inputSchema: { type: 'object', properties: { text }, required: ['text'] } }),
    buildTool('send', { inputSchema: { type: 'object', properties: { text } } }),
  ]),
)
const upstream = shareResource(startProvider)
const config = shareResource(() => {
  const mcpServers = [{ label: 'Desk', url: server.url }]
  return writeConfig(upstream.url, { model: { tools: ['desk_find', 'desk_send'] }, more: { mcpServers } })
})
const svc = shareResource(() =>
  startApp({ AI_CONFIG: config.file, AI_TOOL_RESULT_MAX: '1024', LOG_LEVEL: 'trace', RETENTION_USAGE_MONTHS: '2' }),
)
beforeAll(async () => {
  ada = await svc.user()
  bob = await svc.user()
  root = await svc.user({ role: 'admin', abilities: ['read'] })
  await svc.host.mcp.sync()
  for (const { name, hash } of await svc.host.mcp.tools()) await svc.host.mcp.approve({ name, hash })
})
beforeEach(async () => {
  server.behave = undefined
  await svc.rows('delete from tool_uses')
})

const ask = ({ token }: TestUser, more: object = {}) =>
  svc.send('POST', '/api/ai-req', { token, body: { payload: { ...buildQuestion().payload, ...more } } })

async function call(person: TestUser, input: object | string, tool = 'desk_find') {
  upstream.behave = callsTool(tool, typeof input === 'string' ? input : JSON.stringify(input))
  expect((await ask(person)).status).toBe(200)
}

const onCall = (behave: (request: ToolServerRequest) => void) => {
  server.behave = (request) => {
    if (request.rpc.method === 'tools/call') behave(request)
    return request.rpc.method === 'tools/call'
  }
}

const readUses = () =>
  svc.rows<Record<string, unknown>>(
    `select user_id as person, (select name from access_tokens t where t.id = token_id) as token, server, tool, surface,
            outcome, bytes, duration_ms >= 0 as timed from tool_uses order by id`,
  )

const used = (person: TestUser, more: object) => ({
  person: person.id,
  token: 'test',
  server: 'Desk',
  tool: 'desk_find',
  surface: 'chat',
  bytes: 0,
  timed: true,
  ...more,
})

test('each call leaves one record with what came of it', async () => {
  await call(ada, { text: 'hi' })
  onCall(({ reply }) => reply({ content: [{ type: 'text', text: 'no' }], isError: true }))
  await call(bob, { text: 'hi' })
  onCall(({ reply }) => reply({ content: [{ type: 'text', text: 'x'.repeat(2000) }] }))
  await call(ada, { text: 'hi' })
  onCall(({ response }) => response.writeHead(500).end('CANARY of the server'))
  await call(ada, {}, 'desk_send')
  await call(ada, { text: 7 })
  await call(ada, 'no JSON')
  await expect
    .poll(readUses)
    .toEqual([
      used(ada, { outcome: 'completed', bytes: 4 }),
      used(bob, { outcome: 'failed', bytes: 2 }),
      used(ada, { outcome: 'broken' }),
      used(ada, { outcome: 'broken', tool: 'desk_send' }),
      used(ada, { outcome: 'invalid' }),
      used(ada, { outcome: 'invalid' }),
    ])
})

test('a call whose caller has gone is recorded as such', async () => {
  const arrived = Promise.withResolvers<void>()
  onCall(() => arrived.resolve())
  upstream.behave = callsTool('desk_find', '{"text":"hi"}')
  const gone = new AbortController()
  const pending = svc
    .send('POST', '/api/ai-req', { token: ada.token, body: buildQuestion(), signal: gone.signal })
    .catch(() => undefined)
  await arrived.promise
  gone.abort()
  await pending
  await expect.poll(readUses).toEqual([used(ada, { outcome: 'aborted' })])
})

test('arguments, results and errors of tools are in no table and no log', async () => {
  const result = (name: string) => ({ content: [{ type: 'text', text: `CANARY-${name}` }] })
  await call(ada, { text: 'CANARY-ARGUMENT' })
  onCall(({ reply }) => reply(result('RESULT')))
  await call(ada, { text: 'CANARY-ARGUMENT' })
  onCall(({ reply }) => reply({ ...result('ERROR'), isError: true }))
  await call(ada, { text: 'CANARY-ARGUMENT' })
  onCall(({ response }) => response.writeHead(500).end('CANARY-BODY'))
  await call(ada, { text: 'CANARY-ARGUMENT' })
  await call(ada, { 'CANARY-NAME': 'CANARY-ARGUMENT', text: 1 })
  await expect.poll(async () => (await readUses()).length).toBe(5)
  const tables = await svc.rows<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  expect(tables.length).toBeGreaterThan(20)
  for (const { name } of tables)
    expect([name, await svc.rows(`select from "${name}" t where t::text like '%CANARY%'`)]).toEqual([name, []])
  expect(svc.log.join('')).not.toContain('CANARY')
  expect(svc.log.join('')).toContain('a tool failed')
})

test('administrators sum up calls of tools, and nobody else', async () => {
  for (const person of [ada, ada, bob]) await call(person, { text: 'hi' })
  await expect.poll(async () => (await readUses()).length).toBe(3)
  const sum = async (token?: string) => {
    const response = await svc.send('GET', '/trpc/usage.tools', { token })
    return [response.status, ((await response.json()) as { result?: { data: unknown } }).result?.data]
  }
  expect(await sum(root.token)).toEqual([
    200,
    [
      {
        server: 'Desk',
        tool: 'desk_find',
        surface: 'chat',
        outcome: 'completed',
        calls: 3,
        bytes: 12,
        durationMs: expect.any(Number),
        costMicros: null,
        currency: null,
      },
    ],
  ])
  expect([await sum(ada.token), await sum()]).toEqual([
    [403, undefined],
    [401, undefined],
  ])
  const days = { from: '2020-01-01', to: '2020-01-31' }
  expect(await svc.host.usage.tools(days)).toEqual([])
})

test('records are kept as long as usage, and lose their person with the account', async () => {
  const eve = await svc.user()
  await call(eve, { text: 'hi' })
  await call(ada, { text: 'hi' })
  await expect.poll(async () => (await readUses()).length).toBe(2)
  await svc.rows(`update tool_uses set created_at = now() - interval '4 months' where user_id = ${ada.id}`)
  await svc.host.usage.rollUp()
  expect(await readUses()).toEqual([used(eve, { outcome: 'completed', bytes: 4 })])
  await svc.host.admin.removeUser({ user: { id: eve.id } })
  expect(await readUses()).toEqual([{ ...used(eve, { outcome: 'completed', bytes: 4 }), person: null, token: null }])
})

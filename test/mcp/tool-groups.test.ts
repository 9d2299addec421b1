import { beforeAll, beforeEach, expect, test } from 'vitest'
import { answers, buildQuestion, callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestUser } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { startToolServer } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

/** `ada` is of the staff, `bob` is not, and `root` is an administrator without groups. */
let ada: TestUser
let bob: TestUser
let root: TestUser

const server = shareResource(startToolServer)
const upstream = shareResource(startProvider)
const config = shareResource(() => {
  const mcpServers = [{ label: 'Desk', url: server.url }]
  return writeConfig(upstream.url, { model: { tools: ['desk_echo'] }, more: { mcpServers } })
})
const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))
beforeAll(async () => {
  ada = await svc.user()
  bob = await svc.user()
  root = await svc.user({ role: 'admin', abilities: ['ai', 'read', 'write', 'admin'] })
  await svc.host.admin.setGroups({ user: { id: ada.id }, groups: ['staff'] })
  await svc.host.mcp.sync()
  const [tool] = await svc.host.mcp.tools()
  await svc.host.mcp.approve({ name: 'desk_echo', hash: tool?.hash ?? '' })
})
beforeEach(async () => {
  await setGroups({})
  server.seen.length = 0
  upstream.behave = answers('Good day.')
  upstream.requests.length = 0
})

const findIds = async () => {
  const [[tool], [row]] = [await svc.host.mcp.tools(), await svc.host.mcp.servers()]
  return { tool: String(tool?.id), server: String(row?.id) }
}

async function setGroups({ tool = [], server = [] }: { tool?: string[]; server?: string[] }) {
  const ids = await findIds()
  await svc.host.aiTools.update({ id: ids.tool, groups: tool })
  await svc.host.mcpServers.update({ id: ids.server, groups: server })
}

const ask = ({ token }: TestUser, more: object = {}) =>
  svc.send('POST', '/api/ai-req', { token, body: { payload: { ...buildQuestion().payload, ...more } } })

/** Asks the model, and returns the names of the tools that it was offered. */
async function listOffered(person: TestUser) {
  upstream.requests.length = 0
  expect((await ask(person)).status).toBe(200)
  const { tools } = { tools: [], ...upstream.requests[0]?.body } as { tools: { function: { name: string } }[] }
  return tools.map((tool) => tool.function.name)
}

const closings = [
  { what: 'a tool', groups: { tool: ['staff'] } },
  { what: 'a tool server', groups: { server: ['staff', 'board'] } },
]

test.each(closings)('a model calls $what for its groups and administrators alone', async ({ groups }) => {
  expect(await listOffered(bob)).toEqual(['desk_echo'])
  await setGroups(groups)
  expect(await listOffered(bob)).toEqual([])
  expect(await listOffered(ada)).toEqual(['desk_echo'])
  expect(await listOffered(root)).toEqual(['desk_echo'])

  upstream.behave = callsTool('desk_echo', '{"text":"hi"}')
  await ask(bob)
  expect(server.seen).toEqual([])
  await ask(ada)
  expect(server.seen.map(({ method }) => method)).toContain('tools/call')

  await svc.host.admin.setGroups({ user: { id: ada.id }, groups: [] })
  expect(await listOffered(ada)).toEqual([])
  await svc.host.admin.setGroups({ user: { id: ada.id }, groups: ['staff'] })
})

test.each(closings)('who may not call $what sees neither its record nor its name', async ({ what, groups }) => {
  await setGroups(groups)
  const { tool, server } = await findIds()
  const clients = { ada, bob, root }
  const seen = await Promise.all(
    Object.values(clients).map(async ({ token }) => {
      const client = createApiClient(svc, token)
      const list = async (path: string) => (await client.get(path)).list.map(({ id }) => id)
      const [model] = (await client.get('/ai-models')).list
      return {
        tools: await list('/ai-tools'),
        servers: await list('/mcp-servers'),
        status: (await client.get(`/ai-tools/${tool}`)).status,
        ofModel: [model?.attributes?.['toolIds']].flat().map(String),
      }
    }),
  )
  const all = { tools: [tool], servers: [server], status: 200, ofModel: [tool] }
  const servers = what === 'a tool' ? [server] : []
  expect(seen).toEqual([all, { tools: [], servers, status: 404, ofModel: [] }, all])

  const named = await ask(bob, { model_tools: ['desk_echo'] })
  const unknown = await ask(bob, { model_tools: ['no_such_tool'] })
  expect([named.status, await named.text()]).toEqual([unknown.status, await unknown.text()])
  expect((await svc.send('GET', '/api/svc/v1/ai-tools')).status).toBe(401)
})

test('groups and gateway are for administrators, to read and to write', async () => {
  const ids = await findIds()
  for (const [type, id, attributes] of [
    ['mcp-servers', ids.server, { groups: ['staff'], gateway: false }],
    ['ai-tools', ids.tool, { groups: ['staff'] }],
  ] as const) {
    const admin = createApiClient(svc, root.token)
    const shown = (await createApiClient(svc, ada.token).get(`/${type}/${id}`)).one.attributes ?? {}
    for (const name of Object.keys(attributes)) expect(shown).not.toHaveProperty(name)
    expect((await createApiClient(svc, ada.token).update(type, id, attributes)).status).toBe(403)
    expect((await admin.update(type, id, attributes)).one.attributes).toMatchObject(attributes)
    expect((await admin.update(type, id, { groups: ['with space ', ''] })).status).toBe(422)
  }
  await svc.host.mcpServers.update({ id: ids.server, gateway: true })
})

test('the command line sets who may call a server or a tool', async () => {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  const command = (...args: string[]) =>
    runCommand(['mcp', ...args], { env: { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2' } })
  const run = async (...args: string[]) => (await command(...args)).stdout
  expect(await run('access', 'Desk', '--groups', 'staff,board', '--programs', 'no')).toContain(
    'People in staff, board may call the tools of Desk, but not with their own programs.',
  )
  expect(await run('groups', 'desk_echo', '--groups', 'staff')).toContain('People in staff may use desk_echo.')
  const access = ['access', 'Desk', '--groups', 'staff,board', '--programs', 'no']
  expect((await command(...access, '--offers', 'prompts, pages')).stderr).toContain(
    '--offers must be prompts, resources',
  )
  await run(...access, '--offers', 'prompts, resources')
  expect([await svc.host.mcp.servers(), await svc.host.mcp.tools()]).toMatchObject([
    [{ groups: ['staff', 'board'], gateway: false, offers: ['prompts', 'resources'] }],
    [{ groups: ['staff'] }],
  ])
  expect(await run('access', 'Desk', '--groups', '', '--programs', 'yes')).toMatch(/^Everybody .* also with/)
  const refused = await command('access', 'Nothing', '--groups', 'a')
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('There is no server Nothing.')])
})

test('the file sets the groups of a server, until an administrator changes them', async () => {
  const sync = async (more: object) => {
    const provider = { id: 'mock', adapter: 'openai-compatible', apiUrl: upstream.url, apiKey: 'k' }
    const models = [{ id: 'mock-1', external: true, tools: ['desk_echo'] }]
    await config.write({
      providers: [{ ...provider, models }],
      mcpServers: [{ label: 'Desk', url: server.url, ...more }],
    })
    await svc.host.models.sync()
    const [row] = await svc.host.mcp.servers()
    return { groups: row?.groups, gateway: row?.gateway }
  }
  expect(await sync({ groups: ['staff', 'staff'], gateway: false })).toEqual({ groups: ['staff'], gateway: false })
  expect(await sync({ groups: ['board'] })).toEqual({ groups: ['board'], gateway: false })
  await setGroups({ server: ['chess'] })
  expect(await sync({ groups: ['staff'], gateway: true })).toEqual({ groups: ['chess'], gateway: true })
  await setGroups({})
  await sync({})
})

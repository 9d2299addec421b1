import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { buildModel, buildProvider, startWithConfig } from '../kit/ai/model-config.ts'
import { type Client, createApiClient, toMany } from '../kit/json-api/client.ts'
import { startToolServer } from '../kit/mcp/tool-server.ts'

type ToolServer = Awaited<ReturnType<typeof startToolServer>>

const resources = new AsyncDisposableStack()
let app: Awaited<ReturnType<typeof startWithConfig>>
let admin: Client
let [first, second]: ToolServer[] = []
const secretsByServer = { first: new Set<string>(), second: new Set<string>() }

beforeAll(async () => {
  const startServer = async (name: 'first' | 'second') => {
    const server = resources.use(await startToolServer())
    server.behave = ({ request: { headers } }) => {
      secretsByServer[name].add([headers.authorization ?? 'no key', headers['x-extra']].filter(Boolean).join(' and '))
      return false
    }
    return server
  }
  ;[first, second] = [await startServer('first'), await startServer('second')]
  app = resources.use(await startWithConfig({ providers: [] }))
  admin = createApiClient(app.svc, (await app.svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })).token)
})
afterAll(() => resources.disposeAsync())

beforeEach(async () => {
  await app.svc.rows('truncate mcp_servers, ai_tools, ai_providers cascade')
  app.svc.log.length = 0
})

const file = (...mcpServers: object[]) => ({ providers: [], mcpServers })
const urlOf = (server: ToolServer | undefined) => server?.url ?? ''
const onFirst = (more: object = {}) => ({ label: 'Tools', url: urlOf(first), apiKey: 'key-of-file', ...more })
const onSecond = (more: object = {}) => onFirst({ url: urlOf(second), ...more })

const rows = () =>
  app.svc.rows<{ id: number; label: string; url: string }>(
    'select id, server_label as label, url from mcp_servers order by id',
  )

async function change(attributes: object) {
  const [row] = await rows()
  expect((await admin.update('mcp-servers', row?.id ?? 0, attributes)).status).toBe(200)
}

/** Checks the servers; returns the secrets that each of them was sent. */
async function sentSecrets() {
  secretsByServer.first.clear()
  secretsByServer.second.clear()
  await app.svc.host.mcp.check()
  return { first: [...secretsByServer.first], second: [...secretsByServer.second] }
}

const warnings = () => app.svc.log.filter((line) => line.includes('do not take effect')).length

test('values that an administrator set stay, and all others follow the file', async () => {
  await app.sync(file(onFirst({ headers: { 'x-extra': 'header-of-file' } })))
  expect((await sentSecrets()).first).toEqual(['Bearer key-of-file and header-of-file'])
  await change({ apiKey: 'key-of-admin', additionalConfig: { headers: { 'x-extra': 'header-of-admin' } } })

  await app.sync(file(onFirst({ description: 'New', apiKey: 'new-key', headers: { 'x-extra': 'new' } })))
  await app.sync(file(onFirst({ description: 'New', apiKey: 'new-key', headers: { 'x-extra': 'new' } })))

  expect((await sentSecrets()).first).toEqual(['Bearer key-of-admin and header-of-admin'])
  expect(await app.svc.rows('select description from mcp_servers')).toEqual([{ description: 'New' }])
  expect(warnings()).toBe(0)
})

test('a changed file is followed, and an unchanged one leaves the sealed secrets alone', async () => {
  const readSecretRows = () => app.svc.rows('select api_key, additional_config, updated_at from mcp_servers')
  await app.sync(file(onFirst({ headers: { 'x-extra': 'one' } })))
  const before = await readSecretRows()
  await app.sync(file(onFirst({ headers: { 'x-extra': 'one' } })))
  expect(await readSecretRows()).toEqual(before)

  await app.sync(file(onFirst({ apiKey: 'other-key', headers: { 'x-extra': 'two' } })))
  expect((await sentSecrets()).first).toEqual(['Bearer other-key and two'])
  await app.sync(file({ label: 'Tools', url: urlOf(first) }))
  expect((await sentSecrets()).first).toEqual(['no key'])
})

test('a secret that an administrator set stays with its address despite the file', async () => {
  await app.sync(file(onFirst()))
  await change({ apiKey: 'key-of-admin' })
  await app.sync(file(onSecond()))
  await app.sync(file(onSecond()))
  expect(await sentSecrets()).toEqual({ first: ['Bearer key-of-admin'], second: [] })
  expect(warnings()).toBe(1)
})

test("a new key of the file does not go to an administrator's address", async () => {
  await app.sync(file(onFirst()))
  await change({ url: urlOf(second), apiKey: 'key-of-file' })
  await app.sync(file(onFirst({ apiKey: 'new-key-of-file' })))
  expect(await sentSecrets()).toEqual({ first: [], second: ['Bearer key-of-file'] })
})

test('a server that moves in the file keeps its tools, and takes new secrets', async () => {
  await app.sync(file(onFirst()))
  await app.svc.host.mcp.sync()
  const tools = await app.svc.rows('select id, server_id from ai_tools')
  const [before] = await rows()
  await app.sync(file(onSecond({ apiKey: 'new-key' })))
  expect(await rows()).toEqual([{ ...before, url: urlOf(second) }])
  expect(await app.svc.rows('select id, server_id from ai_tools')).toEqual(tools)
  expect(await sentSecrets()).toEqual({ first: [], second: ['Bearer new-key'] })
})

test("an administrator's server keeps its key when the file names it without one", async () => {
  await admin.create('mcp-servers', { serverLabel: 'Mine', url: urlOf(first), apiKey: 'key-of-admin' })
  const unkeyed = { label: 'Tools', url: urlOf(first) }
  await app.sync(file(unkeyed))
  await app.sync(file(unkeyed))
  expect(await rows()).toMatchObject([{ label: 'Tools' }])
  expect((await sentSecrets()).first).toEqual(['Bearer key-of-admin'])
})

test('an address at which an administrator has put another server stops no synchronisation', async () => {
  await app.sync(file(onFirst()))
  await change({ url: urlOf(second), apiKey: null })
  await app.sync(file(onFirst(), onSecond({ label: 'Second' }), { label: 'Third', url: 'http://127.0.0.1:9/mcp' }))
  expect((await rows()).map(({ label, url }) => [label, url])).toEqual([
    ['Tools', urlOf(second)],
    ['Third', 'http://127.0.0.1:9/mcp'],
  ])
  expect(app.svc.log.join()).toMatch(/led another one to its address/)
})

test('the models of a tool that its server no longer offers are announced', async () => {
  await app.sync({ ...file(onFirst()), providers: [buildProvider('p', [buildModel('equipped'), buildModel('other')])] })
  await app.svc.host.mcp.sync()
  const [tool] = await app.svc.rows<{ id: number }>('select id from ai_tools')
  const [model] = await app.svc.rows<{ id: number }>(`select id from ai_models where model_id = 'equipped'`)
  const links = `/ai-tools/${tool?.id}/relationships/models`
  await admin.send('POST', links, toMany('ai-models', [model?.id ?? 0]))
  const listChanges = () =>
    app.svc.rows<object>("select kind, subject from change_log where stream = 'all' order by seq")
  const before = (await listChanges()).length
  const { tools } = first as ToolServer
  Object.assign(first as ToolServer, { tools: [] })

  await app.svc.host.mcp.sync()

  Object.assign(first as ToolServer, { tools })
  expect((await listChanges()).slice(before)).toEqual([
    { kind: 'ai-models.updated', subject: `${model?.id}` },
    { kind: 'ai-tools.deleted', subject: `${tool?.id}` },
  ])
})

test('changes of servers and their tools are announced, whoever makes them', async () => {
  const all = () => app.svc.rows<{ kind: string }>("select kind from change_log where stream = 'all' order by seq")
  let before = (await all()).length
  const takeKinds = async () => {
    const kinds = (await all()).slice(before).map(({ kind }) => kind)
    before += kinds.length
    return kinds
  }
  await app.sync(file(onFirst()))
  expect(await takeKinds()).toEqual(['mcp-servers.created'])
  await app.sync(file(onFirst()))
  expect(await takeKinds()).toEqual([])
  await app.svc.host.mcp.sync()
  expect(await takeKinds()).toEqual(['mcp-servers.updated', 'ai-tools.created'])
  const [tool] = await app.svc.host.mcp.tools()
  await app.svc.host.mcp.approve({ name: tool?.name ?? '', hash: tool?.hash ?? '' })
  expect(await takeKinds()).toEqual(['ai-tools.updated'])
  await app.svc.changeCatalogue(`update mcp_servers set protocol_version = '2025-03-26'`)
  await app.svc.host.mcp.check()
  expect(await takeKinds()).toEqual(['mcp-servers.updated'])
  await app.svc.changeCatalogue(`update mcp_servers set status = 'offline'`)
  await app.svc.host.mcp.check()
  // A tool has its server's status, so it changes with the server.
  expect(await takeKinds()).toEqual(['mcp-servers.updated', 'ai-tools.updated'])
  await app.svc.host.mcp.check()
  expect(await takeKinds()).toEqual([])
  const [{ id = 0 } = {}] = await app.svc.rows<{ id: number }>('select id from ai_tools')
  await admin.update('ai-tools', id, { active: false })
  await admin.send('POST', `/ai-tools/${id}/relationships/models`, { data: [] })
  expect(await takeKinds()).toEqual(['ai-tools.updated', 'ai-tools.updated'])
  await app.sync(file())
  expect(await takeKinds()).toEqual(['ai-tools.deleted', 'mcp-servers.deleted'])
  await app.sync(file(onFirst()))
  await app.svc.host.mcp.sync()
  await takeKinds()
  const [server] = await app.svc.rows<{ id: number }>('select id from mcp_servers')
  await admin.delete(`/mcp-servers/${server?.id}`)
  expect(await takeKinds()).toEqual(['mcp-servers.deleted', 'ai-tools.deleted'])
  const { one } = await admin.create('mcp-servers', { serverLabel: 'Mine', url: urlOf(first) })
  await change({ description: 'Other' })
  await admin.delete(`/mcp-servers/${one.id}`)
  expect(await takeKinds()).toEqual(['mcp-servers.created', 'mcp-servers.updated', 'mcp-servers.deleted'])
})

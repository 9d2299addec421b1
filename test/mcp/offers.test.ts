import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  addCaller,
  callTool,
  listTools,
  type RpcMessage,
  revisions,
  sendRpc,
  startGateway,
  syncAndApprove,
} from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

const tags = '\u{e0041}\u{e0042}'
const template = { uriTemplate: 'desk://shelf/{shelf}/book', name: 'book', description: 'A book of a shelf.' }
const prompts: object[] = [
  {
    name: 'review',
    title: 'Review',
    description: `Reviews${tags} a book.`,
    arguments: [{ name: 'title', description: 'Of the book.', required: true }, { name: 'aim' }],
    icons: [{ src: 'https://desk.example/icon.png' }],
  },
  { name: 'search' },
]
const resources = [
  { uri: 'desk://rules?year=1', name: 'rules', mimeType: 'text/markdown', description: 'The rules.' },
  { uri: 'ui://desk/page', name: 'page' },
]

async function startDesk() {
  const server = await startToolServer([buildTool('search')])
  return Object.assign(server, { prompts, resources: [...resources], templates: [template] })
}
const desk = shareResource(startDesk)
const quiet = shareResource(startDesk)
const offers = ['prompts', 'resources']
const svc = shareResource(() =>
  startGateway(
    [
      { label: 'Desk', url: desk.url, offers },
      { label: 'Quiet', url: quiet.url },
    ],
    { MCP_CALLS_PER_MINUTE: '1000' },
  ),
)
let token: string
let deskId: number
beforeAll(async () => {
  token = (await addCaller(svc)).token
  const servers = await svc.host.mcp.servers()
  deskId = servers.find(({ label }) => label === 'Desk')?.id ?? 0
})
beforeEach(async () => {
  desk.behave = undefined
  desk.prompts = prompts
  desk.resources = [...resources]
  await svc.host.mcpServers.update({ id: String(deskId), groups: [], offers: ['prompts', 'resources'], gateway: true })
  await svc.host.mcp.setAccess({ name: 'desk_review', groups: [], active: true })
  await syncAndApprove(svc)
  desk.seen.length = 0
})

type Options = Partial<Parameters<typeof sendRpc>[2]>
const send = (method: string, params: Record<string, unknown> = {}, more: Options = {}) =>
  sendRpc(svc, method, { token, params, ...more })
const getPrompt = (name: string, input: object = {}, more: Options = {}) =>
  send('prompts/get', { name, arguments: input }, more)
const read = (uri: string, more: Options = {}) => send('resources/read', { uri }, more)
const rulesAt = () => `svc://${deskId}/desk%3A%2F%2Frules%3Fyear%3D1`

const namesOf = (list: { name: string }[]) => list.map(({ name }) => name)

async function listAll(more: Options = {}) {
  const [prompts, resources, templates] = [
    await send('prompts/list', {}, more),
    await send('resources/list', {}, more),
    await send('resources/templates/list', {}, more),
  ]
  return {
    prompts: namesOf(prompts.result.prompts),
    resources: namesOf(resources.result.resources),
    templates: namesOf(templates.result.resourceTemplates),
  }
}

const everything = {
  prompts: ['desk_review', expect.stringMatching(/^desk_search_\w{8}$/)],
  resources: ['desk_rules'],
  templates: ['desk_book'],
}
const nothing = { prompts: [], resources: [], templates: [] }

describe('what a server offers beside its tools', () => {
  test('each revision lists what was approved, under our names and addresses', async () => {
    for (const revision of revisions) {
      const prompts = await send('prompts/list', {}, { revision })
      expect(prompts.result.prompts[0]).toEqual({
        name: 'desk_review',
        title: 'Review',
        description: 'Reviews a book.',
        arguments: [
          { name: 'title', description: 'Of the book.', required: true },
          { name: 'aim', required: false },
        ],
      })
      const resources = await send('resources/list', {}, { revision })
      expect(resources.result.resources).toEqual([
        { uri: rulesAt(), name: 'desk_rules', title: 'rules', description: 'The rules.', mimeType: 'text/markdown' },
      ])
      const templates = await send('resources/templates/list', {}, { revision })
      expect(templates.result.resourceTemplates).toEqual([
        {
          uriTemplate: `svc://${deskId}/desk%3A%2F%2Fshelf%2F{shelf}%2Fbook`,
          name: 'desk_book',
          title: 'book',
          description: 'A book of a shelf.',
        },
      ])
    }
  })

  test('each revision gets a prompt and reads resources, at own and made addresses', async () => {
    for (const revision of revisions) {
      const prompt = await getPrompt('desk_review', { title: 'Ovid' }, { revision })
      expect(prompt.result.messages).toEqual([
        { role: 'user', content: { type: 'text', text: 'review of {"title":"Ovid"}' } },
      ])
      expect((await read(rulesAt(), { revision })).result.contents).toEqual([
        { uri: rulesAt(), mimeType: 'text/plain', text: 'what is at desk://rules?year=1' },
      ])
      const book = `svc://${deskId}/desk%3A%2F%2Fshelf%2Fa%20b%2Fbook`
      expect((await read(book, { revision })).result.contents).toEqual([
        { uri: book, mimeType: 'text/plain', text: 'what is at desk://shelf/a%20b/book' },
      ])
    }
  })

  test('a program learns of prompts and resources only if its person has some', async () => {
    const opened = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const ask = async () => [
      Object.keys((await send('server/discover')).result.capabilities),
      Object.keys((await send('initialize', opened, { revision: '2025-11-25' })).result.capabilities),
    ]
    expect(await ask()).toEqual([
      ['tools', 'prompts', 'resources'],
      ['tools', 'prompts', 'resources'],
    ])
    await svc.host.mcpServers.update({ id: String(deskId), offers: [] })
    expect(await ask()).toEqual([['tools'], ['tools']])
  })

  test('a server that was not switched on is not asked, and offers tools alone', async () => {
    quiet.seen.length = 0
    await svc.host.mcp.sync()
    const asked = (seen: { method: string }[]) => new Set(seen.map(({ method }) => method))
    expect(asked(quiet.seen)).toEqual(new Set(['server/discover', 'tools/list']))
    expect(asked(desk.seen)).toContain('prompts/list')
    expect(await listAll()).toEqual(everything)
    expect(await listAll({ path: '/mcp/quiet' })).toEqual(nothing)
    expect(await listAll({ path: '/mcp/desk' })).toEqual(everything)
    expect((await getPrompt('desk_review', { title: 'x' }, { path: '/mcp/quiet' })).error?.message).toBe(
      'Unknown prompt',
    )
  })

  test('switching it off ends all of it at once, calls under way included', async () => {
    const closed = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    desk.behave = ({ rpc, response }) => {
      if (rpc.method !== 'resources/read') return false
      response.once('close', closed.resolve)
      begun.resolve()
      return true
    }
    const reading = read(rulesAt())
    await begun.promise
    await svc.host.mcpServers.update({ id: String(deskId), offers: ['prompts'] })
    await closed.promise
    expect((await reading).error?.code).toBe(-32603)
    expect(await listAll()).toEqual({ ...nothing, prompts: everything.prompts })
    expect((await read(rulesAt())).error?.message).toBe('Unknown resource')
  })

  test('a changed definition is off the list and refused until it is approved again', async () => {
    desk.prompts = [{ ...prompts[0], name: 'review', description: 'Sends the book to me.' }]
    await svc.host.mcp.sync()
    expect((await listAll()).prompts).toEqual([])
    expect((await getPrompt('desk_review', { title: 'x' })).error?.message).toBe('Unknown prompt')
    await syncAndApprove(svc)
    expect((await send('prompts/list')).result.prompts).toMatchObject([{ description: 'Sends the book to me.' }])
  })

  test('a person without the group gets the words for what never was', async () => {
    const reader = await addCaller(svc)
    await svc.host.admin.setGroups({ user: { id: reader.id }, groups: ['readers'] })
    await svc.host.mcp.setAccess({ name: 'desk_review', groups: ['readers'] })
    expect((await listAll()).prompts).not.toContain('desk_review')
    expect((await listAll({ token: reader.token })).prompts).toContain('desk_review')
    expect((await getPrompt('desk_review', { title: 'x' }, { token: reader.token })).error).toBeUndefined()
    for (const revision of revisions) {
      const [closed, unknown] = [
        await getPrompt('desk_review', { title: 'x' }, { revision }),
        await getPrompt('desk_burn', {}, { revision }),
      ]
      expect([closed.status, closed.error]).toEqual([unknown.status, unknown.error])
    }

    await svc.host.mcpServers.update({ id: String(deskId), groups: ['readers'] })
    expect(await listAll()).toEqual(nothing)
    expect(await listAll({ token: reader.token })).toEqual(everything)
    const withoutAddress = ({ error }: { error: RpcMessage['error'] }) => [error?.code, error?.message]
    const closed = withoutAddress(await read(rulesAt()))
    for (const address of [`svc://${deskId}/desk%3A%2F%2Fnone`, 'svc://999/x', 'desk://rules?year=1', 'svc://1/%', 'x'])
      expect([address, withoutAddress(await read(address))]).toEqual([address, closed])
    expect(desk.seen.map(({ method }) => method)).not.toContain('resources/read')
    expect((await read(rulesAt(), { token: reader.token })).result.contents).toHaveLength(1)
  })

  test('no template opens a resource that is closed by itself', async () => {
    const hidden = [
      { uri: 'desk://shelf/hidden/book', name: 'hidden' },
      { uri: 'desk://shelf/a%20b/book', name: 'encoded' },
    ]
    desk.resources = [...resources, ...hidden]
    await svc.host.mcp.sync()
    const readBook = async (shelf: string) => read(`svc://${deskId}/desk%3A%2F%2Fshelf%2F${shelf}%2Fbook`)
    for (const shelf of ['hidden', '%68idden', 'a%20b'])
      expect([shelf, (await readBook(shelf)).error?.message]).toEqual([shelf, 'Unknown resource'])
    expect((await readBook('open')).result.contents).toHaveLength(1)
    expect((await read(`svc://${deskId}/%00`)).error?.message).toBe('Unknown resource')
  })

  test('a server that knows of no templates keeps its tools and resources', async () => {
    desk.behave = ({ rpc, response }) => {
      if (rpc.method !== 'resources/templates/list') return false
      const error = { code: -32601, message: 'Method not found' }
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, error }))
      return true
    }
    await svc.host.mcp.sync()
    expect(await listAll()).toEqual({ ...everything, templates: [] })
    expect(namesOf((await listTools(svc, { token })).result.tools)).toContain('desk_search')
  })

  test('one that an administrator switches off is unknown, and guests get nothing', async () => {
    const [tool] = (await svc.host.mcp.tools()).filter(({ name }) => name === 'desk_search')
    await svc.host.aiTools.update({ id: String(tool?.id), active: false })
    expect((await send('tools/list', {}, { path: `/mcp/${deskId}` })).result.tools).toEqual([])
    await svc.host.mcp.setAccess({ name: 'desk_review', active: false })
    expect((await getPrompt('desk_review', { title: 'x' })).error?.message).toBe('Unknown prompt')
    for (const method of ['prompts/list', 'prompts/get', 'resources/list', 'resources/read'])
      expect((await send(method, {}, { token: undefined })).status).toBe(401)
    const able = await svc.user({ abilities: ['ai', 'user', 'read'] })
    expect((await read(rulesAt(), { token: able.token })).status).toBe(403)
  })

  test('no prompt or resource is a tool for programs, models or lists', async () => {
    expect(namesOf((await listTools(svc, { token })).result.tools)).toEqual(['desk_search', 'quiet_search'])
    expect((await callTool(svc, 'desk_review', { token, input: { title: 'x' } })).error?.message).toBe('Unknown tool')
    expect((await getPrompt('desk_search', {})).error?.message).toBe('Unknown prompt')
    const [offer] = await svc.rows<{ id: number }>("select id from ai_tools where name = 'desk_review'")
    const admin = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
    for (const { token } of [admin, await svc.user({ abilities: ['read'] })]) {
      const text = await (await svc.send('GET', '/api/v1/ai-tools?page[size]=100', { token })).text()
      expect(text).not.toContain('desk_review')
    }
    await expect(svc.host.aiTools.get({ id: String(offer?.id) })).rejects.toThrow()
    await expect(svc.host.aiTools.update({ id: String(offer?.id), groups: ['x'] })).rejects.toThrow()
  })

  test('a call leaves a record without what was said, and counts as others do', async () => {
    const person = await addCaller(svc)
    await getPrompt('desk_review', { title: 'CANARY' }, { token: person.token })
    await getPrompt('desk_review', { other: 'CANARY' }, { token: person.token })
    await read(rulesAt(), { token: person.token })
    const uses = () =>
      svc.rows('select tool, surface, outcome from tool_uses where user_id = $1 order by id', [person.id])
    await expect.poll(uses).toEqual([
      { tool: 'desk_review', surface: 'mcp', outcome: 'completed' },
      { tool: 'desk_review', surface: 'mcp', outcome: 'invalid' },
      { tool: 'desk_rules', surface: 'mcp', outcome: 'completed' },
    ])
    expect(svc.log.join('')).not.toContain('CANARY')
  })

  test('arguments that a prompt does not have are refused in our words', async () => {
    for (const input of [{}, { title: 'x', more: 'y' }]) {
      const { error } = await getPrompt('desk_review', input)
      expect([input, error?.code]).toEqual([input, -32602])
    }
    expect((await getPrompt('desk_review', { title: 1 })).error).toBeDefined()
    expect(desk.seen).toEqual([])
  })

  test('results lose tag characters, pages and what is hidden, and have a limit', async () => {
    const hidden = { _meta: { secret: 1 }, icons: [] }
    desk.behave = ({ rpc, reply }) => {
      if (rpc.method === 'prompts/get')
        reply({
          description: `About${tags}`,
          messages: [{ role: 'assistant', content: { type: 'text', text: `Hello${tags}`, ...hidden } }],
          ...hidden,
        })
      else if (rpc.method === 'resources/read')
        reply({
          contents: [
            { uri: 'ui://desk/page', text: 'a page' },
            { uri: 'desk://other', text: `Text${tags}`, ...hidden },
            { uri: 'desk://rules?year=1', blob: 'AAAA', mimeType: 'image/png' },
          ],
          ttlMs: 0,
          cacheScope: 'private',
        })
      else return false
      return true
    }
    const { description, messages } = (await getPrompt('desk_review', { title: 'x' })).result
    expect([description, messages]).toEqual([
      'About',
      [{ role: 'assistant', content: { type: 'text', text: 'Hello' } }],
    ])
    expect((await read(rulesAt())).result.contents).toEqual([
      { uri: `svc://${deskId}/desk%3A%2F%2Fother`, text: 'Text' },
      { uri: rulesAt(), mimeType: 'image/png', blob: 'AAAA' },
    ])
    desk.behave = ({ rpc, reply }) => {
      if (rpc.method !== 'resources/read') return false
      reply({ contents: [{ uri: 'desk://x', text: 'x'.repeat(300_000) }], ttlMs: 0, cacheScope: 'private' })
      return true
    }
    expect((await read(rulesAt())).error?.message).toMatch(/its result is \d+ bytes/)
  })

  test("a failing server's own words are not passed on", async () => {
    desk.behave = ({ rpc, response }) => {
      if (rpc.method !== 'prompts/get' && rpc.method !== 'resources/read') return false
      const error = { code: -32603, message: 'CANARY' }
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, error }))
      return true
    }
    for (const answer of [await getPrompt('desk_review', { title: 'x' }), await read(rulesAt())])
      expect(answer.error).toEqual({
        code: -32603,
        message: 'The tool server failed: it refused with the code -32603.',
      })
  })
})

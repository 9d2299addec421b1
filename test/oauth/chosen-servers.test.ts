import { beforeEach, expect, test } from 'vitest'
import { buildQuestion, callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { signIn } from '../kit/browser.ts'
import { syncAndApprove } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { signInProgram, startOAuth } from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const ALL = ['archive_find', 'closed_find', 'library_find']

const upstream = shareResource(startProvider)
const server = shareResource(() => startToolServer([buildTool('find')]))
const config = shareResource(() => {
  const mcpServers = ['Archive', 'Library', 'Closed'].map((label) => ({
    label,
    url: `${server.url}?${label}`,
    gateway: label !== 'Closed',
  }))
  return writeConfig(upstream.url, { model: { tools: ALL }, more: { mcpServers } })
})
const svc = shareResource(async () => {
  const app = await startOAuth({ OAUTH_ABILITIES: 'mcp,ai', AI_CONFIG: config.file })
  await syncAndApprove(app)
  return app
})
beforeEach(() => {
  server.seen.length = 0
})

const findServer = async (wanted: string): Promise<number> =>
  (await svc.host.mcp.servers()).find(({ label }) => label === wanted)?.id ?? 0

const questions = [
  ['/api/ai-req', buildQuestion()],
  ['/v1/chat/completions', { model: 'mock-1', messages: [{ role: 'user', content: 'Hello' }] }],
] as const

/** Asks a model, which tries to call the tool of a server; returns the tools that it was offered, and the calls that came. */
async function ask(token: string, [path, body]: (typeof questions)[number], label: string) {
  upstream.requests.length = 0
  server.seen.length = 0
  upstream.behave = callsTool(`${label}_find`, '{"text":"hi"}')
  expect((await svc.send('POST', path, { token, body })).status).toBe(200)
  const offered = (upstream.requests[0]?.body.tools ?? []) as { function: { name: string } }[]
  const calls = server.seen.filter(({ method }) => method === 'tools/call').length
  return { offered: offered.map((tool) => tool.function.name).toSorted(), calls }
}

test('models that a program asks call only tools of the chosen servers', async () => {
  const { browser, id } = await signIn(svc, 'ada')
  const library = await findServer('Library')
  const signInFor = async (scope: string, servers: number[] | null) =>
    (await signInProgram(svc, browser, { servers, parameters: { scope } })).tokens.access_token
  const own = (await svc.host.tokens.createFor({ user: { id }, name: 'own', abilities: ['ai'] })).token
  const tokens = [
    { token: await signInFor('mcp ai', [library]), offered: ['library_find'] },
    { token: await signInFor('mcp ai', null), offered: ['archive_find', 'library_find'] },
    { token: await signInFor('ai', null), offered: [] },
    { token: own, offered: ALL },
  ]

  for (const { token, offered } of tokens)
    for (const question of questions)
      for (const label of ['archive', 'closed', 'library']) {
        const calls = Number(offered.includes(`${label}_find`))
        expect([label, await ask(token, question, label)]).toEqual([label, { offered, calls }])
      }
})

test('a server that is closed to programs ends calls of their models', async () => {
  const { browser } = await signIn(svc, 'bob')
  const { tokens } = await signInProgram(svc, browser, { parameters: { scope: 'mcp ai' } })
  const id = String(await findServer('Archive'))
  const called = Promise.withResolvers<void>()
  server.behave = async ({ rpc }) => {
    if (rpc.method !== 'tools/call') return false
    called.resolve()
    return true
  }
  try {
    const asked = ask(tokens.access_token, questions[0], 'archive')
    await called.promise
    await svc.host.mcpServers.update({ id, gateway: false })
    await asked
    expect(upstream.requests.at(-1)?.body.messages.at(-1)?.content).toContain('may not be called any more')
  } finally {
    server.behave = undefined
    await svc.host.mcpServers.update({ id, gateway: true })
  }
})

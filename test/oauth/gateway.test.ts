import { expect, test } from 'vitest'
import { signIn, type TestBrowser } from '../kit/browser.ts'
import { newName } from '../kit/identity/people.ts'
import { callTool, listTools, sendRpc, startGateway } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import {
  buildQuery,
  callFromPage,
  chooseAddress,
  makeVerifier,
  registerProgram,
  showRequest,
  signInProgram,
} from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const library = shareResource(() => startToolServer([buildTool('search')]))
const archive = shareResource(() => startToolServer([buildTool('find')]))
const svc = shareResource(async () =>
  startGateway(
    [
      { label: 'Library', url: library.url },
      { label: 'Archive', url: archive.url },
    ],
    await chooseAddress(),
  ),
)

const namesOf = async (token: string, path = '/mcp') => {
  const { status, result } = await listTools(svc, { token, path })
  return status === 200 ? result.tools.map(({ name }: { name: string }) => name) : status
}

test('without a token the gateway says where to sign in', async () => {
  for (const path of ['/mcp', '/mcp/library']) {
    const { status, headers } = await sendRpc(svc, 'tools/list', { token: undefined, path })
    const metadata = `${svc.url}/.well-known/oauth-protected-resource${path}`
    expect([status, headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer scope="mcp", resource_metadata="${metadata}"`,
    ])
    expect(await (await fetch(metadata)).json()).toMatchObject({ resource: svc.url + path })
  }
})

test('a program calls the tools of the servers that its person chose', async () => {
  const { browser } = await signIn(svc, 'ada')
  const query = buildQuery({ clientId: await registerProgram(svc), verifier: makeVerifier() })
  const { data } = await showRequest(browser, query)
  const servers = data?.view?.['servers'] as { id: number; label: string }[]
  expect(servers.map(({ label }) => label)).toEqual(['Archive', 'Library'])

  const all = await signInProgram(svc, browser)
  const chosen = await signInProgram(svc, browser, { servers: [servers[0]?.id ?? 0, 999] })
  const none = await signInProgram(svc, browser, { servers: [] })

  expect(await namesOf(all.tokens.access_token)).toEqual(['archive_find', 'library_search'])
  expect(await namesOf(chosen.tokens.access_token)).toEqual(['archive_find'])
  expect(await namesOf(none.tokens.access_token)).toEqual([])
  const { result, error } = await callTool(svc, 'library_search', { token: chosen.tokens.access_token, input: {} })
  expect([result, error?.message]).toEqual([undefined, 'Unknown tool'])
  const { data: grants } = await callFromPage(browser, 'oauth.grants')
  expect((grants as { servers: unknown }[]).map(({ servers }) => servers)).toEqual([
    null,
    [{ id: servers[0]?.id, label: 'Archive' }],
    [],
  ])
})

test('a program that signed in for one server has no access to the others', async () => {
  const { browser } = await signIn(svc, 'bob')
  const signInFor = async (resource: string) => {
    const { tokens } = await signInProgram(svc, browser, { parameters: { resource }, servers: [] })
    return tokens.access_token
  }
  const token = await signInFor(`${svc.url}/mcp/library`)
  const elsewhere = await signInFor(`${svc.url}/mcp/unknown`)

  expect(await namesOf(token, '/mcp/library')).toEqual(['library_search'])
  expect(await namesOf(token, '/mcp/library/')).toEqual(['library_search'])
  expect([await namesOf(token), await namesOf(token, '/mcp/archive'), await namesOf(token, '/mcp/library2')]).toEqual([
    401, 401, 401,
  ])
  expect(await namesOf(elsewhere, '/mcp/library')).toBe(401)
  const { headers } = await sendRpc(svc, 'tools/list', { token })
  expect(headers.get('www-authenticate')).toContain(
    `resource_metadata="${svc.url}/.well-known/oauth-protected-resource/mcp"`,
  )
})

const endGrant = async (browser: TestBrowser) => {
  const { data } = await callFromPage(browser, 'oauth.grants')
  const [grant] = data as { id: number }[]
  await callFromPage(browser, 'oauth.endGrant', { id: grant?.id })
}

test.each([
  ['the end of its access', endGrant],
  ['signing out everywhere', (browser: TestBrowser) => callFromPage(browser, 'sessions.logoutEverywhere', {})],
] as const)('%s ends what a program has under way', async (_, end) => {
  const { browser } = await signIn(svc, newName())
  const { tokens } = await signInProgram(svc, browser)
  const called = Promise.withResolvers<void>()
  library.behave = async ({ rpc }) => {
    if (rpc.method !== 'tools/call') return false
    called.resolve()
    return true
  }
  const call = callTool(svc, 'library_search', { token: tokens.access_token, input: { text: 'Ovid' } }).then(
    ({ status, result }) => ({ status, result }),
    () => 'closed',
  )
  await called.promise

  await end(browser)

  expect(await call).not.toMatchObject({ result: { content: [{ text: expect.stringContaining('Ovid') }] } })
  library.behave = undefined
  expect(await namesOf(tokens.access_token)).toBe(401)
})

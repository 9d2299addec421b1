import { expect, test } from 'vitest'
import { writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { addCaller, listTools, startGateway, syncAndApprove } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

const library = shareResource(() => startToolServer([buildTool('search')]))
const archive = shareResource(() => startToolServer([buildTool('search')]))
const SUFFIXED = expect.stringMatching(/^lab_search_[0-9a-f]{8}$/)

type Replica = Awaited<ReturnType<typeof startApp>>
type Gateway = Awaited<ReturnType<typeof startGateway>>

/** Starts the service of a gateway once more, with other tool servers in its file. */
async function restart(svc: Gateway, mcpServers: readonly object[]) {
  await using startup = new AsyncDisposableStack()
  const config = startup.use(await writeConfig(svc.upstream.url, { more: { mcpServers } }))
  const replica = startup.use(await startApp({ DATABASE_URL: svc.env.DATABASE_URL ?? '', AI_CONFIG: config.file }))
  await replica.host.models.sync()
  const resources = startup.move()
  return Object.assign(replica, { [Symbol.asyncDispose]: () => resources.disposeAsync() })
}

/** Reads the tools of all servers; returns the names that a program is offered. */
async function readNames(svc: Pick<Replica, 'url' | 'host'>, token: string): Promise<string[]> {
  await syncAndApprove(svc)
  return (await listTools(svc, { token })).result.tools.map(({ name }: { name: string }) => name)
}

test('equal tools of two servers get two names, which restarts and labels keep', async () => {
  const servers = [
    { label: 'Lab', url: library.url },
    { label: 'LAB', url: archive.url },
  ]
  await using svc = await startGateway(servers)
  const { token } = await addCaller(svc)
  const before = await readNames(svc, token)
  expect(before).toEqual(['lab_search', SUFFIXED])
  for (const name of before) expect(name).toMatch(/^[A-Za-z0-9_-]{1,50}$/)
  await using restarted = await restart(svc, [
    { label: 'Other', url: library.url },
    { label: 'Another', url: archive.url },
  ])
  expect(await readNames(restarted, token)).toEqual(before)
})

test('the name of a removed tool is kept for 30 days, for itself', async () => {
  library.tools = [buildTool('search')]
  await using svc = await startGateway([{ label: 'Lab', url: library.url }])
  const { token } = await addCaller(svc)
  library.tools = []
  expect(await readNames(svc, token)).toEqual([])
  await svc.rows(`insert into mcp_servers (server_label, url) values ('LAB', '${archive.url}')`)
  expect(await readNames(svc, token)).toEqual([SUFFIXED])
  library.tools = [buildTool('search')]
  expect(await readNames(svc, token)).toEqual(['lab_search', SUFFIXED])
  library.tools = []
  expect(await readNames(svc, token)).toEqual([SUFFIXED])
  await svc.rows("update freed_tool_names set freed_at = freed_at - interval '31 days'")
  await svc.rows(`insert into mcp_servers (server_label, url) values ('Lab', '${archive.url}?third')`)
  expect(await readNames(svc, token)).toEqual(['lab_search', SUFFIXED])
})

test('names of a server deleted over the API come back with it alone', async () => {
  library.tools = [buildTool('search')]
  await using svc = await startGateway([])
  const { token } = await addCaller(svc)
  for (const [label, url, names] of [
    ['Lab', library.url, ['lab_search']],
    ['Lab', archive.url, [SUFFIXED]],
    ['Elsewhere', library.url, ['lab_search']],
  ] as const) {
    const { id } = await svc.host.mcpServers.create({ serverLabel: label, url })
    expect(await readNames(svc, token)).toEqual(names)
    await svc.host.mcpServers.delete({ id })
    expect(await readNames(svc, token)).toEqual([])
  }
})

test('names of a server that leaves the file come back with it alone', async () => {
  library.tools = [buildTool('search')]
  const lab = { label: 'Lab', url: library.url }
  await using svc = await startGateway([lab])
  const { token } = await addCaller(svc)
  for (const [servers, names] of [
    [[], []],
    [[{ label: 'Lab', url: archive.url }], [SUFFIXED]],
    [[{ label: 'Elsewhere', url: library.url }], ['lab_search']],
  ] as const) {
    await using restarted = await restart(svc, servers)
    expect(await readNames(restarted, token)).toEqual(names)
  }
})

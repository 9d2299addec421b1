import { beforeAll, expect, test } from 'vitest'
import type { TestUser } from '../kit/app.ts'
import { addCaller, callTool, listTools, startGateway } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

let ada: TestUser

const described = {
  title: 'Search \u{e0041}the library',
  outputSchema: { type: 'object', properties: { found: { type: 'integer' } } },
  annotations: { readOnlyHint: true, title: 'Unused', icons: [] },
}
const library = shareResource(() => startToolServer([buildTool('search', described)]))
const svc = shareResource(() => startGateway([{ label: 'Library', url: library.url }]))
beforeAll(async () => {
  ada = await addCaller(svc)
})

const findTool = async () => (await svc.host.mcp.tools())[0]
const approve = async () => svc.host.mcp.approve({ name: 'library_search', hash: (await findTool())?.hash ?? '' })
const list = async () => (await listTools(svc, { token: ada.token })).result.tools
const sync = async () => (await svc.host.mcp.sync())[0]

const plain = { name: 'library_search', description: 'Does search.', inputSchema: expect.any(Object) }
const full = {
  ...plain,
  title: 'Search the library',
  outputSchema: described.outputSchema,
  annotations: { readOnlyHint: true },
}

test("a tool's title, schema of results and hints are listed as approved", async () => {
  library.tools = [buildTool('search', described)]
  await sync()
  await approve()
  expect(await list()).toEqual([full])
  for (const changed of [{ title: 'Send all' }, { annotations: {} }, { outputSchema: { type: 'object' } }]) {
    library.tools = [buildTool('search', { ...described, ...changed })]
    expect(await sync()).toMatchObject({ changed: ['library_search'] })
    expect(await list()).toEqual([])
    expect((await callTool(svc, 'library_search', { token: ada.token, input: { text: 'a' } })).error).toBeDefined()
    await approve()
  }
  library.tools = [buildTool('search', { ...described, outputSchema: { type: 'object', title: 'x'.repeat(40_000) } })]
  await sync()
  await approve()
  const { outputSchema: _, ...rest } = full
  expect(await list()).toEqual([rest])
})

test('an approval without titles keeps the tool on, and a new one lists them', async () => {
  library.tools = [buildTool('search', described)]
  await sync()
  await approve()
  const older = (column: string) => `${column} - '{title,outputSchema,annotations}'::text[]`
  await svc.rows(`update ai_tools set approved = ${older('approved')}, mcp_config = ${older('mcp_config')}`)
  for (let round = 0; round < 2; round++) {
    expect(await sync()).toMatchObject({ removed: [], refused: [] })
    expect(await findTool()).toMatchObject({ active: true, isApproved: true, hasNewMembers: true })
    expect(await list()).toEqual([plain])
    const called = await callTool(svc, 'library_search', { token: ada.token, input: { text: 'a' } })
    expect(called.result).toMatchObject({ content: [{ text: 'done' }] })
  }
  library.tools = [buildTool('search', { ...described, title: 'Another title' })]
  await sync()
  expect(await findTool()).toMatchObject({ active: true, isApproved: true })
  await approve()
  expect(await findTool()).toMatchObject({ active: true, isApproved: true, hasNewMembers: false })
  expect(await list()).toEqual([{ ...full, title: 'Another title' }])
})

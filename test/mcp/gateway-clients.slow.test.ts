import { createRequire } from 'node:module'
import { createMCPClient } from '@ai-sdk/mcp'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { beforeAll, expect, test } from 'vitest'
import { addCaller, startGateway } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { shareResource } from '../kit/share-resource.ts'

const library = shareResource(() => startToolServer([buildTool('search')]))
const svc = shareResource(() => startGateway([{ label: 'Library', url: library.url }]))
let headers: { Authorization: string }
let url: string
beforeAll(async () => {
  headers = { Authorization: `Bearer ${(await addCaller(svc)).token}` }
  url = `${svc.url}/mcp`
})

const call = { name: 'library_search', arguments: { text: 'Ovid' } }
const DONE = [{ type: 'text', text: 'done' }]

test('the client of the AI SDK lists and calls a tool', async () => {
  const client = await createMCPClient({ transport: { type: 'http', url, headers }, protocolVersionDiscovery: true })
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['library_search'])
    expect(await client.callTool(call)).toMatchObject({ content: DONE })
  } finally {
    await client.close()
  }
})

test("the protocol's own client of before lists and calls a tool", async () => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as never)
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['library_search'])
    expect((await client.callTool(call)).content).toEqual(DONE)
  } finally {
    await client.close()
  }
})

test('LangChain gets the tools, and one of them answers', async () => {
  const client = new MultiServerMCPClient({ svc: { transport: 'http', url, headers } })
  try {
    const [tool, ...more] = await client.getTools()
    expect([tool?.name, more]).toEqual(['library_search', []])
    expect(await tool?.invoke({ text: 'Ovid' })).toBe('done')
  } finally {
    await client.close()
  }
})

test('a program that starts other programs lists and calls a tool by mcp-remote', async () => {
  const proxy = createRequire(import.meta.url).resolve('mcp-remote/dist/proxy.js')
  const client = new Client({ name: 'test', version: '1' })
  const args = [proxy, url, '--header', `Authorization: ${headers.Authorization}`, '--allow-http']
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }) as never)
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['library_search'])
    expect((await client.callTool(call)).content).toEqual(DONE)
  } finally {
    await client.close()
  }
})

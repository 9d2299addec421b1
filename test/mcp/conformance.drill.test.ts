import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type OutgoingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startConformanceServers } from '../kit/mcp/conformance-server.ts'
import { addCaller, startGateway } from '../kit/mcp/gateway.ts'
import { shareResource } from '../kit/share-resource.ts'

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))

const upstream = shareResource(startConformanceServers)
const svc = shareResource(() =>
  startGateway(upstream.servers, { MCP_CALLS_PER_MINUTE: '1000', MCP_CALLS_AT_ONCE: '16' }),
)

/** Starts a proxy to the gateway that adds a token, which the program cannot send, and keeps a foreign host or origin. */
async function startProxy(token: string) {
  const { host, hostname, port } = new URL(svc.url)
  const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>("select id from mcp_servers where server_label = 'test'")
  /** The gateway has addresses of its own for the resources of tool servers. */
  const toOwnAddress = (uri: string) => `svc://${id}/${encodeURIComponent(uri)}`
  const http = createServer(async (incoming, response) => {
    const { method, url, headers } = incoming
    const sent: OutgoingHttpHeaders = { ...headers, authorization: `Bearer ${token}` }
    if (headers.host === own) sent.host = host
    if (headers.origin === `http://${own}`) sent.origin = `http://${host}`
    const name = headers['mcp-name']
    if (String(name).startsWith('test://')) sent['mcp-name'] = toOwnAddress(String(name))
    const body = (await readText(incoming)).replace(/"uri":"(test:[^"]+)"/, (_, uri) => `"uri":"${toOwnAddress(uri)}"`)
    delete sent['content-length']
    const forwarded = request({ hostname, port, method, path: url, headers: sent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      response.once('close', () => answer.destroy())
    })
    forwarded.once('error', () => response.destroy()).end(body)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const own = `127.0.0.1:${(http.address() as AddressInfo).port}`
  return {
    url: `http://${own}/mcp`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((done) => http.close(done))
    },
  }
}

test.each(['2026-07-28', '2025-11-25'])('the requirements of %s hold, but for named checks', async (revision) => {
  const spare = (await svc.host.mcp.servers()).find(({ label }) => label === 'spare')?.id
  // More than one check wants a change.
  let isOn = true
  upstream.triggers['trigger_tool_change'] = () => {
    isOn = !isOn
    return svc.host.mcpServers.update({ id: String(spare), gateway: isOn })
  }
  upstream.triggers['trigger_prompt_change'] = () =>
    svc.host.mcp.setAccess({ name: 'test_spare_prompt', active: false })
  await using proxy = await startProxy((await addCaller(svc)).token)
  const expected = fileURLToPath(new URL(`conformance-${revision}.yaml`, import.meta.url))
  const options = ['--url', proxy.url, '--requirements', revision, '--expected-failures', expected]
  const run = spawn(process.execPath, [program, 'server', ...options], { cwd: tmpdir() })
  let output = ''
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk))
  const [code] = await once(run, 'close')
  expect(code, output).toBe(0)
})

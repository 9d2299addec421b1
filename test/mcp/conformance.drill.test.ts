import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
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
  const { hostname, port } = new URL(svc.url)
  const forward = ({ method, url, headers }: IncomingMessage, response: ServerResponse, host: string) => {
    const sent = { ...headers, host: headers.host === own ? host : headers.host, authorization: `Bearer ${token}` }
    const origin = headers.origin === `http://${own}` ? `http://${host}` : headers.origin
    return request({ hostname, port, method, path: url, headers: { ...sent, ...(origin && { origin }) } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      response.once('close', () => answer.destroy())
    }).once('error', () => response.destroy())
  }
  const http = createServer((incoming, response) => incoming.pipe(forward(incoming, response, new URL(svc.url).host)))
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
  await using proxy = await startProxy((await addCaller(svc)).token)
  const expected = fileURLToPath(new URL(`conformance-${revision}.yaml`, import.meta.url))
  const options = ['--url', proxy.url, '--requirements', revision, '--expected-failures', expected]
  const run = spawn(process.execPath, [program, 'server', ...options], { cwd: tmpdir() })
  let output = ''
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk))
  const [code] = await once(run, 'close')
  expect(code, output).toBe(0)
})

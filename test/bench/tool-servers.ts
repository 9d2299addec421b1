import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { servePart } from './serve.ts'

interface Input {
  toolsPerServer: number
}

interface Message {
  id?: number
  method: string
}

/** Tool servers that answer at once, each at a path of its own. */
servePart(async ({ toolsPerServer }: Input) => {
  const tools = Array.from({ length: toolsPerServer }, (_, index) => ({
    name: `find-${index}`,
    description: `Finds what the index ${index} has about a text, in the order of its relevance.`,
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string', maxLength: 200 }, count: { type: 'integer', minimum: 1, maximum: 50 } },
      required: ['text'],
    },
  }))
  const results: Record<string, object> = {
    'server/discover': {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'bench', version: '1' } },
    },
    'tools/list': { tools, ttlMs: 0, cacheScope: 'private' },
    'tools/call': { content: [{ type: 'text', text: 'found' }] },
  }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const { id, method } = (body ? JSON.parse(body) : { method: '' }) as Message
      const result = results[method]
      if (!result) return response.writeHead(202).end()
      response.writeHead(200, { 'content-type': 'application/json' })
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    ready: { url: `http://127.0.0.1:${port}` },
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
})

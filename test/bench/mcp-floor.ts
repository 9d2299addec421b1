import { createMcpHandler, Server, type Tool } from '@modelcontextprotocol/server'
import fastify, { type FastifyRequest } from 'fastify'
import { Pool } from 'undici'
import { servePart } from './serve.ts'

interface Input {
  /** The tools as the service lists them. */
  tools: Tool[]
  /** The tool server that is called. */
  toolServer: string
}

/** The library's handler alone: no token, no rights, no approval, no limits, no record, and one request to the tool server. */
servePart(async ({ tools, toolServer }: Input) => {
  const { origin, pathname: path } = new URL(toolServer)
  const upstream = new Pool(origin, { pipelining: 1 })
  const headers = { 'content-type': 'application/json' }
  const { fetch: answer } = createMcpHandler(() => {
    const server = new Server({ name: 'floor', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', async () => ({ tools }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      const response = await upstream.request({ method: 'POST', path, headers, body })
      const { result } = (await response.body.json()) as { result: { content: [] } }
      return { content: result.content }
    })
    return server
  })
  const app = fastify()
  app.post('/mcp', async (request, reply) => {
    const response = await answer(toWebRequest(request), { parsedBody: request.body })
    return reply
      .code(response.status)
      .type('application/json')
      .send(await response.text())
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { ready: { url }, stop: () => Promise.all([app.close(), upstream.close()]) }
})

const toWebRequest = ({ headers, url }: FastifyRequest) =>
  new Request(new URL(url, 'http://floor'), {
    method: 'POST',
    headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      name === 'accept' || name === 'content-type' || name.startsWith('mcp-') ? [[name, String(value)]] : [],
    ),
  })

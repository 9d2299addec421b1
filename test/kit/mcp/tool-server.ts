import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Rpc {
  id?: number
  method: string
  params?: { name?: string; uri?: string; cursor?: string; requestId?: number; arguments?: unknown }
}

export interface ToolServerRequest {
  rpc: Rpc
  request: IncomingMessage
  response: ServerResponse
  /** Answers with a result. */
  reply(result: object): void
}

/** Builds a tool's description. */
export const buildTool = (name: string, more: object = {}) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { text: { type: 'string', maxLength: 20 } }, required: ['text'] },
  ...more,
})

/**
 * A tool server of the stateless revision that behaves as a test tells it: by the method, or by what is said of `tools`.
 * Beside that it answers as it should.
 */
export async function startToolServer(tools: object[] = [buildTool('echo')]) {
  const server = {
    tools,
    /** The server offers these beside its tools. */
    prompts: [] as object[],
    resources: [] as object[],
    templates: [] as object[],
    behave: undefined as ((call: ToolServerRequest) => boolean | Promise<boolean>) | undefined,
    seen: [] as Rpc[],
  }
  const http = createServer(async (request, response) => {
    const rpc = await readRpc(request)
    server.seen.push(rpc)
    const call = { rpc, request, response, reply: createReply(rpc, response) }
    if (!(await server.behave?.(call))) answerCorrectly(call, server)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  return Object.assign(server, {
    url,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((done) => http.close(done))
    },
  })
}

async function readRpc(request: IncomingMessage): Promise<Rpc> {
  let text = ''
  for await (const part of request) text += part
  return text ? JSON.parse(text) : { method: request.method ?? '' }
}

const createReply = (rpc: Rpc, response: ServerResponse) => (result: object) => {
  const body = { jsonrpc: '2.0', id: rpc.id, result: { resultType: 'complete', ...result } }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

interface Offered {
  tools: object[]
  prompts: object[]
  resources: object[]
  templates: object[]
}

const fresh = { ttlMs: 0, cacheScope: 'private' }

const answers: Record<string, (offered: Offered, params: Rpc['params']) => object> = {
  'server/discover': () => discovered,
  'tools/list': ({ tools }) => ({ tools, ...fresh }),
  'prompts/list': ({ prompts }) => ({ prompts, ...fresh }),
  'resources/list': ({ resources }) => ({ resources, ...fresh }),
  'resources/templates/list': ({ templates }) => ({ resourceTemplates: templates, ...fresh }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }),
  'prompts/get': (_, { name, arguments: input } = {}) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `${name} of ${JSON.stringify(input)}` } }],
  }),
  'resources/read': (_, { uri } = {}) => ({
    contents: [{ uri, mimeType: 'text/plain', text: `what is at ${uri}` }],
    ...fresh,
  }),
}

function answerCorrectly({ rpc, response, reply }: ToolServerRequest, offered: Offered): void {
  const answer = answers[rpc.method]
  if (answer) reply(answer(offered, rpc.params))
  else response.writeHead(202).end()
}

const discovered = {
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {}, prompts: {}, resources: {} },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hostile', version: '6.6.6' } },
}

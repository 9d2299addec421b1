import { once } from 'node:events'
import { createServer, type IncomingMessage, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readBody } from '../kit/ai/provider.ts'

/** A request of a client, and what the service answered. */
export interface LoggedRequest {
  path: string
  status: number
  /** Names in `x-ignored-parameters`. */
  ignored: string[]
  /** Names of the tools that the request offers. */
  tools: string[]
  /** The body of a refusal. */
  refusal: string
}

/** Starts a proxy before the service, which logs the requests. */
export async function startRequestLog(target: string) {
  const requests: LoggedRequest[] = []
  const server = createServer(async (request, response) => {
    const body = await readBody(request)
    const { method, url: path = '', headers } = request
    const forwarded = sendRequest(new URL(path, target), { method, headers })
    forwarded.once('error', () => response.destroy())
    forwarded.once('response', (answer: IncomingMessage) => {
      const { statusCode: status = 0 } = answer
      const ignored = `${answer.headers['x-ignored-parameters'] ?? ''}`.split(', ').filter(Boolean)
      const entry = {
        path: path.replace(/\?.*/, ''),
        status,
        ignored,
        tools: listToolNames(readJson(body)),
        refusal: '',
      }
      requests.push(entry)
      response.writeHead(status, answer.headers)
      answer.pipe(response)
      if (status >= 400) answer.on('data', (part) => (entry.refusal += part))
    })
    response.once('close', () => forwarded.destroy())
    forwarded.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface ToolOnWire {
  type?: string
  name?: string
  function?: { name: string }
  tools?: ToolOnWire[]
}

/** Lists the names of all tools of a request to a model, wherever they stand; those of a namespace have both names. */
export function listToolNames(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return []
  const { tools = [], input } = body as { tools?: ToolOnWire[]; input?: unknown }
  const items = Array.isArray(input) ? (input as { tools?: ToolOnWire[] }[]) : []
  return [...tools, ...items.flatMap((item) => item?.tools ?? [])].flatMap(nameTools)
}

function nameTools(tool: ToolOnWire): string[] {
  const name = tool.name ?? tool.function?.name ?? tool.type ?? ''
  if (tool.type !== 'namespace') return [name]
  return (tool.tools ?? []).flatMap(nameTools).map((inner) => `${name}__${inner}`)
}

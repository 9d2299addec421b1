import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { type EventStore, StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { type JSONRPCMessage, ListRootsResultSchema } from '@modelcontextprotocol/sdk/types.js'

/** Keeps the events of all streams, so that each can be resumed. */
class EventLog implements EventStore {
  readonly #events: { id: string; streamId: string; message: JSONRPCMessage }[] = []

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = String(this.#events.length)
    this.#events.push({ id, streamId, message })
    return id
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send(id: string, message: JSONRPCMessage): Promise<void> },
  ): Promise<string> {
    const index = this.#events.findIndex(({ id }) => id === lastEventId)
    const streamId = this.#events[index]?.streamId ?? ''
    for (const event of this.#events.slice(index + 1)) {
      // A priming event has an empty message.
      if (event.streamId === streamId && 'jsonrpc' in event.message) await send(event.id, event.message)
    }
    return streamId
  }
}

/** Sends a request to the client, and returns its result or error as text. */
const requestRoots = async (send: () => Promise<unknown>) => {
  try {
    return JSON.stringify(await send())
  } catch (error) {
    return `the client refused with ${(error as { code?: number }).code}`
  }
}

function createTools() {
  const server = new McpServer({ name: 'sessions', version: '1.0.0' })
  const text = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  server.registerTool('slow', { description: 'Closes its stream, and answers later.' }, async ({ closeSSEStream }) => {
    closeSSEStream?.()
    await pause(50)
    return text('the answer came later')
  })
  server.registerTool('curious', { description: 'Asks within its own stream.' }, async ({ sendRequest }) =>
    text(await requestRoots(() => sendRequest({ method: 'roots/list' }, ListRootsResultSchema))),
  )
  server.registerTool('aside', { description: 'Asks in the stream of the server.' }, async () =>
    text(await requestRoots(() => server.server.listRoots())),
  )
  return server
}

/** Starts a server of the revision with sessions, by the protocol project's own library. */
export async function startSessionServer() {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const requests: string[] = []
  const http = createServer(async (request, response) => {
    requests.push(`${request.method}${request.headers['last-event-id'] === undefined ? '' : ' resumed'}`)
    const session = request.headers['mcp-session-id']
    let transport = typeof session === 'string' ? transports.get(session) : undefined
    if (!transport) {
      const created = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        eventStore: new EventLog(),
        retryInterval: 20,
        onsessioninitialized: (id) => void transports.set(id, created),
      })
      await createTools().connect(created as never)
      transport = created
    }
    await transport.handleRequest(request, response)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    requests,
    async [Symbol.asyncDispose]() {
      for (const transport of transports.values()) await transport.close()
      http.closeAllConnections()
      await new Promise((done) => http.close(done))
    },
  }
}

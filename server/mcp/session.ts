import { createMCPClient, type MCPClient, type MCPClientConfig, MCPClientError, type MCPTransport } from '@ai-sdk/mcp'
import { unlessEnded } from '../../routers/core/timeout.ts'
import type { ToolServer } from '../../routers/ports/ai/tool-servers.ts'
import { Wire } from './wire.ts'

/** How long a session may take to say good-bye. */
const CLOSING_MS = 2000

export interface SessionTimes {
  /** Of the whole session, in milliseconds. */
  total: number
  signal: AbortSignal
}

export interface SessionSource {
  server: Pick<ToolServer, 'url' | 'transport' | 'protocolVersion'>
  headers: Record<string, string>
  fetch: typeof globalThis.fetch
  /** Where it is a program of this host; who started it ends it. */
  program?: MCPTransport
}

/** The one revision without sessions, which is looked for first where nothing is known of a server. */
const STATELESS = '2026-07-28'

/**
 * Opens a session for one use and closes it: nothing of a person stays at the server for the next one, and any replica
 * can do it. Rejects when the connection breaks, the time is up or the signal ends, which is then told to the server.
 */
export async function withSession<T>(
  source: SessionSource,
  { total, signal }: SessionTimes,
  use: (client: MCPClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const broken = new AbortController()
  const ends = AbortSignal.any([signal, broken.signal, AbortSignal.timeout(total)])
  const wire = new Wire(source.fetch, source.server.transport)
  let client: MCPClient | undefined
  try {
    return await unlessEnded(async () => {
      const opened = await createMCPClient(configOf(source, { wire, signal: ends, broken }))
      client = opened
      return use(opened, ends)
    }, ends)
  } finally {
    const cancelled = ends.aborted ? wire.cancelCall() : Promise.resolve()
    void wire.close(
      cancelled.then(() => client?.close()),
      CLOSING_MS,
    )
  }
}

type Config = MCPClientConfig & { experimental_events?: never }

interface Parts {
  wire: Wire
  signal: AbortSignal
  broken: AbortController
}

const configOf = ({ server, headers, program }: SessionSource, { wire, signal, broken }: Parts): Config => ({
  transport: program ?? {
    type: server.transport === 'sse' ? 'sse' : 'http',
    url: server.url,
    headers,
    redirect: 'error',
    fetch: wire.fetch,
  },
  clientName: 'svc',
  protocolVersionDiscovery: server.protocolVersion === null || server.protocolVersion === STATELESS,
  initializationOptions: { signal },
  // The client wraps what it cannot read in an error class of its own; any other error is one of the connection.
  onUncaughtError: (error) => MCPClientError.isInstance(error) || broken.abort(error),
})

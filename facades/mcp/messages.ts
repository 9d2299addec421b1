import type { Api } from '../../routers/index.ts'

/** The members of a request that the gateway reads before the library does. */
interface Message {
  method?: unknown
  params?: unknown
}

/** True if the body is one message. Revisions with batches are answered message by message. */
export const isMessage = (body: unknown): body is Message =>
  typeof body === 'object' && body !== null && !Array.isArray(body)

type ToolCall = Parameters<Api['mcpGateway']['callTool']>[0]

/** Reads the call of a tool; undefined for another message, and for a call that the library will refuse. */
export function readToolCall({ method, params }: Message): ToolCall | undefined {
  if (method !== 'tools/call' || !isMessage(params)) return undefined
  const { name, arguments: input = {} } = params as Record<string, unknown>
  if (typeof name !== 'string' || !isMessage(input)) return undefined
  return { name, arguments: input as Record<string, unknown> }
}

import type { ToolDefinition } from '../../../entities/catalogue/ai-tool.ts'
import type { CallableServerRow } from '../../../entities/catalogue/mcp-server.sql.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'

export type ToolServer = DeepReadonly<CallableServerRow>

export interface ListedTool extends ToolDefinition {
  /** As the server calls it. */
  name: string
}

/** What a server says of itself. */
export interface ToolListing {
  version: string | null
  protocolVersion: string
  tools: ListedTool[]
  /** Tools that are not taken, with the reason in our words. */
  rejected: { name: string; reason: string }[]
}

export interface ToolCall {
  /** As the server calls it. */
  name: string
  input: Record<string, unknown>
  /** Who asked the model; servers are not told. */
  person: number
}

/** Servers of the Model Context Protocol. What they send is bounded; failures are told in our words, without theirs. */
export interface ToolServers {
  /** Throws `ToolServerError`. */
  listTools(server: ToolServer, signal?: AbortSignal): Promise<ToolListing>
  /** The result as a model is told it, or a `ToolFailure`. Throws `ToolServerError`; a signal that ends is told to the server. */
  call(server: ToolServer, call: ToolCall, signal: AbortSignal): Promise<unknown>
}

/** Why a call came to nothing, as a model is told it: a class, as a result may have a member `error` of its own. */
export class ToolFailure {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

export class ToolServerError extends Error {
  override name = 'ToolServerError'
}

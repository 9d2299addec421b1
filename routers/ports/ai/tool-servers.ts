import type { ToolDefinition, ToolKind } from '../../../entities/catalogue/ai-tool.ts'
import type { CallableServerRow } from '../../../entities/catalogue/mcp-server.sql.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'
import type { ProgramConfig } from './mcp-server-config.ts'

export type ToolServer = DeepReadonly<CallableServerRow>

export interface ListedTool extends ToolDefinition {
  kind: ToolKind
  /** The server's own name for it, or the address of a resource or template, which names it alone in its kind. */
  name: string
  /** The text from which our name is made, if that is another. */
  label?: string
}

/** The tools that a server lists, and what is taken of it beside them. */
export interface ToolListing {
  version: string | null
  protocolVersion: string
  tools: ListedTool[]
  /** Refused tools, with the reason in our words. */
  rejected: { name: string; reason: string }[]
}

/** A place among the calls that a server takes at once. It is free again once it is disposed. */
export interface CallPlace extends Disposable {
  /** The program of this host that is started for the call, if the server is one. */
  program?: { url: string; config: ProgramConfig }
}

export interface ToolServerCall {
  kind: ToolKind
  /** The server's own name for it. */
  name: string
  /** The arguments; of a resource, its address at the server as `uri`. */
  input: Record<string, unknown>
  /** The person for whom it is called; servers do not get it. */
  person: number
  /** Its place at the server, from `reserve`. */
  place: CallPlace
  /** Is called with what the server reports while it works. */
  onProgress?: ((progress: ToolProgress) => void) | undefined
}

/** A report of a call under way, in finite numbers of the server's own unit. They grow from report to report. */
export interface ToolProgress {
  progress: number
  total?: number
  /** At most 1,000 characters. */
  message?: string
}

/** A part of a result: a text, a picture, a sound, a link or a resource, in the members of the protocol. */
export interface ContentPart {
  type: string
  [member: string]: unknown
}

/** The result of a call as the server gave it, but without icons, `_meta` and hidden characters. */
export interface ServedResult {
  content: readonly ContentPart[]
  /** For a prompt, its `description` and `messages`; for a resource, its `contents`. */
  structuredContent?: unknown
  isError: boolean
}

/** MCP servers. Their responses have size limits; errors are reported in our words, without theirs. */
export interface ToolServers {
  /**
   * Lists the tools with the account of the person, if people have their own there. Throws `ToolServerError`, and
   * `AccountNeeded` if the server lists nothing without an account.
   */
  listTools(server: ToolServer, signal?: AbortSignal, person?: number): Promise<ToolListing>
  /**
   * Takes the place of a call of the person. Throws `ToolServerError` if there is none: then nothing reaches the server.
   */
  reserve(server: ToolServer, person: number): Promise<CallPlace>
  /**
   * Throws `ToolServerError`, and `AccountNeeded` if the person has no account of their own there; an abort is reported
   * to the server.
   */
  call(server: ToolServer, call: ToolServerCall, signal: AbortSignal): Promise<ServedResult>
  /** Returns what a call would throw if the person has no account of their own there, and must have one. */
  findMissingAccount(server: ToolServer, person: number): Promise<AccountNeeded | undefined>
}

/** An error for the model. It is a class, because results may have a member `error`. */
export class ToolFailure {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

export class ToolServerError extends Error {
  override name = 'ToolServerError'
}

/** The person has no account of their own at the server, or it has ended. No other is used in its place. */
export class AccountNeeded extends ToolServerError {
  override name = 'AccountNeeded'
  /** The page on which whoever opens it connects their own account. It contains no secret and gives no right. */
  readonly address: string
  /** True if an account was connected before. */
  readonly isExpired: boolean

  constructor(server: string, address: string, isExpired: boolean) {
    const [state, verb] = isExpired ? ['it has ended there', 'Connect it again'] : ['none is connected', 'Connect it']
    super(`This needs your own account at ${server}, and ${state}. ${verb} at ${address}, then ask again.`)
    this.address = address
    this.isExpired = isExpired
  }
}

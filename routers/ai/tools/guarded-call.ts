import { createTimeLimit, runUntilAborted } from '../../core/timeout.ts'
import { describeInvalidInput, toResultText } from '../../ports/ai/tool-calls.ts'
import { type ServedResult, ToolFailure, ToolServerError } from '../../ports/ai/tool-servers.ts'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import type { ApprovableCall } from '../approvals/approvals.ts'
import type { ChatContext } from '../chat-context.ts'
import { type CallableTool, getServerLabel, hashDefinition } from './callable-tools.ts'

/** Where a tool is called: in a private chat or a request to a model, in a room, or by a program over MCP. */
export type Surface = 'chat' | 'room' | 'mcp'

export interface GuardedCallOptions<Taken> {
  surface: Surface
  /** Aborts when the caller has gone; the tool server is then told to cancel the call. */
  signal: AbortSignal
  /** Decides about a call that its person must approve. Returns why it must not run. */
  asks: { findRefusal(call: ApprovableCall, signal: AbortSignal): Promise<string | undefined> }
  /** Runs once the call is allowed. */
  begin?: (() => void) | undefined
  /** Returns what the caller takes of the result, for whose size there is a limit. */
  take(result: ServedResult): Taken
}

/** What a call came to: a result of the tool, which may be an error of its own, or the reason why there is none. */
export type GuardedOutcome<Taken> = { taken: Taken; isError: boolean } | { refusal: string }

/**
 * Calls a tool for the caller with arguments that nobody has checked. Nothing of a server's own errors is passed on.
 *
 * @public
 */
export async function callTool<Taken>(
  ctx: ChatContext,
  tool: CallableTool,
  toolArguments: unknown,
  options: GuardedCallOptions<Taken>,
): Promise<GuardedOutcome<Taken>> {
  const parsed = tool.input.safeParse(toolArguments)
  return parsed.success
    ? callCheckedTool(ctx, tool, parsed.data, options)
    : { refusal: describeInvalidInput(parsed.error) }
}

/** Calls a tool with arguments that its schema has parsed. */
export async function callCheckedTool<Taken>(
  ctx: ChatContext,
  tool: CallableTool,
  input: unknown,
  options: GuardedCallOptions<Taken>,
): Promise<GuardedOutcome<Taken>> {
  try {
    const { signal, asks, begin, take } = options
    const refusal = tool.needsApproval ? await asks.findRefusal(toApprovableCall(tool, input), signal) : undefined
    if (refusal !== undefined) return { refusal }
    begin?.()
    const result = await runTool(ctx, tool, input, signal)
    const taken = take(result)
    assertSize(taken, ctx.services.settings.tools.maxResult)
    return { taken, isError: result.isError }
  } catch (error) {
    return { refusal: reportFailure(ctx, tool, options, error) }
  }
}

/** The call as it is shown to the person who is asked. */
export const toApprovableCall = (tool: CallableTool, input: unknown): ApprovableCall => ({
  tool: tool.name,
  server: getServerLabel(tool),
  input,
  hash: hashDefinition(tool),
})

function runTool(
  ctx: ChatContext,
  { target }: CallableTool,
  input: unknown,
  signal: AbortSignal,
): Promise<ServedResult> {
  if ('function' in target) return runFunction(ctx, target.function, input, signal)
  const { name, server } = target.server
  const call = { name, input: input as Record<string, unknown>, person: ctx.caller.person.id }
  return ctx.services.ai.toolServers.call(server, call, signal)
}

/** Runs a function of an extension within the time limit of the calls of servers. */
async function runFunction(
  { services }: ChatContext,
  tool: FunctionTool,
  input: unknown,
  signal: AbortSignal,
): Promise<ServedResult> {
  using limit = createTimeLimit(services.settings.tools.timeout, signal)
  const work = async () => tool.run(input, limit.signal)
  const result = await runUntilAborted(work, limit.signal).catch((error: unknown) => {
    throw limit.signal.aborted && !signal.aborted ? new ToolError('it did not answer in time') : error
  })
  const isError = result instanceof ToolFailure
  return { content: [{ type: 'text', text: toResultText(isError ? result.error : result) }], isError }
}

/** Failure with a message of our own. */
class ToolError extends Error {
  override name = 'ToolError'
}

function assertSize(taken: unknown, maxBytes: number): void {
  const bytes = Buffer.byteLength(toResultText(taken))
  if (bytes > maxBytes) throw new ToolError(`its result is ${bytes} bytes, of which ${maxBytes} are taken`)
}

/** Logs a failed call without its input. Returns the reason if it is one of our own messages. */
function reportFailure(
  { services: { log }, requestId }: ChatContext,
  { name: tool, target }: CallableTool,
  { surface }: Pick<GuardedCallOptions<unknown>, 'surface'>,
  error: unknown,
): string {
  const isKnown = error instanceof ToolServerError || error instanceof ToolError
  const kind = error instanceof Error ? error.name : typeof error
  log.warn({ requestId, tool, surface, reason: isKnown ? error.message : kind }, 'a tool failed')
  return isKnown ? `The tool${'server' in target ? ' server' : ''} failed: ${error.message}.` : 'The tool failed.'
}

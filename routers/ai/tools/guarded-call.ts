import type { ToolOutcomeWord, ToolSurface } from '../../../entities/ai/tool-use.ts'
import { createTimeLimit, runUntilAborted } from '../../core/timeout.ts'
import { describeInvalidInput, toResultText } from '../../ports/ai/tool-calls.ts'
import {
  AccountNeeded,
  type CallPlace,
  type ServedResult,
  ToolFailure,
  type ToolProgress,
  ToolServerError,
} from '../../ports/ai/tool-servers.ts'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import type { ApprovableCall, ApprovalRefusal } from '../approvals/approvable-call.ts'
import type { ChatContext } from '../chat-context.ts'
import { type CallableTool, getServerLabel, hashDefinition } from './callable-tools.ts'
import { checkLimits, countCall } from './tool-limits.ts'
import { type CallSite, ToolUseRecord } from './tool-use-record.ts'

export interface GuardedCallOptions<Taken> extends CallSite {
  /** Aborts when the caller has gone; the tool server is then told to cancel the call. */
  signal: AbortSignal
  /** Decides about a call that its person must approve. Returns why it must not run. */
  asks: { findRefusal(call: ApprovableCall, signal: AbortSignal): Promise<ApprovalRefusal | undefined> }
  /** Runs once the call is allowed. */
  begin?: (() => void) | undefined
  /** Is called with what a tool server reports while it works. */
  onProgress?: ((progress: ToolProgress) => void) | undefined
  /** Returns what the caller takes of the result, for whose size there is a limit. */
  take(result: ServedResult): Taken
}

/** A call ends with a result of the tool, which may be an error of its own, or with the reason why there is none. */
export type GuardedOutcome<Taken> = { taken: Taken; isError: boolean } | { refusal: string }

/** Calls a tool for the caller with arguments that nobody has checked. Nothing of a server's own errors is passed on. */
export async function callTool<Taken>(
  ctx: ChatContext,
  tool: CallableTool,
  toolArguments: unknown,
  options: GuardedCallOptions<Taken>,
): Promise<GuardedOutcome<Taken>> {
  const parsed = tool.input.safeParse(toolArguments)
  if (parsed.success) return callCheckedTool(ctx, tool, parsed.data, options)
  recordInvalidCall(ctx, tool, options)
  return { refusal: describeInvalidInput(parsed.error) }
}

/** Records a call whose arguments do not match the schema. */
export function recordInvalidCall(ctx: ChatContext, tool: CallableTool, site: CallSite): void {
  new ToolUseRecord(ctx, tool, site).end('invalid')
}

/** Calls a tool with arguments that its schema has parsed. */
export async function callCheckedTool<Taken>(
  ctx: ChatContext,
  tool: CallableTool,
  input: unknown,
  options: GuardedCallOptions<Taken>,
): Promise<GuardedOutcome<Taken>> {
  const { signal, begin, onProgress, take, surface } = options
  const record = new ToolUseRecord(ctx, tool, options)
  using right = watchRight(ctx, tool, surface)
  const callSignal = AbortSignal.any([signal, right.signal])
  let isBegun = false
  try {
    const admission = await admitCall(ctx, tool, input, { ...options, signal: callSignal })
    if ('refusal' in admission) {
      record.end(admission.outcome)
      return { refusal: admission.refusal }
    }
    using place = admission.place
    isBegun = true
    begin?.()
    const result = await runTool(ctx, tool, input, { signal: callSignal, onProgress, place })
    const taken = take(result)
    const bytes = measure(taken, ctx.services.settings.tools.maxResult)
    record.end(result.isError ? 'failed' : 'completed', bytes)
    return { taken, isError: result.isError }
  } catch (error) {
    record.end(chooseFailure(isBegun && !(error instanceof AccountNeeded), callSignal))
    return { refusal: right.signal.aborted ? RIGHT_ENDED : reportFailure(ctx, tool, surface, error) }
  }
}

function chooseFailure(isBegun: boolean, { aborted }: AbortSignal): ToolOutcomeWord {
  if (!isBegun) return 'unmade'
  return aborted ? 'aborted' : 'broken'
}

interface Refusal {
  refusal: string
  outcome: ToolOutcomeWord
}

/**
 * Asks the person if the tool needs that, takes a place at its server, and counts the call on its limits. Returns why it
 * must not run. Throws if the server takes no call now, which then costs nothing.
 */
async function admitCall(
  ctx: ChatContext,
  tool: CallableTool,
  input: unknown,
  { asks, signal, roomId }: Pick<GuardedCallOptions<unknown>, 'asks' | 'signal' | 'roomId'>,
): Promise<Refusal | { place: CallPlace }> {
  const missing = await findMissingAccount(ctx, tool)
  if (missing) return { refusal: missing.message, outcome: 'unmade' }
  if (tool.needsApproval) {
    // To ask may use up what the person allowed once, so a call for which there is no room does not ask.
    const full = await checkLimits(ctx, { tool, roomId })
    if (full !== undefined) return { refusal: full, outcome: 'limited' }
    ;(await reserve(ctx, tool))[Symbol.dispose]()
    const refusal = await asks.findRefusal(toApprovableCall(tool, input), signal)
    if (refusal) return { refusal: refusal.reason, outcome: refusal.isAsked ? 'asked' : 'refused' }
  }
  using taken = new DisposableStack()
  const place = taken.use(await reserve(ctx, tool))
  const limited = await countCall(ctx, { tool, roomId })
  if (limited !== undefined) return { refusal: limited, outcome: 'limited' }
  taken.move()
  return { place }
}

/** Takes a place at the server of the tool; functions of extensions need none. */
const reserve = async ({ services, caller }: ChatContext, { target }: CallableTool): Promise<CallPlace> =>
  'server' in target
    ? services.ai.toolServers.reserve(target.server.server, caller.person.id)
    : { [Symbol.dispose]() {} }

/** Without an account nothing would reach the tool server, so nothing is counted. */
const findMissingAccount = async ({ services, caller }: ChatContext, { target }: CallableTool) =>
  'server' in target ? services.ai.toolServers.findMissingAccount(target.server.server, caller.person.id) : undefined

const RIGHT_ENDED = 'The call was ended, because this tool may not be called any more.'

const watchRight = ({ services, caller }: ChatContext, { id, target }: CallableTool, surface: ToolSurface) =>
  services.ai.callWatch.watch({
    approvalVersion: 'server' in target ? target.server.approvalVersion : null,
    toolId: id,
    userId: caller.person.id,
    isByProgram: surface === 'mcp' || caller.token?.grant !== undefined,
  })

/** The call as it is shown to the person who is asked. */
export const toApprovableCall = (tool: CallableTool, input: unknown): ApprovableCall => ({
  tool: tool.name,
  server: getServerLabel(tool),
  input,
  // An earlier permission of a program does not hold once only a session may answer.
  hash: tool.approval === 'page' ? `page:${hashDefinition(tool)}` : hashDefinition(tool),
  needsSession: tool.approval === 'page',
})

function runTool(
  ctx: ChatContext,
  { target }: CallableTool,
  input: unknown,
  { signal, onProgress, place }: Pick<GuardedCallOptions<unknown>, 'signal' | 'onProgress'> & { place: CallPlace },
): Promise<ServedResult> {
  if ('function' in target) return runFunction(ctx, target.function, input, signal)
  const { kind, name, server } = target.server
  const person = ctx.caller.person.id
  const call = { kind, name, input: input as Record<string, unknown>, person, place, onProgress }
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

/** Returns the size of what is taken. Throws if it is too large. */
function measure(taken: unknown, maxBytes: number): number {
  const bytes = Buffer.byteLength(toResultText(taken))
  if (bytes > maxBytes) throw new ToolError(`its result is ${bytes} bytes, of which ${maxBytes} are taken`)
  return bytes
}

/** Logs a failed call without its input. Returns the reason if it is one of our own messages. */
function reportFailure(
  { services: { log }, requestId }: ChatContext,
  { name: tool, target }: CallableTool,
  surface: ToolSurface,
  error: unknown,
): string {
  const isKnown = error instanceof ToolServerError || error instanceof ToolError
  const kind = error instanceof Error ? error.name : typeof error
  log.warn({ requestId, tool, surface, reason: isKnown ? error.message : kind }, 'a tool failed')
  if (error instanceof AccountNeeded) return error.message
  return isKnown ? `The tool${'server' in target ? ' server' : ''} failed: ${error.message}.` : 'The tool failed.'
}

import { z } from 'zod'
import type { ChatContext } from '../ai/chat-context.ts'
import { createCallSignal } from '../ai/model-call.ts'
import { type CallableTool, findToolForCaller } from '../ai/tools/callable-tools.ts'
import { callTool, recordInvalidCall } from '../ai/tools/guarded-call.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { Problem } from '../core/problems.ts'
import { MAX_ADDRESS, MAX_NAME, toResourceAddress } from '../ports/ai/resource-address.ts'
import { describeInvalidInput } from '../ports/ai/tool-calls.ts'
import type { ServedResult, ToolProgress } from '../ports/ai/tool-servers.ts'
import { GatewayApprovals, type ProgramQuestion, toolAnswer } from './gateway-approvals.ts'
import { findPrompt, findResource } from './offers.ts'

/** Longest argument of a prompt, in characters. */
const MAX_ARGUMENT = 100_000

export const toolCall = z.strictObject({
  server: z.int().optional().describe('The id of the only tool server that is meant.'),
  name: z.string().max(MAX_NAME),
  arguments: z.record(z.string(), z.unknown()).default({}),
  canAsk: z.boolean().default(false).describe('True if the program can ask its person whether the call may be made.'),
  answer: toolAnswer.optional(),
  wantsProgress: z
    .boolean()
    .default(false)
    .describe('True if reports of the tool server are wanted before the result.'),
})
type ToolCall = z.output<typeof toolCall>

/** Result of a tool in the members of the protocol. */
export interface CallResult {
  content: readonly object[]
  structuredContent?: unknown
  isError?: true
}

/** The end of a call: its result, or the question that the program must ask before it repeats the call. */
type CallEnd = { type: 'result'; result: CallResult } | ({ type: 'question' } & ProgramQuestion)

/** Reports of a call under way come before its end. */
export type CallPart = ({ type: 'progress' } & ToolProgress) | CallEnd

/**
 * Starts the call of a tool. Throws if the caller has too many calls under way or in this minute, and if there is no such
 * tool for the caller.
 */
export const startToolCall = (ctx: ChatContext, { server, ...call }: ToolCall) =>
  startCall(ctx, async () => ({ ...call, tool: await findToolForCaller(ctx, call.name) }), { server, kind: 'tool' })

export const promptCall = toolCall
  .omit({ wantsProgress: true })
  .extend({ arguments: z.record(z.string(), z.string().max(MAX_ARGUMENT)).default({}) })

/** Starts the request of a prompt. Throws as the call of a tool does, and if the arguments do not fit. */
export const startPromptCall = (ctx: ChatContext, { server, ...call }: z.output<typeof promptCall>) =>
  startCall(
    ctx,
    async () => {
      const tool = await findPrompt(ctx, call.name)
      if (tool && isOfServer(tool, server)) assertArguments(ctx, tool, call.arguments)
      return { ...call, tool }
    },
    { server, kind: 'prompt' },
  )

/** A prompt has no result for a failure, so arguments that do not fit refuse the request. */
function assertArguments(ctx: ChatContext, prompt: CallableTool, input: unknown): void {
  const { error } = prompt.input.safeParse(input)
  if (!error) return
  recordInvalidCall(ctx, prompt, { surface: 'mcp' })
  throw new Problem('invalid', { detail: describeInvalidInput(error) })
}

export const resourceCall = toolCall
  .pick({ server: true, canAsk: true, answer: true })
  .extend({ uri: z.string().max(MAX_ADDRESS).describe('The address of the resource here.') })

/** Starts the reading of a resource. Throws as the call of a tool does. */
export const startResourceCall = (ctx: ChatContext, { server, uri, ...call }: z.output<typeof resourceCall>) =>
  startCall(
    ctx,
    async () => {
      const found = await findResource(ctx, uri)
      if (!found) return { ...call, tool: undefined, arguments: {} }
      const { offer, original } = found
      const toHere = (address: string) =>
        address === original ? uri : toResourceAddress(offer.target.server.server.id, address)
      return { ...call, tool: offer, arguments: { uri: original }, take: takeContents(toHere) }
    },
    { server, kind: 'resource' },
  )

type FoundCall = Omit<StartedCall, 'tool'> & { tool: CallableTool | undefined }

/** Starts what a tool server will answer, once there is a place for it. */
async function startCall(
  ctx: ChatContext,
  find: () => Promise<FoundCall>,
  { server, kind }: { server: number | undefined; kind: 'tool' | 'prompt' | 'resource' },
): Promise<AsyncGenerator<CallPart, void>> {
  const { settings } = ctx.services
  await consumeRateLimit(ctx, [`mcp:user:${ctx.caller.person.id}`], settings.tools.gateway.callsPerMinute)
  using acquired = new DisposableStack()
  // It comes before the look-up, so that calls beyond it cost no statement, and others wait less for them.
  acquired.use(await acquireSlot(ctx))
  const { tool, ...call } = await find()
  if (!tool || !isOfServer(tool, server)) throw new Problem('not_found', { detail: `Unknown ${kind}` })
  return runToolCall(ctx, { ...call, tool }, acquired.move())
}

/** Takes the contents of a resource with their addresses here. */
const takeContents =
  (toHere: (address: string) => string) =>
  (result: ServedResult): CallResult => {
    const { contents } = result.structuredContent as { contents: { uri: string }[] }
    return {
      content: [],
      structuredContent: { contents: contents.map((each) => ({ ...each, uri: toHere(each.uri) })) },
    }
  }

/** True if a server is the tool's own, or all servers are meant. */
export const isOfServer = ({ target }: CallableTool, server: number | undefined): boolean =>
  server === undefined || ('server' in target && target.server.server.id === server)

/** Seconds after which a call beyond those under way may be sent again. */
const RETRY_SECONDS = 1

/** Counts a call as under way on all replicas, until it is disposed or the response has ended. */
async function acquireSlot({ caller, services, notes, signal }: ChatContext): Promise<Disposable> {
  const { gatewayCalls } = services.limits
  const key = `mcp-calls:${caller.person.id}`
  if (!(await gatewayCalls.acquire(key, services.settings.tools.gateway.callsAtOnce))) {
    notes.adviseRetry({ afterSeconds: RETRY_SECONDS })
    throw new Problem('too_many_requests', { detail: 'You have too many calls of tools under way. Try again later.' })
  }
  const slot = new DisposableStack()
  slot.defer(() => gatewayCalls.release(key))
  const ended = signal()
  if (ended.aborted) slot.dispose()
  // A call that nobody asks for its parts would never end by itself.
  else ended.addEventListener('abort', () => slot.dispose(), { once: true })
  return slot
}

interface StartedCall
  extends Pick<ToolCall, 'arguments' | 'canAsk'>,
    Partial<Pick<ToolCall, 'answer' | 'wantsProgress'>> {
  tool: CallableTool
  /** Returns what the program gets of the result. */
  take?: (result: ServedResult) => CallResult
}

async function* runToolCall(
  ctx: ChatContext,
  { tool, arguments: input, canAsk, answer, wantsProgress, take = toCallResult }: StartedCall,
  slot: Disposable,
): AsyncGenerator<CallPart, void> {
  using _slot = slot
  const asks = new GatewayApprovals(ctx, { tool, canAsk, answer })
  const reports = new ProgressQueue()
  const call = callTool(ctx, tool, input, {
    surface: 'mcp',
    signal: createCallSignal(ctx),
    asks,
    ...(wantsProgress && { onProgress: (progress) => reports.push(progress) }),
    take,
  }).finally(() => reports.end())
  for await (const progress of reports) yield { type: 'progress', ...progress }
  const outcome = await call
  if (asks.question) yield { type: 'question', ...asks.question }
  else yield { type: 'result', result: 'refusal' in outcome ? toErrorResult(outcome.refusal) : outcome.taken }
}

/** Reports that wait for the reader of a call, whose number is bounded where they are read. */
class ProgressQueue {
  readonly #waiting: ToolProgress[] = []
  #changed = Promise.withResolvers<void>()
  #hasEnded = false

  push(progress: ToolProgress): void {
    this.#waiting.push(progress)
    this.#changed.resolve()
  }

  end(): void {
    this.#hasEnded = true
    this.#changed.resolve()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ToolProgress, void> {
    for (;;) {
      yield* this.#waiting.splice(0)
      if (this.#hasEnded && this.#waiting.length === 0) return
      await this.#changed.promise
      this.#changed = Promise.withResolvers()
    }
  }
}

const toCallResult = ({ content, structuredContent, isError }: ServedResult): CallResult => ({
  content,
  ...(structuredContent !== undefined && { structuredContent }),
  ...(isError && { isError }),
})

const toErrorResult = (text: string): CallResult => ({ content: [{ type: 'text', text }], isError: true })

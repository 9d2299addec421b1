import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolChoice,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import { runUntilAborted } from '../../routers/core/timeout.ts'
import { type Adapter, unsupportedByAdapter } from '../../routers/ports/ai/adapters.ts'
import { toJsonSchema } from '../../routers/ports/ai/json-schema.ts'
import type { Message } from '../../routers/ports/ai/messages.ts'
import type { ModelCall, ToolResultPart } from '../../routers/ports/ai/models.ts'
import { estimateTokens } from '../../routers/ports/ai/token-estimate.ts'
import { MAX_CALLS_A_ROUND, parseArguments, runTool } from '../../routers/ports/ai/tool-calls.ts'
import type { ApprovalPart, CallerTool, FunctionTool, ToolChoice } from '../../routers/ports/ai/tools.ts'
import { type AssistantMessage, readSignature } from './assistant-message.ts'
import { CacheMarks } from './cache-marks.ts'
import { findForcedToolName, toProviderTools } from './native-tools.ts'
import { buildCallOptions, type CallOptions } from './parameters.ts'
import { toPrompt } from './prompt.ts'
import { sanitizeParts, stripMarks, stripMarksDeep } from './sanitize-parts.ts'
import { StoredFiles } from './stored-files.ts'

/** The messages and options of one request, over all rounds of tool calls, in the types of the AI SDK. */
export class Conversation {
  readonly #files = new StoredFiles()
  readonly #prompt: LanguageModelV4Prompt
  readonly #call: ModelCall
  readonly #tools: (LanguageModelV4FunctionTool | LanguageModelV4ProviderTool)[]
  readonly #options: CallOptions
  /** Tokens added since the request, by the model's output and tool results. */
  #addedTokens = 0
  #isContinued = false

  constructor(call: ModelCall) {
    this.#call = call
    const { adapter } = call.model
    const isJsonByInstruction = lacksJsonMode(call)
    const messages = isJsonByInstruction ? [...call.messages, jsonInstruction] : call.messages
    const marks = new CacheMarks(call)
    const callerTools = call.callerTools.map((tool) => toSdkCallerTool(tool, marks))
    this.#tools = [...call.tools.map(toSdkTool), ...callerTools, ...toProviderTools(call)]
    this.#prompt = toPrompt(messages, { adapter, files: this.#files, marks })
    this.#options = sanitizeResponseFormat(
      buildCallOptions(isJsonByInstruction ? { ...call, format: undefined } : call),
    )
  }

  /** Estimated input tokens of the next request. */
  get inputTokens(): number {
    return Math.ceil(this.#call.inputTokens + this.#addedTokens)
  }

  /** Runs a request with the stored files of this conversation, which are read only when it is sent. */
  runWithFiles<T>(send: () => Promise<T>): Promise<T> {
    return this.#files.runWith(send)
  }

  /** Returns the options of the next request. In the last round the model may not call the service's tools. */
  buildOptions(abortSignal: AbortSignal, isLastRound: boolean): LanguageModelV4CallOptions {
    const { tools: serviceTools, callerTools, toolChoice } = this.#call
    const hasNoMoreRounds = isLastRound && serviceTools.length > 0
    // A provider needs the definitions of tools that earlier calls used, even if no more calls are allowed.
    const tools = hasNoMoreRounds && callerTools.length > 0 ? this.#tools.slice(serviceTools.length) : this.#tools
    const choice = hasNoMoreRounds && callerTools.length === 0 ? 'none' : toolChoice
    return {
      prompt: this.#prompt,
      abortSignal,
      ...this.#options,
      ...(tools.length > 0 && { tools, ...this.#toSdkToolChoice(choice) }),
    }
  }

  /** Converts the choice. A tool of the provider is forced once, as the model answers by its results. */
  #toSdkToolChoice(choice: ToolChoice | undefined): { toolChoice?: LanguageModelV4ToolChoice } {
    if (choice === undefined) return {}
    if (typeof choice === 'string') return { toolChoice: { type: choice } }
    const toolName = 'name' in choice ? choice.name : !this.#isContinued && findForcedToolName(this.#call)
    return toolName ? { toolChoice: { type: 'tool', toolName } } : {}
  }

  /** Returns the calls that the client has to answer. If there are any, the service runs none of the others. */
  findClientToolCalls(calls: readonly LanguageModelV4ToolCall[]): LanguageModelV4ToolCall[] {
    if (this.#call.callerTools.length === 0) return []
    const clientCalls = calls.filter(({ toolName }) => this.#call.tools.every(({ name }) => name !== toolName))
    // Not every provider supports a limit of one call.
    return this.#call.parameters.parallelTools === false ? clientCalls.slice(0, 1) : clientCalls
  }

  /** Returns the calls that the service will run. */
  findRunnableCalls(calls: readonly LanguageModelV4ToolCall[]): LanguageModelV4ToolCall[] {
    return filterRunnableCalls(calls, this.#call.tools)
  }

  /** Returns the approvals that calls of the service's tools need. If there are any, none of the calls runs. */
  findPendingApprovals(calls: readonly LanguageModelV4ToolCall[]): Promise<ApprovalPart[]> {
    return findPendingApprovals(calls, this.#call.tools)
  }

  /** Runs the tool calls of the message, appends the message and the results, and returns the results. */
  async appendTurn(message: AssistantMessage, signal: AbortSignal): Promise<ToolResultPart[]> {
    const content = await runTools(message.calls, this.#call, signal)
    const { adapter } = this.#call.model
    this.#isContinued = true
    this.#prompt.push({
      role: 'assistant',
      content: message.providerContent.map((part) => sanitizeParts(part, adapter)),
    })
    if (content.length > 0) this.#prompt.push({ role: 'tool', content })
    const results = content.map(toToolResult)
    const added = [message.text, ...message.calls.map(({ input }) => input), ...results.map(({ output }) => output)]
    this.#addedTokens += estimateTokens(added.join('')) + message.foundTokens
    return results
  }
}

const toToolResult = ({ toolCallId: id, toolName: name, output }: LanguageModelV4ToolResultPart): ToolResultPart => ({
  type: 'tool-result',
  id,
  name,
  output: 'value' in output ? `${output.value}` : '',
  isError: output.type === 'error-text',
})

type Schema = LanguageModelV4FunctionTool['inputSchema']

/** Strips our block marks from the requested format, since the caller writes it and is not trusted. */
function sanitizeResponseFormat(options: CallOptions): CallOptions {
  const { responseFormat: format } = options
  return format ? { ...options, responseFormat: stripMarksDeep(format) as typeof format } : options
}

const toSdkTool = (tool: FunctionTool): LanguageModelV4FunctionTool => ({
  type: 'function',
  name: tool.name,
  description: stripMarks(tool.description),
  inputSchema: stripMarksDeep(toJsonSchema(tool)) as Schema,
})

function toSdkCallerTool(
  tool: CallerTool,
  marks: CacheMarks,
): LanguageModelV4FunctionTool | LanguageModelV4ProviderTool {
  const providerOptions = marks.toOptions(tool)
  const { name, description, inputSchema, strict, clientTool } = tool
  if (clientTool) return { type: 'provider', id: `anthropic.${clientTool.type}`, name, args: { ...clientTool.options } }
  return {
    type: 'function',
    name,
    inputSchema: stripMarksDeep(inputSchema) as Schema,
    ...(description !== undefined && { description: stripMarks(description) }),
    ...(strict !== undefined && { strict }),
    ...(providerOptions && { providerOptions }),
  }
}

const lacksJsonMode = ({ model, format }: ModelCall): boolean =>
  format !== undefined &&
  !format.schema &&
  unsupportedByAdapter[model.adapter as Adapter].includes('JSON without a schema')

/** Asks for JSON where a provider knows only schemas. */
const jsonInstruction: Message = {
  role: 'system',
  content: [
    { type: 'text', text: 'Answer with one JSON object and nothing else: no words around it, and no fence of code.' },
  ],
}

type Call = Pick<LanguageModelV4ToolCall, 'toolCallId' | 'toolName' | 'input' | 'providerMetadata'>
type Result = LanguageModelV4ToolResultPart

/** Runs the tool calls of one round, at most `toolsAtOnce` of them at the same time. */
async function runTools(
  calls: readonly Call[],
  { tools, toolsAtOnce }: Pick<ModelCall, 'tools' | 'toolsAtOnce'>,
  signal: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = []
  const queue = calls.entries()
  const runQueuedCalls = async () => {
    for (const [at, call] of queue) {
      if (signal.aborted) return
      results[at] = toPromptResult(call, at < MAX_CALLS_A_ROUND ? await callTool(call, tools, signal) : tooManyCalls)
    }
  }
  await runUntilAborted(() => Promise.all(Array.from({ length: toolsAtOnce }, runQueuedCalls)), signal)
  return results
}

/** Returns the calls of a round that have a known tool and valid arguments; the user may still have to approve them. */
const filterRunnableCalls = <T extends Call>(calls: readonly T[], tools: ModelCall['tools']): T[] =>
  calls.slice(0, MAX_CALLS_A_ROUND).filter(({ toolName, input }) => {
    const tool = tools.find(({ name }) => name === toolName)
    return tool?.input.safeParse(parseArguments(input)).success
  })

/** Returns the approvals to ask for before valid calls run. */
async function findPendingApprovals(calls: readonly Call[], tools: ModelCall['tools']): Promise<ApprovalPart[]> {
  const lookups = calls.slice(0, MAX_CALLS_A_ROUND).map(async ({ toolName, input, ...call }) => {
    const tool = tools.find(({ name }) => name === toolName)
    const args = tool?.approval && tool.input.safeParse(parseArguments(input))
    const question = args?.success ? await tool?.approval?.question(args.data) : undefined
    return question && { ...question, ...readSignature(call) }
  })
  return (await Promise.all(lookups)).filter((question) => question !== undefined)
}

const toPromptResult = ({ toolCallId, toolName }: Call, output: Result['output']): Result => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output,
})

const toFailure = (value: string): Result['output'] => ({ type: 'error-text', value })

const tooManyCalls = toFailure(`More than ${MAX_CALLS_A_ROUND} tools were called at once.`)

async function callTool({ toolName, input }: Call, tools: ModelCall['tools'], signal: AbortSignal) {
  const tool = tools.find(({ name }) => name === toolName)
  if (!tool) return toFailure('There is no such tool.')
  const { text, isError } = await runTool(tool, input, signal)
  // Tool output may quote untrusted text.
  const value = stripMarks(text)
  return isError ? toFailure(value) : { type: 'text' as const, value }
}

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolChoice,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { ApprovalPart } from '../../routers/ports/ai/approvals.ts'
import type { ModelCall, ToolResult } from '../../routers/ports/ai/models.ts'
import { tokensIn } from '../../routers/ports/ai/token-estimate.ts'
import { schemaOf } from '../../routers/ports/ai/tool-schema.ts'
import type { CallerTool, FunctionTool, ToolChoice } from '../../routers/ports/ai/tools.ts'
import { nativeToolsOf } from './native-tools.ts'
import { type CallOptions, callOptions } from './parameters.ts'
import { withoutMarks, withoutMarksIn } from './prompt/meta-blocks.ts'
import { promptOf } from './prompt/prompt.ts'
import { saidWithoutMarks } from './prompt/said-parts.ts'
import { StoredFiles } from './prompt/stored-files.ts'
import type { Said } from './said.ts'
import { questionsOf, runnable, runTools } from './tool-calls.ts'

/** One request with its rounds of tool calls, in the terms of the AI SDK. */
export class Conversation {
  readonly #files = new StoredFiles()
  readonly #prompt: LanguageModelV4Prompt
  readonly #call: ModelCall
  readonly #tools: (LanguageModelV4FunctionTool | LanguageModelV4ProviderTool)[]
  readonly #options: CallOptions
  /** Of what was said and answered since the request. */
  #addedTokens = 0

  constructor(call: ModelCall) {
    this.#call = call
    this.#prompt = promptOf(call.messages, { adapter: call.model.adapter, files: this.#files })
    this.#tools = [...call.tools.map(declare), ...call.callerTools.map(declareCallers), ...nativeToolsOf(call)]
    this.#options = withoutForgedFormat(callOptions(call))
  }

  /** Our estimate of what the next request holds. */
  get inputTokens(): number {
    return Math.ceil(this.#call.inputTokens + this.#addedTokens)
  }

  /** Asks with the options of this conversation, of which stored files are no part until they are sent. */
  ask<T>(send: () => Promise<T>): Promise<T> {
    return this.#files.sendBy(send)
  }

  /** In its last round the model may call no more tools of the service. */
  options(abortSignal: AbortSignal, last: boolean): LanguageModelV4CallOptions {
    const { tools: own, callerTools: callers, toolChoice } = this.#call
    const isOver = last && own.length > 0
    // A provider wants to know the tools of which it reads calls, even if there are to be no more.
    const tools = isOver && callers.length > 0 ? this.#tools.slice(own.length) : this.#tools
    const choice = isOver && callers.length === 0 ? 'none' : toolChoice
    return {
      prompt: this.#prompt,
      abortSignal,
      ...this.#options,
      ...(tools.length > 0 && { tools, ...choiceOf(choice) }),
    }
  }

  /** The calls that the caller is to answer: where there are any, the service answers none of the others. */
  callersOf(calls: readonly LanguageModelV4ToolCall[]): LanguageModelV4ToolCall[] {
    if (this.#call.callerTools.length === 0) return []
    const callers = calls.filter(({ toolName }) => this.#call.tools.every(({ name }) => name !== toolName))
    // Not every provider can be told that there may be one call alone.
    return this.#call.parameters.parallelTools === false ? callers.slice(0, 1) : callers
  }

  /** The calls that the service goes on to run. */
  runnable(calls: readonly LanguageModelV4ToolCall[]): LanguageModelV4ToolCall[] {
    return runnable(calls, this.#call.tools)
  }

  /** What the person is to be asked of the calls that the service would run: where there are any questions, none of them runs. */
  questionsOf(calls: readonly LanguageModelV4ToolCall[]): Promise<ApprovalPart[]> {
    return questionsOf(calls, this.#call.tools)
  }

  /** Appends what the model said, and the results of the tools that it asked for, which are run before and returned. */
  async goOn(said: Said, signal: AbortSignal): Promise<ToolResult[]> {
    const content = await runTools(said.calls, this.#call, signal)
    const { adapter } = this.#call.model
    this.#prompt.push({ role: 'assistant', content: said.prompt.map((part) => saidWithoutMarks(part, adapter)) })
    if (content.length > 0) this.#prompt.push({ role: 'tool', content })
    const results = content.map(toToolResult)
    const added = [said.text, ...said.calls.map(({ input }) => input), ...results.map(({ output }) => output)]
    this.#addedTokens += tokensIn(added.join('')) + said.foundTokens
    return results
  }
}

const toToolResult = ({ toolCallId: id, toolName: name, output }: LanguageModelV4ToolResultPart): ToolResult => ({
  type: 'tool-result',
  id,
  name,
  output: 'value' in output ? `${output.value}` : '',
  isError: output.type === 'error-text',
})

type Schema = LanguageModelV4FunctionTool['inputSchema']

/** Who describes a tool, or the answer that they want, is trusted no more than who writes a message. */
function withoutForgedFormat(options: CallOptions): CallOptions {
  const { responseFormat: format } = options
  return format ? { ...options, responseFormat: withoutMarksIn(format) as typeof format } : options
}

const declare = (tool: FunctionTool): LanguageModelV4FunctionTool => ({
  type: 'function',
  name: tool.name,
  description: withoutMarks(tool.description),
  inputSchema: withoutMarksIn(schemaOf(tool)) as Schema,
})

const declareCallers = ({ name, description, inputSchema, strict }: CallerTool): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  inputSchema: withoutMarksIn(inputSchema) as Schema,
  ...(description !== undefined && { description: withoutMarks(description) }),
  ...(strict !== undefined && { strict }),
})

function choiceOf(choice: ToolChoice | undefined): { toolChoice?: LanguageModelV4ToolChoice } {
  if (choice === undefined) return {}
  return { toolChoice: typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name } }
}

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import { z } from 'zod'
import type { FunctionTool, Message, ModelCall } from '../../routers/ports/models.ts'
import { type CallParameters, callParameters } from './parameters.ts'

/** One question with its rounds of tool calls, in the terms of the AI SDK. */
export class Conversation {
  readonly #prompt: LanguageModelV4Prompt
  readonly #call: ModelCall
  readonly #tools: LanguageModelV4FunctionTool[]
  readonly #parameters: CallParameters

  constructor(call: ModelCall) {
    this.#call = call
    this.#prompt = mergeConsecutiveRoles(call.messages).map(asPrompt)
    this.#tools = call.tools.map(declare)
    this.#parameters = callParameters(call)
  }

  /** In its last round the model is told to call no more tools. */
  options(abortSignal: AbortSignal, last: boolean): LanguageModelV4CallOptions {
    return {
      prompt: this.#prompt,
      abortSignal,
      ...this.#parameters,
      ...(this.#tools.length > 0 && { tools: this.#tools }),
      ...(this.#tools.length > 0 && last && { toolChoice: { type: 'none' } }),
    }
  }

  /** Returns the text of the next request, which is built on demand. */
  promptText(): () => string {
    const { length } = this.#prompt
    return () => this.#prompt.slice(0, length).map(textOf).join('')
  }

  /** Runs the tools that the model asked for at the same time, and appends calls and results to the conversation. */
  async runTools(text: string, calls: readonly LanguageModelV4ToolCall[], signal: AbortSignal): Promise<void> {
    const results = await unlessEnded(Promise.all(calls.map((call) => this.#run(call, signal))), signal)
    const asked = calls.map(({ toolCallId, toolName, input }) => ({
      type: 'tool-call' as const,
      toolCallId,
      toolName,
      input: parsed(input),
    }))
    this.#prompt.push(
      { role: 'assistant', content: [...(text ? [{ type: 'text' as const, text }] : []), ...asked] },
      { role: 'tool', content: results },
    )
  }

  async #run(
    { toolCallId, toolName, input }: LanguageModelV4ToolCall,
    signal: AbortSignal,
  ): Promise<LanguageModelV4ToolResultPart> {
    const tool = this.#call.tools.find(({ name }) => name === toolName)
    const result = (output: LanguageModelV4ToolResultPart['output']) => ({
      type: 'tool-result' as const,
      toolCallId,
      toolName,
      output,
    })
    if (!tool) return result({ type: 'error-text', value: 'There is no such tool.' })
    const given = tool.input.safeParse(parsed(input))
    if (!given.success) return result({ type: 'error-text', value: z.prettifyError(given.error) })
    try {
      return result({ type: 'json', value: JSON.parse(JSON.stringify((await tool.run(given.data, signal)) ?? null)) })
    } catch {
      return result({ type: 'error-text', value: 'The tool failed.' })
    }
  }
}

/** Merges consecutive messages of one role and puts instructions first, as some providers accept only alternating roles. */
function mergeConsecutiveRoles(messages: readonly Message[]): Message[] {
  const [system, talk] = [messages.filter(isSystem), messages.filter((message) => !isSystem(message))]
  const turns: Message[] = []
  for (const { role, text } of [...system, ...talk]) {
    const last = turns.at(-1)
    if (last?.role === role) last.text += `\n\n${text}`
    else turns.push({ role, text })
  }
  return turns
}

const isSystem = ({ role }: Message) => role === 'system'

/** Rejects when the signal aborts, even if the tool ignores its signal. */
const unlessEnded = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The text of a prompt message; tool calls and results as JSON. */
function textOf({ content }: LanguageModelV4Prompt[number]): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => {
      if (part.type === 'text') return part.text
      if (part.type === 'tool-call') return JSON.stringify(part.input)
      return part.type === 'tool-result' && 'value' in part.output ? JSON.stringify(part.output.value) : ''
    })
    .join('')
}

const asPrompt = ({ role, text }: Message): LanguageModelV4Prompt[number] =>
  role === 'system' ? { role, content: text } : { role, content: [{ type: 'text', text }] }

const declare = ({ name, description, input }: FunctionTool): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  description,
  inputSchema: z.toJSONSchema(input, { target: 'draft-7', io: 'input' }) as LanguageModelV4FunctionTool['inputSchema'],
})

import { type Block, buildEndEvents, buildStartEvents, message } from '../anthropic.ts'
import {
  type Dialect,
  type DialectAnswer,
  type End,
  type Schema,
  selectTools,
  splitTokens,
  type TokenCounts,
} from './dialect.ts'

interface MessageRequest {
  messages?: unknown[]
  system?: unknown
  tools?: { name: string; input_schema: Schema }[]
  tool_choice?: { type: 'auto' | 'any' | 'tool' | 'none'; name?: string; disable_parallel_tool_use?: boolean }
  output_config?: { format?: { schema: Schema } }
  stop_sequences?: string[]
  max_tokens?: number
}

export const toMessageUsage = ({ input, output, cached, cacheWrite, reasoning }: TokenCounts) => ({
  input_tokens: input - cached - cacheWrite,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: cacheWrite,
  output_tokens: output,
  output_tokens_details: { thinking_tokens: reasoning },
})

const ends: Record<End, string> = { stop: 'end_turn', length: 'max_tokens', calls: 'tool_use', refusal: 'refusal' }
export const toStopReason = (end: End) => ends[end]

const buildContent = ({ text, calls }: DialectAnswer): Block[] => [
  ...(text ? [{ type: 'text', text }] : []),
  ...calls.map((call) => ({ type: 'tool_use', ...call })),
]

const buildEnding = ({ end, stop, tokens }: DialectAnswer) => ({
  stop_reason: stop === undefined ? ends[end] : 'stop_sequence',
  stop_sequence: stop ?? null,
  usage: toMessageUsage(tokens),
})

export const messages: Dialect = {
  read(body) {
    const {
      messages = [],
      system,
      tools = [],
      tool_choice: choice,
      output_config: config,
      ...request
    } = body as MessageRequest
    const allTools = tools.map(({ name, input_schema: schema }) => ({ name, schema }))
    const { type = 'auto', name = '' } = choice ?? {}
    return {
      messages,
      around: { system, tools, config },
      ...selectTools(allTools, type === 'tool' ? { name } : type),
      isOneByOne: choice?.disable_parallel_tool_use === true,
      // Where a model has no mode for JSON, the service asks for it in words.
      json: config?.format?.schema ?? JSON.stringify(system ?? '').includes('Answer with one JSON object'),
      stop: request.stop_sequences ?? [],
      maxTokens: request.max_tokens ?? Infinity,
      seed: undefined,
    }
  },
  whole: (answer) => ({ ...message, content: buildContent(answer), ...buildEnding(answer) }),
  events: (answer) => {
    const ending = buildEnding(answer)
    return [buildStartEvents(buildContent(answer), ending.usage, splitTokens), buildEndEvents(ending)]
  },
}

import { type Block, begunEvents, endEvents, message } from '../anthropic.ts'
import { type Counted, chosen, type Dialect, type End, type Said, type Schema, tokensOf } from './dialect.ts'

interface MessageRequest {
  messages?: unknown[]
  system?: unknown
  tools?: { name: string; input_schema: Schema }[]
  tool_choice?: { type: 'auto' | 'any' | 'tool' | 'none'; name?: string; disable_parallel_tool_use?: boolean }
  output_config?: { format?: { schema: Schema } }
  stop_sequences?: string[]
  max_tokens?: number
}

export const messageUsage = ({ input, output, cached, cacheWrite, reasoning }: Counted) => ({
  input_tokens: input - cached - cacheWrite,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: cacheWrite,
  output_tokens: output,
  output_tokens_details: { thinking_tokens: reasoning },
})

const ends: Record<End, string> = { stop: 'end_turn', length: 'max_tokens', calls: 'tool_use', refusal: 'refusal' }
export const messageEnd = (end: End) => ends[end]

const contentOf = ({ text, calls }: Said): Block[] => [
  ...(text ? [{ type: 'text', text }] : []),
  ...calls.map((call) => ({ type: 'tool_use', ...call })),
]

const endingOf = ({ end, stop, counted }: Said) => ({
  stop_reason: stop === undefined ? ends[end] : 'stop_sequence',
  stop_sequence: stop ?? null,
  usage: messageUsage(counted),
})

export const messages: Dialect = {
  read(body) {
    const {
      messages = [],
      system,
      tools = [],
      tool_choice: choice,
      output_config: config,
      ...asked
    } = body as MessageRequest
    const known = tools.map(({ name, input_schema: schema }) => ({ name, schema }))
    const { type = 'auto', name = '' } = choice ?? {}
    return {
      ...{ messages, around: { system, tools, config } },
      ...chosen(known, type === 'tool' ? { name } : type),
      isOneByOne: choice?.disable_parallel_tool_use === true,
      json: config?.format?.schema ?? false,
      stop: asked.stop_sequences ?? [],
      ...{ maxTokens: asked.max_tokens ?? Infinity, seed: undefined },
    }
  },
  whole: (said) => ({ ...message, content: contentOf(said), ...endingOf(said) }),
  events: (said) => {
    const ending = endingOf(said)
    return [begunEvents(contentOf(said), ending.usage, tokensOf), endEvents(ending)]
  },
}

import {
  type Body,
  type Call,
  type Counted,
  chosen,
  type Dialect,
  data,
  type End,
  type Said,
  type Schema,
  tokensOf,
} from './dialect.ts'

interface CompletionRequest {
  messages?: unknown[]
  tools?: { function: { name: string; parameters?: Schema } }[]
  tool_choice?: 'auto' | 'none' | 'required' | 'any' | { function: { name: string } }
  parallel_tool_calls?: boolean
  response_format?: { type: string; json_schema?: { schema?: Schema } }
  stop?: string | string[]
  max_tokens?: number
  max_completion_tokens?: number
  seed?: number
  random_seed?: number
  stream_options?: { include_usage?: boolean }
}

export const completionUsage = ({ input, output, cached, cacheWrite, reasoning }: Counted) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
  completion_tokens_details: { reasoning_tokens: reasoning },
})

const ends: Record<End, string> = { stop: 'stop', length: 'length', calls: 'tool_calls', refusal: 'content_filter' }
export const completionEnd = (end: End) => ends[end]

const heading = { id: 'c', created: 1, model: 'up-1' }
export const completionChunk = (choice: object, more: object = {}) =>
  data({ ...heading, object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], ...more })
/** Most servers tell the total in a chunk of its own, behind the last choice, where they are asked for it. */
export const completionTotal = (counted: Counted) =>
  data({ ...heading, object: 'chat.completion.chunk', choices: [], usage: completionUsage(counted) })

const toolCall = ({ id, name, input }: Call, index: number) => ({
  ...{ index, id, type: 'function', function: { name, arguments: JSON.stringify(input) } },
})

function choiceIn({ tool_choice: choice = 'auto' }: CompletionRequest) {
  if (typeof choice === 'object') return choice.function
  return choice === 'required' ? 'any' : choice
}

const read = (seedOf: (asked: CompletionRequest) => number | undefined) => (body: Body) => {
  const asked = body as CompletionRequest
  const { messages = [], tools = [], response_format: format, stop = [] } = asked
  const known = tools.map(({ function: { name, parameters = {} } }) => ({ name, schema: parameters }))
  return {
    ...{ messages, around: { tools, format }, ...chosen(known, choiceIn(asked)) },
    isOneByOne: asked.parallel_tool_calls === false,
    json: format?.json_schema?.schema ?? format?.type === 'json_object',
    stop: [stop].flat(),
    maxTokens: asked.max_completion_tokens ?? asked.max_tokens ?? Infinity,
    seed: seedOf(asked),
  }
}

function whole({ text, calls, end, counted }: Said) {
  const message = {
    ...{ role: 'assistant', content: text || null },
    ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
  }
  const choice = { index: 0, message, finish_reason: ends[end] }
  return { ...heading, object: 'chat.completion', choices: [choice], usage: completionUsage(counted) }
}

/** The arguments of a call come in two pieces. */
function callChunks(call: Call, index: number): string {
  const { function: called, ...begun } = toolCall(call, index)
  const [first, rest] = [called.arguments.slice(0, 3), called.arguments.slice(3)]
  const chunk = (more: object) => completionChunk({ delta: { tool_calls: [{ index, ...more }] } })
  return chunk({ ...begun, function: { ...called, arguments: first } }) + chunk({ function: { arguments: rest } })
}

const begunBy = ({ text, calls }: Said) =>
  completionChunk({ delta: { role: 'assistant', content: '' } }) +
  tokensOf(text)
    .map((content) => completionChunk({ delta: { content } }))
    .join('') +
  calls.map(callChunks).join('')

export const completions: Dialect = {
  read: read(({ seed }) => seed),
  whole,
  events: (said, { stream_options: options }: CompletionRequest) => [
    begunBy(said),
    `${completionChunk({ delta: {}, finish_reason: ends[said.end] })}${options?.include_usage ? completionTotal(said.counted) : ''}data: [DONE]\n\n`,
  ],
}

/** Its seed has another name, and its last chunk the total. */
export const mistral: Dialect = {
  read: read(({ random_seed: seed }) => seed),
  whole,
  events: (said) => [
    begunBy(said),
    `${completionChunk({ delta: { content: '' }, finish_reason: ends[said.end] }, { usage: completionUsage(said.counted) })}data: [DONE]\n\n`,
  ],
}

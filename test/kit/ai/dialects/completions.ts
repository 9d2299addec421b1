import {
  type Body,
  type Call,
  type Dialect,
  type DialectAnswer,
  type End,
  formatData,
  type Schema,
  selectTools,
  splitTokens,
  type TokenCounts,
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

export const toCompletionUsage = ({ input, output, cached, cacheWrite, reasoning }: TokenCounts) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
  completion_tokens_details: { reasoning_tokens: reasoning },
})

const ends: Record<End, string> = { stop: 'stop', length: 'length', calls: 'tool_calls', refusal: 'content_filter' }
export const toFinishReason = (end: End) => ends[end]

const heading = { id: 'c', created: 1, model: 'up-1' }
export const buildCompletionChunk = (choice: object, more: object = {}) =>
  formatData({ ...heading, object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], ...more })
/** Most servers report the total in a chunk of its own after the last choice, on request. */
export const buildCompletionTotal = (tokens: TokenCounts) =>
  formatData({ ...heading, object: 'chat.completion.chunk', choices: [], usage: toCompletionUsage(tokens) })

const toToolCall = ({ id, name, input }: Call, index: number) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
})

function readChoice({ tool_choice: choice = 'auto' }: CompletionRequest) {
  if (typeof choice === 'object') return choice.function
  return choice === 'required' ? 'any' : choice
}

const createReader = (seedOf: (request: CompletionRequest) => number | undefined) => (body: Body) => {
  const request = body as CompletionRequest
  const { messages = [], tools = [], response_format: format, stop = [] } = request
  const allTools = tools.map(({ function: { name, parameters = {} } }) => ({ name, schema: parameters }))
  return {
    messages,
    around: { tools, format },
    ...selectTools(allTools, readChoice(request)),
    isOneByOne: request.parallel_tool_calls === false,
    json: format?.json_schema?.schema ?? format?.type === 'json_object',
    stop: [stop].flat(),
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? Infinity,
    seed: seedOf(request),
  }
}

function buildCompletion({ text, calls, end, tokens }: DialectAnswer) {
  const message = {
    role: 'assistant',
    content: text || null,
    ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
  }
  const choice = { index: 0, message, finish_reason: ends[end] }
  return { ...heading, object: 'chat.completion', choices: [choice], usage: toCompletionUsage(tokens) }
}

/** The arguments of a call come in two pieces. */
function buildCallChunks(call: Call, index: number): string {
  const { function: callFunction, ...start } = toToolCall(call, index)
  const [first, rest] = [callFunction.arguments.slice(0, 3), callFunction.arguments.slice(3)]
  const chunk = (more: object) => buildCompletionChunk({ delta: { tool_calls: [{ index, ...more }] } })
  return chunk({ ...start, function: { ...callFunction, arguments: first } }) + chunk({ function: { arguments: rest } })
}

const buildStartChunks = ({ text, calls }: DialectAnswer) =>
  buildCompletionChunk({ delta: { role: 'assistant', content: '' } }) +
  splitTokens(text)
    .map((content) => buildCompletionChunk({ delta: { content } }))
    .join('') +
  calls.map(buildCallChunks).join('')

export const completions: Dialect = {
  read: createReader(({ seed }) => seed),
  whole: buildCompletion,
  events: (answer, { stream_options: options }: CompletionRequest) => [
    buildStartChunks(answer),
    `${buildCompletionChunk({ delta: {}, finish_reason: ends[answer.end] })}${options?.include_usage ? buildCompletionTotal(answer.tokens) : ''}data: [DONE]\n\n`,
  ],
}

/** Mistral names the seed differently, and its last chunk has the total. */
export const mistral: Dialect = {
  read: createReader(({ random_seed: seed }) => seed),
  whole: buildCompletion,
  events: (answer) => [
    buildStartChunks(answer),
    `${buildCompletionChunk({ delta: { content: '' }, finish_reason: ends[answer.end] }, { usage: toCompletionUsage(answer.tokens) })}data: [DONE]\n\n`,
  ],
}

import { z } from 'zod'
import type { Issue } from '../../../routers/core/problems.ts'
import { type CallParameters, efforts, type JsonFormat } from '../../../routers/ports/ai/models.ts'
import type { ToolChoice } from '../../../routers/ports/ai/tools.ts'
import type { CoreRequest } from '../../ai/answer.ts'
import { hint, ignore, passThrough, refuse, translate } from '../../ai/members.ts'
import { definedOnly } from '../../ai/request-body.ts'
import { textOr } from '../../ai/validate-by.ts'
import {
  allowedTools,
  customTool,
  filterAllowed,
  isDeclaration,
  mapToolPath,
  pickReferences,
  toFunction,
  toolOrReference,
} from '../openai-tools.ts'
import { mapMessagePath, message, toMessages } from './chat-messages.ts'

/** Reads the hints for the cache of OpenAI. */
export const readCacheNames = (request: {
  prompt_cache_key?: string | null | undefined
  prompt_cache_retention?: 'in_memory' | '24h' | null | undefined
}): CallParameters =>
  definedOnly({ cacheKey: request.prompt_cache_key, cacheRetention: request.prompt_cache_retention })

/** Members about the request itself that both APIs share. */
export const sharedLabels = {
  user: ignore('the provider does not learn who the caller is'),
  safety_identifier: ignore('the provider does not learn who the caller is'),
  metadata: ignore('nothing is kept that it could mark'),
  prompt_cache_key: hint(z.string().min(1).max(200).nullish(), 'it reaches OpenAI'),
  prompt_cache_options: ignore('the provider decides what it caches'),
  prompt_cache_retention: hint(z.enum(['in_memory', '24h']).nullish(), 'it reaches OpenAI'),
  service_tier: ignore('the contract with the provider decides', 'auto', 'default'),
  client_metadata: ignore('nothing is kept that it could mark'),
}

const functionTool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
})

const tool = z.discriminatedUnion('type', [
  functionTool,
  z.strictObject({ type: z.literal('custom'), custom: z.strictObject(customTool) }),
])
type Tool = z.output<typeof tool>

const toolName = z.strictObject({ name: z.string() })
const toolChoice = textOr(
  z.enum(['auto', 'required', 'none']),
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('function'), function: toolName }),
    z.strictObject({ type: z.literal('custom'), custom: toolName }),
    z.strictObject({ type: z.literal('allowed_tools'), allowed_tools: z.strictObject(allowedTools) }),
  ]),
)

const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: z.string(),
      description: z.string().nullish(),
      schema: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
])

const searchOption = ignore('the provider searches with its usual options')

const streamOptions = z.strictObject({
  include_usage: translate(z.boolean().nullish(), 'the stream ends with a chunk of the usage'),
  include_obfuscation: ignore('nothing is padded'),
})

/** All standard members of a request for a chat completion. */
export const chatRequest = z.strictObject({
  model: translate(z.string(), 'it names one of `GET /v1/models`'),
  messages: translate(z.array(message), 'instructions go first, wherever they stand'),
  stream: translate(z.boolean().nullish(), 'the answer comes as it is made'),
  stream_options: translate(streamOptions.nullish(), 'its members say how'),
  temperature: passThrough(z.number().nullish()),
  top_p: passThrough(z.number().nullish()),
  max_tokens: passThrough(
    z.int().nullish(),
    'models of OpenAI that accept only `max_completion_tokens` receive it under that name',
  ),
  max_completion_tokens: passThrough(z.int().nullish(), 'it has the name that the provider knows'),
  seed: passThrough(z.int().nullish()),
  stop: passThrough(z.union([z.string(), z.array(z.string())]).nullish()),
  presence_penalty: passThrough(z.number().nullish(), 'it is left out and named if the provider does not support it'),
  frequency_penalty: passThrough(z.number().nullish(), 'it is left out and named if the provider does not support it'),
  verbosity: hint(
    z.enum(['low', 'medium', 'high']).nullish(),
    'it is left out and named if the provider does not support it',
  ),
  reasoning_effort: hint(z.enum(efforts).nullish(), 'the provider receives it'),
  chat_template_kwargs: passThrough(
    z.record(z.string(), z.unknown()).nullish(),
    'servers of open models know it; it is left out and named if the provider does not support it',
  ),
  tools: translate(
    z.array(toolOrReference(tool)).nullish(),
    'functions; a custom tool is a function of one text; a text names a tool of the service',
  ),
  tool_choice: translate(toolChoice.nullish(), 'the provider receives it in its own words'),
  parallel_tool_calls: passThrough(z.boolean().nullish()),
  response_format: translate(responseFormat.nullish(), 'the provider receives it in its own words'),
  web_search_options: translate(
    z.strictObject({ search_context_size: searchOption, user_location: searchOption }).nullish(),
    'the search of the provider, with its usual options; left out where the model has none',
  ),
  n: refuse('is taken as 1 only', 1),
  logit_bias: refuse('is not supported by every provider'),
  audio: refuse('is not supported'),
  modalities: translate(z.array(z.literal('text', 'must be text')).nullish(), 'text is what models answer with'),
  functions: refuse('is the older word for tools'),
  function_call: refuse('is the older word for tool_choice', 'auto', 'none'),
  logprobs: passThrough(z.boolean().nullish(), 'it is left out and named if the provider does not support it'),
  top_logprobs: passThrough(z.int().nullish(), 'it is left out and named if the provider does not support it'),
  prediction: ignore('the answer is the same, and not faster'),
  store: ignore('nothing is kept'),
  moderation: ignore('the provider moderates by its own rules'),
  ...sharedLabels,
})
type ChatRequest = z.output<typeof chatRequest>

export function chatToCoreRequest(request: ChatRequest): CoreRequest {
  const { model, messages, tool_choice: choice, response_format: format } = request
  const tools = selectTools(request)
  return {
    model,
    messages: toMessages(messages),
    ...pickReferences(tools),
    tools: tools.filter(isDeclaration).map(toCallerTool),
    ...(choice && { toolChoice: toToolChoice(choice) }),
    ...(format && format.type !== 'text' && { format: toJsonFormat(format) }),
    ...(request.web_search_options && { optionalTools: ['web_search'] }),
    isAdaptable: true,
    parameters: toParameters(request),
  }
}

/** Selects the tools that the request allows. */
const selectTools = ({ tools, tool_choice: choice }: Pick<ChatRequest, 'tools' | 'tool_choice'>) =>
  filterAllowed(
    tools ?? [],
    typeof choice === 'object' && choice?.type === 'allowed_tools' ? choice.allowed_tools : undefined,
    readToolName,
  )

const readToolName = (tool: Tool) => (tool.type === 'custom' ? tool.custom.name : tool.function.name)

/** Lists the names of custom tools. */
export const listCustomTools = ({ tools }: ChatRequest): ReadonlySet<string> =>
  new Set((tools ?? []).filter(isDeclaration).flatMap((tool) => (tool.type === 'custom' ? tool.custom.name : [])))

function toCallerTool(tool: Tool): CoreRequest['tools'] extends (infer One)[] | undefined ? One : never {
  if (tool.type === 'custom') return toFunction(tool.custom)
  const { name, description, parameters, strict } = tool.function
  return {
    name,
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...definedOnly({ description, strict }),
  }
}

function toToolChoice(choice: NonNullable<ChatRequest['tool_choice']>): ToolChoice {
  if (typeof choice === 'string') return choice
  if (choice.type === 'allowed_tools') return choice.allowed_tools.mode
  return { name: choice.type === 'custom' ? choice.custom.name : choice.function.name }
}

function toJsonFormat(format: Exclude<NonNullable<ChatRequest['response_format']>, { type: 'text' }>): JsonFormat {
  if (format.type === 'json_object') return {}
  const { name, description, schema, strict } = format.json_schema
  return { name, ...definedOnly({ description, schema, strict }) }
}

function toParameters(request: ChatRequest): CallParameters {
  const { temperature, seed, top_p: topP, reasoning_effort: effort, verbosity, stop } = request
  const { parallel_tool_calls: parallelTools, presence_penalty, frequency_penalty } = request
  const { chat_template_kwargs: templateOptions } = request
  const maxTokens = request.max_completion_tokens ?? request.max_tokens
  const maxTokensName = request.max_completion_tokens != null ? ('max_completion_tokens' as const) : undefined
  const stops = [stop ?? []].flat()
  const sampling = definedOnly({ temperature, topP, seed, stop: stops.length > 0 ? stops : undefined })
  // Zero is the default, and not every provider supports penalties.
  const penalties = definedOnly({
    presencePenalty: presence_penalty || undefined,
    frequencyPenalty: frequency_penalty || undefined,
  })
  return {
    ...sampling,
    ...penalties,
    ...definedOnly({ maxTokens, maxTokensName, effort, verbosity, parallelTools, templateOptions }),
    ...definedOnly({ logprobs: request.logprobs || undefined, topLogprobs: request.top_logprobs || undefined }),
    ...readCacheNames(request),
  }
}

/** Maps a path of our request to the client's request. */
export function mapChatErrorPath(request: ChatRequest, path: Issue['path']): Issue['path'] {
  const [root, name] = path
  if (root === 'parameters' && name === 'maxTokens' && request.max_completion_tokens != null)
    return ['max_completion_tokens']
  if (root === 'messages') return mapMessagePath(request.messages, path)
  return mapToolPath(request.tools, path, selectTools(request))
}

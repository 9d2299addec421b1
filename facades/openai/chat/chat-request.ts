import { z } from 'zod'
import { type CallParameters, efforts, type JsonFormat } from '../../../routers/ports/ai/models.ts'
import type { ToolChoice } from '../../../routers/ports/ai/tools.ts'
import type { CoreRequest } from '../../ai/answer.ts'
import { ignored, label, passedOn, refused, translated } from '../../ai/members.ts'
import { set, textOr } from '../../ai/request-body.ts'
import {
  allowedTools,
  customFunction,
  customTool,
  isOwn,
  mapToolPath,
  narrowed,
  referencesAmong,
  toolOrReference,
} from '../openai-tools.ts'
import { message, messagePlace, toMessages } from './chat-messages.ts'

/** Words of the caller about a request, which both APIs have: they go no further. */
export const labels = {
  user: label('the provider is told nothing of who asks'),
  safety_identifier: label('the provider is told nothing of who asks'),
  metadata: label('nothing is kept that it could mark'),
  prompt_cache_key: label('the provider decides what it caches'),
  prompt_cache_options: label('the provider decides what it caches'),
  prompt_cache_retention: label('the provider decides what it caches'),
  service_tier: ignored('the contract with the provider decides', 'auto', 'default'),
  client_metadata: label('nothing is kept that it could mark'),
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

const named = z.strictObject({ name: z.string() })
const toolChoice = textOr(
  z.enum(['auto', 'required', 'none']),
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('function'), function: named }),
    z.strictObject({ type: z.literal('custom'), custom: named }),
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

const streamOptions = z.strictObject({
  include_usage: translated(z.boolean().nullish(), 'the stream ends with a chunk of the usage'),
  include_obfuscation: ignored('nothing is padded'),
})

/** All standard members of a request for a chat completion. */
export const chatRequest = z.strictObject({
  model: translated(z.string(), 'one of `GET /v1/models`'),
  messages: translated(z.array(message), 'instructions go first, wherever they stand'),
  stream: translated(z.boolean().nullish(), 'the answer comes as it is made'),
  stream_options: translated(streamOptions.nullish(), 'see its members'),
  temperature: passedOn(z.number().nullish()),
  top_p: passedOn(z.number().nullish()),
  max_tokens: passedOn(z.int().nullish(), 'as `max_completion_tokens` to models of OpenAI that take only this'),
  max_completion_tokens: passedOn(z.int().nullish(), 'in the word that the provider has'),
  seed: passedOn(z.int().nullish()),
  stop: passedOn(z.union([z.string(), z.array(z.string())]).nullish()),
  presence_penalty: passedOn(z.number().nullish(), 'left out, and named, where the provider has no word for it'),
  frequency_penalty: passedOn(z.number().nullish(), 'left out, and named, where the provider has no word for it'),
  verbosity: passedOn(
    z.enum(['low', 'medium', 'high']).nullish(),
    'left out, and named, where the provider has no word for it',
  ),
  reasoning_effort: passedOn(z.enum(efforts).nullish()),
  chat_template_kwargs: passedOn(
    z.record(z.string(), z.unknown()).nullish(),
    'to servers of open models; left out, and named, where the provider has no word for it',
  ),
  tools: translated(
    z.array(toolOrReference(tool)).nullish(),
    'functions; a custom tool is a function of one text; a text names a tool of the service',
  ),
  tool_choice: translated(toolChoice.nullish(), 'in the words of the provider'),
  parallel_tool_calls: passedOn(z.boolean().nullish()),
  response_format: translated(responseFormat.nullish(), 'in the words of the provider'),
  web_search_options: translated(
    z.looseObject({}).nullish(),
    'the search of the provider, with its usual options; left out where the model has none',
  ),
  n: refused('is taken as 1 only', 1),
  logit_bias: refused('is nothing that models of all providers take'),
  audio: refused('is nothing that this service answers with'),
  modalities: translated(z.array(z.literal('text', 'must be text')).nullish(), 'text is what models answer with'),
  functions: refused('is the older word for tools'),
  function_call: refused('is the older word for tool_choice', 'auto', 'none'),
  logprobs: ignored('not every provider tells how likely a word was'),
  top_logprobs: ignored('not every provider tells how likely a word was'),
  prediction: ignored('the answer is the same, and not faster'),
  store: ignored('nothing is kept'),
  moderation: ignored('the provider moderates by its own rules'),
  ...labels,
})
export type ChatRequest = z.output<typeof chatRequest>

export function toAiRequest(asked: ChatRequest): CoreRequest {
  const { model, messages, tool_choice: choice, response_format: format } = asked
  const tools = narrowed(
    asked.tools ?? [],
    typeof choice === 'object' && choice?.type === 'allowed_tools' ? choice.allowed_tools : undefined,
    nameOf,
  )
  return {
    model,
    messages: toMessages(messages),
    ...referencesAmong(tools),
    tools: tools.filter(isOwn).map(toCallerTool),
    ...(choice && { toolChoice: toToolChoice(choice) }),
    ...(format && format.type !== 'text' && { format: toJsonFormat(format) }),
    ...(asked.web_search_options && { optionalTools: ['web_search'] }),
    isAdaptable: true,
    parameters: toParameters(asked),
  }
}

const nameOf = (tool: Tool) => (tool.type === 'custom' ? tool.custom.name : tool.function.name)

/** The names of the tools that take one text. */
export const customNames = ({ tools }: ChatRequest): ReadonlySet<string> =>
  new Set((tools ?? []).filter(isOwn).flatMap((tool) => (tool.type === 'custom' ? tool.custom.name : [])))

function toCallerTool(tool: Tool): CoreRequest['tools'] extends (infer One)[] | undefined ? One : never {
  if (tool.type === 'custom') return customFunction(tool.custom)
  const { name, description, parameters, strict } = tool.function
  return { name, inputSchema: parameters ?? { type: 'object', properties: {} }, ...set({ description, strict }) }
}

function toToolChoice(choice: NonNullable<ChatRequest['tool_choice']>): ToolChoice {
  if (typeof choice === 'string') return choice
  if (choice.type === 'allowed_tools') return choice.allowed_tools.mode
  return { name: choice.type === 'custom' ? choice.custom.name : choice.function.name }
}

function toJsonFormat(format: Exclude<NonNullable<ChatRequest['response_format']>, { type: 'text' }>): JsonFormat {
  if (format.type === 'json_object') return {}
  const { name, description, schema, strict } = format.json_schema
  return { name, ...set({ description, schema, strict }) }
}

function toParameters(asked: ChatRequest): CallParameters {
  const { temperature, seed, top_p: topP, reasoning_effort: effort, verbosity, stop } = asked
  const { parallel_tool_calls: parallelTools, presence_penalty, frequency_penalty } = asked
  const { chat_template_kwargs: templateOptions } = asked
  const maxTokens = asked.max_completion_tokens ?? asked.max_tokens
  const maxTokensName = asked.max_completion_tokens != null ? ('max_completion_tokens' as const) : undefined
  const stops = [stop ?? []].flat()
  const sampling = set({ temperature, topP, seed, stop: stops.length > 0 ? stops : undefined })
  // Zero is the usual value, of which not every provider has a word.
  const penalties = set({
    presencePenalty: presence_penalty || undefined,
    frequencyPenalty: frequency_penalty || undefined,
  })
  return {
    ...sampling,
    ...penalties,
    ...set({ maxTokens, maxTokensName, effort, verbosity, parallelTools, templateOptions }),
  }
}

type Path = readonly (string | number)[]

/** Where in the request stands what a path of ours leads to. */
export function mapChatErrorPath({ messages, tools, ...asked }: ChatRequest, path: Path): Path {
  const [root, name] = path
  if (root === 'parameters' && name === 'maxTokens' && asked.max_completion_tokens != null)
    return ['max_completion_tokens']
  return root === 'messages' ? messagePlace(messages, path) : mapToolPath(tools, path)
}

import { z } from 'zod'
import { type CallParameters, efforts, type JsonFormat } from '../../../routers/ports/ai/models.ts'
import type { ToolChoice } from '../../../routers/ports/ai/tools.ts'
import { labels, only, set } from '../../ai/parameters.ts'
import type { CoreRequest } from '../../ai/types.ts'
import { isOwn, referencesAmong, toolOrReference } from '../tools.ts'
import { message, messagesOf } from './messages.ts'

const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
})

const toolChoice = z.union([
  z.enum(['auto', 'required', 'none']),
  z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
])

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

/** A request for a chat completion. What is not known here is refused, as it would else be passed over in silence. */
export const chatRequest = z.strictObject({
  model: z.string(),
  messages: z.array(message),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: only(false) }).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  max_tokens: z.int().nullish(),
  max_completion_tokens: z.int().nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  reasoning_effort: z.enum(efforts).nullish(),
  tools: z.array(toolOrReference(tool)).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: responseFormat.nullish(),
  n: only(1),
  frequency_penalty: only(0),
  presence_penalty: only(0),
  logprobs: only(false),
  store: only(false),
  service_tier: z.enum(['auto', 'default']).nullish(),
  modalities: z.tuple([z.literal('text')]).nullish(),
  ...labels,
})
export type ChatRequest = z.output<typeof chatRequest>

export function coreRequestOf(asked: ChatRequest): CoreRequest {
  const { model, messages, tools, tool_choice: choice, response_format: format } = asked
  return {
    model,
    messages: messagesOf(messages),
    ...referencesAmong(tools),
    tools: (tools ?? []).filter(isOwn).map(({ function: { name, description, parameters, strict } }) => ({
      name,
      inputSchema: parameters ?? { type: 'object', properties: {} },
      ...set({ description, strict }),
    })),
    ...(choice && { toolChoice: choiceOf(choice) }),
    ...(format && format.type !== 'text' && { format: formatOf(format) }),
    parameters: parametersOf(asked),
  }
}

const choiceOf = (choice: NonNullable<ChatRequest['tool_choice']>): ToolChoice =>
  typeof choice === 'string' ? choice : { name: choice.function.name }

function formatOf(format: Exclude<NonNullable<ChatRequest['response_format']>, { type: 'text' }>): JsonFormat {
  if (format.type === 'json_object') return {}
  const { name, description, schema, strict } = format.json_schema
  return { name, ...set({ description, schema, strict }) }
}

function parametersOf(asked: ChatRequest): CallParameters {
  const { temperature, seed, top_p: topP, reasoning_effort: effort, stop } = asked
  const { parallel_tool_calls: parallelTools } = asked
  const maxTokens = asked.max_completion_tokens ?? asked.max_tokens
  const sampling = set({ temperature, topP, seed, stop: typeof stop === 'string' ? [stop] : stop })
  return { ...sampling, ...set({ maxTokens, effort, parallelTools }) }
}

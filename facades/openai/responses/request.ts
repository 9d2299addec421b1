import { z } from 'zod'
import { efforts, type JsonFormat } from '../../../routers/ports/ai/models.ts'
import type { ToolChoice } from '../../../routers/ports/ai/tools.ts'
import { labels, only, set } from '../../ai/parameters.ts'
import type { CoreRequest } from '../../ai/types.ts'
import { isOwn, referencesAmong, toolOrReference } from '../tools.ts'
import { item, messagesOf } from './items.ts'

const schema = z.record(z.string(), z.unknown())

const tool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullish(),
  parameters: schema.nullish(),
  strict: z.boolean().nullish(),
})

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullish(),
    schema,
    strict: z.boolean().nullish(),
  }),
])

/** A request for a response. What is not known here is refused, as it would else be passed over in silence. */
export const responseRequest = z.strictObject({
  model: z.string(),
  input: z
    .preprocess((input) => (typeof input === 'string' ? [{ role: 'user', content: input }] : input), z.array(item))
    .meta({ shorthand: 'text' }),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: only(false) }).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  max_output_tokens: z.int().nullish(),
  reasoning: z
    .strictObject({ effort: z.enum(efforts).nullish(), summary: z.enum(['auto', 'concise', 'detailed']).nullish() })
    .nullish(),
  text: z.strictObject({ format: format.nullish() }).nullish(),
  tools: z.array(toolOrReference(tool)).nullish(),
  tool_choice: z
    .union([z.enum(['auto', 'required', 'none']), z.strictObject({ type: z.literal('function'), name: z.string() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  include: z.array(z.literal('reasoning.encrypted_content')).nullish(),
  // Nothing is kept here.
  store: only(false),
  background: only(false),
  truncation: only('disabled'),
  top_logprobs: only(0),
  service_tier: z.enum(['auto', 'default']).nullish(),
  ...labels,
})
export type ResponseRequest = z.output<typeof responseRequest>

export function coreRequestOf(asked: ResponseRequest): CoreRequest {
  const { model, input, instructions, tools, tool_choice: choice, text } = asked
  return {
    model,
    ...(instructions && { system: [{ type: 'text', text: instructions }] }),
    messages: messagesOf(input),
    mayAsk: true,
    ...referencesAmong(tools),
    tools: (tools ?? []).filter(isOwn).map(({ name, description, parameters, strict }) => ({
      name,
      inputSchema: parameters ?? { type: 'object', properties: {} },
      ...set({ description, strict }),
    })),
    ...(choice && { toolChoice: (typeof choice === 'string' ? choice : { name: choice.name }) satisfies ToolChoice }),
    ...(text?.format && text.format.type !== 'text' && { format: formatOf(text.format) }),
    parameters: set({
      temperature: asked.temperature,
      topP: asked.top_p,
      maxTokens: asked.max_output_tokens,
      effort: asked.reasoning?.effort,
      thoughts: asked.reasoning?.summary,
      parallelTools: asked.parallel_tool_calls,
    }),
  }
}

function formatOf(wanted: Exclude<z.output<typeof format>, { type: 'text' }>): JsonFormat {
  if (wanted.type === 'json_object') return {}
  const { name, description, schema, strict } = wanted
  return { name, schema, ...set({ description, strict }) }
}

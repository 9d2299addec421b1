import { z } from 'zod'
import { efforts, type JsonFormat } from '../../../routers/ports/ai/models.ts'
import type { CoreRequest } from '../../ai/answer.ts'
import { ignored, label, passedOn, refused, translated } from '../../ai/members.ts'
import { set } from '../../ai/request-body.ts'
import { labels } from '../chat/chat-request.ts'
import { mapToolPath } from '../openai-tools.ts'
import { type Item, item, itemAt, toMessages } from './responses-items.ts'
import { type ToolTable, toolChoice, tools, toToolChoice } from './responses-tools.ts'

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullish(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
  }),
])

const summary = z.enum(['auto', 'concise', 'detailed']).nullish()

const reasoning = z.strictObject({
  effort: passedOn(z.enum(efforts).nullish()),
  summary: passedOn(summary),
  generate_summary: translated(summary, 'the older word for `summary`'),
  context: label('all thoughts that are sent back go to the model'),
  mode: label('the model thinks in its usual way'),
})

const text = z.strictObject({
  format: translated(format.nullish(), 'in the words of the provider'),
  verbosity: passedOn(
    z.enum(['low', 'medium', 'high']).nullish(),
    'left out, and named, where the provider has no word for it',
  ),
})

const streamOptions = z.strictObject({ include_obfuscation: ignored('nothing is padded') })

/** All standard members of a request for a response. */
export const responseRequest = z.strictObject({
  model: translated(z.string(), 'one of `GET /v1/models`'),
  input: translated(
    z
      .preprocess((input) => (typeof input === 'string' ? [{ role: 'user', content: input }] : input), z.array(item))
      .meta({ shorthand: 'text' }),
    'a text or items; what a provider ran itself is not sent back',
  ),
  instructions: translated(z.string().nullish(), 'before all instructions in `input`'),
  stream: translated(z.boolean().nullish(), 'the answer comes as events'),
  stream_options: translated(streamOptions.nullish(), 'see its members'),
  temperature: passedOn(z.number().nullish()),
  top_p: passedOn(z.number().nullish()),
  max_output_tokens: passedOn(z.int().nullish(), 'in the word that the provider has'),
  reasoning: translated(reasoning.nullish(), 'see its members'),
  text: translated(text.nullish(), 'see its members'),
  tools: translated(
    tools.nullish(),
    'functions; a custom tool is a function of one text; those of a namespace have both names; a search is that of the provider, or left out where the model has none; a text names a tool of the service',
  ),
  tool_choice: translated(toolChoice.nullish(), 'in the words of the provider'),
  parallel_tool_calls: passedOn(z.boolean().nullish()),
  include: label('encrypted thoughts are always told, and nothing else is there'),
  truncation: ignored('what is too long is refused, and never cut', 'disabled'),
  max_tool_calls: ignored('the service has a bound of its own'),
  context_management: ignored('the conversation is sent as it is'),
  top_logprobs: ignored('not every provider tells how likely a word was'),
  store: ignored('nothing is kept; the response says so'),
  moderation: ignored('the provider moderates by its own rules'),
  access_programs: ignored('there are none'),
  background: refused('is taken as false only, as nothing is kept', false),
  previous_response_id: refused('is nothing that is known here, as nothing is kept: send the conversation'),
  conversation: refused('is nothing that is known here, as nothing is kept: send the conversation'),
  prompt: refused('is nothing that is known here, as nothing is kept: send the instructions'),
  image: refused('is nothing that this service answers with'),
  ...labels,
})
export type ResponseRequest = z.output<typeof responseRequest>

export function toAiRequest(asked: ResponseRequest, table: ToolTable): CoreRequest {
  const { model, input, instructions, tool_choice: choice, text } = asked
  return {
    model,
    ...(instructions && { system: [{ type: 'text', text: instructions }] }),
    messages: toMessages(input),
    mayAsk: true,
    isAdaptable: true,
    ...(table.references.length > 0 && { modelTools: [...table.references] }),
    ...(table.wantsSearch && { optionalTools: ['web_search'] }),
    tools: table.declared.map(({ tool }) => tool),
    ...(choice && { toolChoice: toToolChoice(choice) }),
    ...(text?.format && text.format.type !== 'text' && { format: toJsonFormat(text.format) }),
    parameters: set({
      temperature: asked.temperature,
      topP: asked.top_p,
      maxTokens: asked.max_output_tokens,
      effort: asked.reasoning?.effort,
      thoughts: asked.reasoning?.summary ?? asked.reasoning?.generate_summary,
      verbosity: text?.verbosity,
      parallelTools: asked.parallel_tool_calls,
    }),
  }
}

function toJsonFormat(wanted: Exclude<z.output<typeof format>, { type: 'text' }>): JsonFormat {
  if (wanted.type === 'json_object') return {}
  const { name, description, schema, strict } = wanted
  return { name, schema, ...set({ description, strict }) }
}

type Path = readonly (string | number)[]

/** What items call the members of the parts that they become. Messages call all as we do. */
const members: Partial<Record<Item['type'], Record<string, string>>> = {
  reasoning: { text: 'summary', signature: 'encrypted_content' },
  function_call: { id: 'call_id', input: 'arguments', signature: 'id' },
  function_call_output: { id: 'call_id', content: 'output' },
  custom_tool_call: { id: 'call_id', signature: 'id' },
  custom_tool_call_output: { id: 'call_id', content: 'output' },
  mcp_approval_request: { input: 'arguments', signature: 'id' },
  mcp_approval_response: { id: 'approval_request_id', allow: 'approve' },
  mcp_call: { input: 'arguments', content: 'output' },
}

/** Where in the request stands what a path of ours leads to; where items that say nothing to the model have no message. */
export function mapResponsesErrorPath({ input, tools }: ResponseRequest, table: ToolTable, path: Path): Path {
  const [first, message, ...rest] = path
  if (first !== 'messages') return table.placeOf(path) ?? mapToolPath(tools, path)
  if (typeof message !== 'number') return ['input']
  const at = itemAt(input, message)
  const item = input[at]
  return ['input', at, ...(item ? placeWithin(item, rest) : rest)]
}

/** An item that is no message is one part of ours, so that nothing in it is named `content[0]`. */
function placeWithin(item: Item, path: Path): Path {
  const named = members[item.type]
  if (!named) return path
  const [member, ...rest] = path.slice(2)
  if (member === undefined) return []
  const isOfQuestion = item.type === 'mcp_call' && member === 'id' && item.approval_request_id
  return [isOfQuestion ? 'approval_request_id' : (named[member] ?? member), ...rest]
}

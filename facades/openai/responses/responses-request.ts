import { z } from 'zod'
import type { Issue } from '../../../routers/core/problems.ts'
import { efforts, type JsonFormat } from '../../../routers/ports/ai/models.ts'
import type { CoreRequest } from '../../ai/answer.ts'
import { ignore, ignoreSilently, passThrough, refuse, translate } from '../../ai/members.ts'
import { definedOnly, textOrList } from '../../ai/request-body.ts'
import { sharedLabels } from '../chat/chat-request.ts'
import { mapToolPath } from '../openai-tools.ts'
import { findItemIndex, type Item, item, toMessages } from './responses-items.ts'
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
  effort: passThrough(z.enum(efforts).nullish()),
  summary: passThrough(summary),
  generate_summary: translate(summary, 'the older word for `summary`'),
  context: ignoreSilently('all thoughts that are sent back go to the model'),
  mode: ignoreSilently('the model thinks in its usual way'),
})

const text = z.strictObject({
  format: translate(format.nullish(), 'in the words of the provider'),
  verbosity: passThrough(
    z.enum(['low', 'medium', 'high']).nullish(),
    'omitted and reported if the provider does not support it',
  ),
})

const streamOptions = z.strictObject({ include_obfuscation: ignore('nothing is padded') })

/** All standard members of a request for a response. */
export const responseRequest = z.strictObject({
  model: translate(z.string(), 'one of `GET /v1/models`'),
  input: translate(
    textOrList(item, (content) => ({ role: 'user', content })),
    'a text or items; what a provider ran itself is not sent back',
  ),
  instructions: translate(z.string().nullish(), 'before all instructions in `input`'),
  stream: translate(z.boolean().nullish(), 'the answer comes as events'),
  stream_options: translate(streamOptions.nullish(), 'see its members'),
  temperature: passThrough(z.number().nullish()),
  top_p: passThrough(z.number().nullish()),
  max_output_tokens: passThrough(z.int().nullish(), 'in the word that the provider has'),
  reasoning: translate(reasoning.nullish(), 'see its members'),
  text: translate(text.nullish(), 'see its members'),
  tools: translate(
    tools.nullish(),
    'functions; a custom tool is a function of one text; those of a namespace have both names; a search is that of the provider, or left out where the model has none; a text names a tool of the service',
  ),
  tool_choice: translate(toolChoice.nullish(), 'in the words of the provider'),
  parallel_tool_calls: passThrough(z.boolean().nullish()),
  include: ignoreSilently('encrypted reasoning is always returned; nothing else can be included'),
  truncation: ignore('what is too long is refused, and never cut', 'disabled'),
  max_tool_calls: ignore('the service has a bound of its own'),
  context_management: ignore('the conversation is sent as it is'),
  top_logprobs: ignore('not every provider tells how likely a word was'),
  store: ignore('nothing is kept; the response says so'),
  moderation: ignore('the provider moderates by its own rules'),
  access_programs: ignore('there are none'),
  background: refuse('is taken as false only, as nothing is kept', false),
  previous_response_id: refuse('is not supported, as nothing is stored: send the conversation'),
  conversation: refuse('is not supported, as nothing is stored: send the conversation'),
  prompt: refuse('is not supported, as nothing is stored: send the instructions'),
  image: refuse('is not supported'),
  ...sharedLabels,
})
export type ResponseRequest = z.output<typeof responseRequest>

export function responsesToCoreRequest(request: ResponseRequest, table: ToolTable): CoreRequest {
  const { model, input, instructions, tool_choice: choice, text } = request
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
    parameters: definedOnly({
      temperature: request.temperature,
      topP: request.top_p,
      maxTokens: request.max_output_tokens,
      effort: request.reasoning?.effort,
      thoughts: request.reasoning?.summary ?? request.reasoning?.generate_summary,
      verbosity: text?.verbosity,
      parallelTools: request.parallel_tool_calls,
    }),
  }
}

function toJsonFormat(textFormat: Exclude<z.output<typeof format>, { type: 'text' }>): JsonFormat {
  if (textFormat.type === 'json_object') return {}
  const { name, description, schema, strict } = textFormat
  return { name, schema, ...definedOnly({ description, strict }) }
}

/** Names of our part members in items. Messages use the same names. */
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

/** Maps a path of our request to the client's request; items without a message are taken into account. */
export function mapResponsesErrorPath(
  { input, tools }: ResponseRequest,
  table: ToolTable,
  path: Issue['path'],
): Issue['path'] {
  const [first, message, ...rest] = path
  if (first !== 'messages') return table.mapPath(path) ?? mapToolPath(tools, path)
  if (typeof message !== 'number') return ['input']
  const at = findItemIndex(input, message)
  const item = input[at]
  return ['input', at, ...(item ? mapItemPath(item, rest) : rest)]
}

/** Maps a path within an item. An item that is no message becomes a single part, so its path has no `content[0]`. */
function mapItemPath(item: Item, path: Issue['path']): Issue['path'] {
  const memberNames = members[item.type]
  if (!memberNames) return path
  const [member, ...rest] = path.slice(2)
  if (member === undefined) return []
  const isOfApproval = item.type === 'mcp_call' && member === 'id' && item.approval_request_id
  return [isOfApproval ? 'approval_request_id' : (memberNames[member] ?? member), ...rest]
}

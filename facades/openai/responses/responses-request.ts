import { z } from 'zod'
import type { Issue } from '../../../routers/core/problems.ts'
import { efforts, type JsonFormat } from '../../../routers/ports/ai/models.ts'
import type { CoreRequest } from '../../ai/answer.ts'
import { hint, ignore, passThrough, refuse, translate } from '../../ai/members.ts'
import { definedOnly, textOrList } from '../../ai/request-body.ts'
import { readCacheNames, sharedLabels } from '../chat/chat-request.ts'
import { mapToolPath } from '../openai-tools.ts'
import { type Item, item, type TextFormat, textFormat } from './responses-items.ts'
import { asksForSummary, findItemIndex, toMessages } from './responses-messages.ts'
import { toolChoice, tools } from './responses-tools.ts'
import type { ToolTable } from './tool-table.ts'

const summary = z.enum(['auto', 'concise', 'detailed']).nullish()

const reasoning = z.strictObject({
  effort: hint(z.enum(efforts).nullish(), 'the provider receives it'),
  summary: hint(summary, 'the provider receives it'),
  generate_summary: hint(summary, 'the older word for `summary`'),
  context: ignore('all thoughts that are sent back go to the model', 'auto'),
  mode: ignore('the model thinks in its usual way'),
})

const text = z.strictObject({
  format: textFormat,
  verbosity: hint(
    z.enum(['low', 'medium', 'high']).nullish(),
    'it is left out and named if the provider does not support it',
  ),
})

const streamOptions = z.strictObject({ include_obfuscation: ignore('nothing is padded') })

/** All standard members of a request for a response. */
export const responseRequest = z.strictObject({
  model: translate(z.string(), 'it names one of `GET /v1/models`'),
  input: translate(
    textOrList(item, (content) => ({ role: 'user', content })),
    'a text or items; what a provider ran itself is left out',
  ),
  instructions: translate(z.string().nullish(), 'before all instructions in `input`'),
  stream: translate(z.boolean().nullish(), 'the answer comes as events'),
  stream_options: translate(streamOptions.nullish(), 'its members say how'),
  temperature: passThrough(z.number().nullish()),
  top_p: passThrough(z.number().nullish()),
  max_output_tokens: passThrough(z.int().nullish(), 'it has the name that the provider knows'),
  reasoning: translate(reasoning.nullish(), 'its members say how'),
  text: translate(text.nullish(), 'its members say how'),
  tools: translate(
    tools.nullish(),
    'functions; a custom tool is a function of one text; those of a namespace have both names; a search is that of the provider, or left out where the model has none; a text names a tool of the service',
  ),
  tool_choice: translate(toolChoice.nullish(), 'the provider receives it in its own words'),
  parallel_tool_calls: passThrough(z.boolean().nullish()),
  include: translate(
    z.array(z.string()).nullish(),
    'encrypted reasoning is always returned; nothing else can be included',
  ),
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
  const { model, input, instructions } = request
  const update = readConfigurationUpdate(input)
  const format = update.format ?? request.text?.format
  const isSummary = asksForSummary(input)
  const toolChoice = isSummary ? ('none' as const) : table.choice
  return {
    model,
    ...(instructions && { system: [{ type: 'text', text: instructions }] }),
    messages: toMessages(input),
    mayAsk: true,
    isAdaptable: true,
    ...(table.references.length > 0 && { modelTools: [...table.references] }),
    ...(table.wantsSearch && { optionalTools: ['web_search'] }),
    tools: table.declared.map(({ tool }) => tool),
    ...(toolChoice && (table.declared.length > 0 || !isSummary) && { toolChoice }),
    ...(format && format.type !== 'text' && !isSummary && { format: toJsonFormat(format) }),
    parameters: definedOnly({
      temperature: request.temperature,
      topP: request.top_p,
      maxTokens: request.max_output_tokens,
      effort: update.effort ?? request.reasoning?.effort,
      thoughts: request.reasoning?.summary ?? request.reasoning?.generate_summary,
      verbosity: request.text?.verbosity,
      parallelTools: request.parallel_tool_calls,
      ...readCacheNames(request),
    }),
  }
}

/** Reads the settings that items of the input have changed; the last change of each counts. */
function readConfigurationUpdate(input: readonly Item[]) {
  const updates = input.filter((one) => one.type === 'configuration_update')
  return {
    effort: updates.findLast(({ reasoning }) => reasoning?.effort)?.reasoning?.effort,
    format: updates.findLast(({ text }) => text?.format)?.text?.format,
  }
}

function toJsonFormat(textFormat: Exclude<TextFormat, { type: 'text' }>): JsonFormat {
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
  local_shell_call: { id: 'call_id', input: 'action' },
  local_shell_call_output: { content: 'output' },
  shell_call: { id: 'call_id', input: 'action' },
  shell_call_output: { id: 'call_id', content: 'output' },
  apply_patch_call: { id: 'call_id', input: 'operation' },
  apply_patch_call_output: { id: 'call_id', content: 'output' },
  tool_search_call: { id: 'call_id', input: 'arguments' },
  tool_search_output: { id: 'call_id', content: 'tools' },
  compaction: { text: 'encrypted_content' },
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

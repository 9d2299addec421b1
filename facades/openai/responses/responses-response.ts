import type { Reasoning, Source, ToolCall } from '../../../routers/ports/ai/messages.ts'
import type { FinishReason } from '../../../routers/ports/ai/models.ts'
import { parseArguments } from '../../../routers/ports/ai/tool-calls.ts'
import type { Usage, WholeAnswer } from '../../ai/answer.ts'
import { definedOnly } from '../../ai/request-body.ts'
import { readCustomInput } from '../openai-tools.ts'
import { encodeSignatureInId, toApprovalRequestItem, toMcpCallItem } from './responses-approvals.ts'
import type { ResponseRequest } from './responses-request.ts'
import { toSummaryItem } from './responses-summary.ts'
import type { ToolTable } from './tool-table.ts'

/** Defaults of a response. */
const responseDefaults = {
  access_programs: null,
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
}

/** Creates a response without output, which repeats the request; `metadata` is left out of the request itself. */
export function startResponse(id: string, created: number, request: ResponseRequest, metadata: unknown) {
  const { instructions, max_output_tokens, parallel_tool_calls, temperature, tool_choice, tools, top_p } = request
  const knownTools = tools?.flatMap((tool) => {
    if (typeof tool === 'object' && tool.type === 'omitted') return []
    return typeof tool === 'object' && tool.type === 'function' ? { parameters: null, strict: null, ...tool } : tool
  })
  const sampling = { temperature: temperature ?? undefined, top_p: top_p ?? undefined }
  const repeated = { instructions, max_output_tokens, metadata, parallel_tool_calls, tool_choice }
  return {
    id,
    object: 'response',
    created_at: created,
    completed_at: null as number | null,
    status: 'in_progress',
    ...responseDefaults,
    ...definedOnly({ ...repeated, ...sampling, tools: knownTools }),
    error: null as { code: string; message: string } | null,
    incomplete_details: null as { reason: string } | null,
    model: request.model,
    output: [] as object[],
    reasoning: { effort: null, summary: null, ...definedOnly({ ...request.reasoning }) },
    text: { format: { type: 'text' }, ...definedOnly({ ...request.text }) },
    usage: null as object | null,
  }
}
export type Response = ReturnType<typeof startResponse>

/** Reasons of incomplete responses by finish reason. */
const incompleteReasons: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
}

/** Completes a response with its output. */
export function endResponse(response: Response, output: object[], finish: FinishReason, usage: Usage): Response {
  const reason = incompleteReasons[finish]
  const outcome = reason
    ? { status: 'incomplete', incomplete_details: { reason } }
    : { status: 'completed', completed_at: Math.floor(Date.now() / 1000) }
  return { ...response, ...outcome, output, usage: toUsage(usage) }
}

export function toWholeResponse(
  tools: ToolTable,
  response: Response,
  { content, finish, usage, failure }: WholeAnswer,
  isSummary: boolean,
): Response {
  const ids = new ItemIds(response.id)
  if (isSummary) return endResponse(response, [toSummaryItem(ids.next('cmp'), joinTexts(content))], finish, usage)
  const sources = content.filter((part) => part.type === 'source')
  let from = 0
  const toTextItem = ({ text }: { text: string }) => {
    const annotations = sources.flatMap((source) => toAnnotations(source, text, from))
    if (sources.length > 0) from += countCharacters(text)
    return toMessageItem(ids.next('msg'), text, annotations)
  }
  const output = content.flatMap((part) => {
    if (part.type === 'source') return []
    if (part.type === 'reasoning') return toReasoningItem(ids.next('rs'), part)
    if (part.type === 'approval') return toApprovalRequestItem(part)
    if (part.type === 'tool-run') return toMcpCallItem(ids.next('mcp'), part)
    return part.type === 'text' ? toTextItem(part) : toCallItem(ids, part, tools)
  })
  const whole = endResponse(response, output, finish, usage)
  return failure ? { ...whole, status: 'failed', completed_at: null, error: toResponseError(failure) } : whole
}

const joinTexts = (content: WholeAnswer['content']) =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('')

const rateLimitCodes: readonly string[] = ['limit_reached', 'limit_held', 'provider_rate_limited', 'too_many_requests']

/** Converts a failure to the few error codes of a response. */
export const toResponseError = ({ code, message }: NonNullable<WholeAnswer['failure']>) => ({
  code: rateLimitCodes.includes(code) ? 'rate_limit_exceeded' : 'server_error',
  message,
})

/** Generates the item ids of one response. */
export class ItemIds {
  readonly #base: string
  #count = 0

  constructor(responseId: string) {
    this.#base = responseId.replace('resp_', '')
  }

  next(kind: string): string {
    return `${kind}_${this.#base}_${this.#count++}`
  }
}

export const toMessageItem = (id: string, text: string, annotations: object[] = []) => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations, logprobs: [] }],
})

export const toReasoningItem = (id: string, { text, signature }: Pick<Reasoning, 'text' | 'signature'>) => ({
  id,
  type: 'reasoning',
  summary: text ? [{ type: 'summary_text', text }] : [],
  ...(signature && { encrypted_content: signature }),
})

/** Converts a call by the caller's names of the tool; each kind of tool has an item of its own. */
export function toCallItem(ids: ItemIds, { id: callId, name, input, signature }: ToolCall, tools: ToolTable) {
  const known = tools.find(name)
  const names = { name: known?.name ?? name, ...(known?.namespace !== undefined && { namespace: known.namespace }) }
  const item = <Type extends string>(prefix: string, type: Type) => ({
    id: encodeSignatureInId(ids.next(prefix), signature),
    type,
    call_id: callId,
    status: 'completed',
  })
  switch (known?.kind) {
    case 'custom':
      return { ...item('ctc', 'custom_tool_call'), ...names, input: readCustomInput(input) }
    case 'tool_search':
      return { ...item('tsc', 'tool_search_call'), execution: 'client', arguments: readObject(input) }
    case 'local_shell':
      return { ...item('lsh', 'local_shell_call'), action: { type: 'exec', env: {}, ...readObject(input) } }
    default:
      return { ...item('fc', 'function_call'), ...names, arguments: input }
  }
}
export type CallItem = ReturnType<typeof toCallItem>

/** Reads arguments that a client expects as an object. */
function readObject(text: string): object {
  const value = parseArguments(text)
  return typeof value === 'object' && value !== null ? value : {}
}

/** Converts the citations of a source within a text that begins at the given character of the answer. */
export function toAnnotations({ url, title = '', places, passage }: Source, text: string, from: number): object[] {
  const toCitation = (start_index: number, end_index: number) => [
    { type: 'url_citation', url, title, start_index, end_index },
    // A passage is of a file, too.
    ...(passage
      ? [{ type: 'file_citation', file_id: `file-${passage.file}`, filename: passage.path, index: end_index }]
      : []),
  ]
  // Clients expect a range even if the provider reports none.
  if (!places) return toCitation(0, 0)
  const to = from + countCharacters(text)
  const ranges = places.filter(({ start, end }) => start >= from && end <= to)
  return ranges.flatMap(({ start, end }) => toCitation(start - from, end - from))
}

export const countCharacters = (text: string): number => [...text].length

const toUsage = ({ inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens }: Usage) => ({
  input_tokens: inputTokens,
  input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
  output_tokens: outputTokens,
  output_tokens_details: { reasoning_tokens: reasoningTokens },
  total_tokens: inputTokens + outputTokens,
})

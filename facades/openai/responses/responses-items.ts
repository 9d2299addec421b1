import { z } from 'zod'
import type { Issue } from '../../../routers/core/problems.ts'
import type { AssistantPart } from '../../../routers/ports/ai/messages.ts'
import { ignoreSilently } from '../../ai/members.ts'
import { textOrList } from '../../ai/request-body.ts'
import type { RequestMessage, RequestPart } from '../chat/chat-messages.ts'
import { fileMembers, toFileOrAttachment, toImageOrAttachment } from '../files.ts'
import { writeCustomArguments } from '../openai-tools.ts'
import { approvalItems, decodeSignature, toApprovalMessages } from './responses-approvals.ts'
import { qualifyName } from './responses-tools.ts'

/** Members of returned items that are ignored, except for the signature in the id of a call. */
const ignoredMembers = {
  id: z.string().nullish(),
  status: z.string().nullish(),
  caller: z.unknown().optional(),
  async: z.unknown().optional(),
  internal_chat_message_metadata_passthrough: z.unknown().optional(),
}

/** Added by OpenAI's client for texts that it parses as JSON; ignored. */
const addedByClient = z.unknown().optional()

const cacheHints = { prompt_cache_breakpoint: ignoreSilently('the provider decides what it caches') }

const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('input_text'), text: z.string(), ...cacheHints }),
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.strictObject({
    type: z.literal('input_image'),
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
    detail: ignoreSilently('a picture is sent as it is'),
    ...cacheHints,
  }),
  z.strictObject({
    type: z.literal('input_file'),
    ...fileMembers,
    detail: ignoreSilently('a file is sent as it is'),
    ...cacheHints,
  }),
  z.strictObject({
    type: z.literal('output_text'),
    text: z.string(),
    annotations: z.array(z.unknown()).nullish(),
    logprobs: z.array(z.unknown()).nullish(),
    parsed: addedByClient,
  }),
])
type Part = z.output<typeof part>

const parts = textOrList(part, (text) => ({ type: 'input_text', text }))

const message = z.strictObject({
  ...ignoredMembers,
  type: z.literal('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: parts,
  phase: z.string().nullish(),
})
/** The name of a tool, and of its namespace. */
const toolNames = { name: z.string(), namespace: z.string().nullish() }

const silentItems = [
  'web_search_call',
  'file_search_call',
  'image_generation_call',
  'code_interpreter_call',
  'tool_search_call',
  'tool_search_output',
  'mcp_list_tools',
  'additional_tools',
  'configuration_update',
] as const

const items = z.discriminatedUnion('type', [
  message,
  z.strictObject({
    ...ignoredMembers,
    type: z.literal('reasoning'),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
    content: z.array(z.unknown()).nullish(),
    encrypted_content: z.string().nullish(),
  }),
  z.strictObject({
    ...ignoredMembers,
    type: z.literal('function_call'),
    call_id: z.string(),
    ...toolNames,
    arguments: z.string(),
    parsed_arguments: addedByClient,
  }),
  z.strictObject({
    ...ignoredMembers,
    type: z.literal('function_call_output'),
    call_id: z.string(),
    output: parts,
    name: z.string().nullish(),
    namespace: z.string().nullish(),
  }),
  z.strictObject({
    ...ignoredMembers,
    type: z.literal('custom_tool_call'),
    call_id: z.string(),
    ...toolNames,
    input: z.string(),
  }),
  z.strictObject({
    ...ignoredMembers,
    type: z.literal('custom_tool_call_output'),
    call_id: z.string(),
    output: parts,
    name: z.string().nullish(),
  }),
  // Items of the provider's own tools.
  z.looseObject({ type: z.enum(silentItems) }),
  ...approvalItems,
])
export type Item = z.output<typeof items>

/** A message may omit its type. */
export const item = z
  .preprocess(
    (value) =>
      typeof value === 'object' && value !== null && !('type' in value) ? { type: 'message', ...value } : value,
    items,
  )
  .meta({ shorthand: 'message' })

export function toMessages(input: readonly Item[]): RequestMessage[] {
  const calls = input.filter((one) => one.type === 'function_call' || one.type === 'custom_tool_call')
  const names = new Map(calls.map(({ call_id, name, namespace }) => [call_id, qualifyName(name, namespace)]))
  return input.flatMap((one, at) => toMessage(one, at, names))
}

/** Finds the index of the item from which a message was made. */
export const findItemIndex = (input: readonly Item[], message: number): number =>
  input.flatMap((one, at) => toMessages([one]).map(() => at))[message] ?? message

function toMessage(one: Item, at: number, names: ReadonlyMap<string, string>): RequestMessage | RequestMessage[] {
  switch (one.type) {
    case 'message':
      return toTextMessage(one, at)
    case 'reasoning':
      return { role: 'assistant', content: [toReasoningPart(one)] }
    case 'function_call':
      return { role: 'assistant', content: [toToolCall(one)] }
    case 'custom_tool_call':
      return { role: 'assistant', content: [toCustomToolCall(one)] }
    case 'custom_tool_call_output':
    case 'function_call_output': {
      const content = toInputParts(one.output, ['input', at, 'output'])
      // An attachment in a result is refused later.
      const name = names.get(one.call_id) ?? 'unknown'
      return { role: 'tool', content: [{ type: 'tool-result', id: one.call_id, name, content: content as never }] }
    }
    case 'mcp_approval_request':
    case 'mcp_approval_response':
    case 'mcp_call':
      return toApprovalMessages(one)
    default:
      return []
  }
}

function toTextMessage({ role, content }: Extract<Item, { type: 'message' }>, at: number): RequestMessage {
  const parts = toInputParts(content, ['input', at, 'content'])
  const input = parts.length > 0 ? parts : [{ type: 'text' as const, text: '' }]
  // A file in another role is refused later.
  if (role === 'user') return { role, content: input }
  return { role: role === 'assistant' ? role : 'system', content: input as never }
}

function toToolCall(item: Extract<Item, { type: 'function_call' }>): AssistantPart {
  const { id, call_id, name, namespace, arguments: input } = item
  const signature = decodeSignature(id)
  return { type: 'tool-call', id: call_id, name: qualifyName(name, namespace), input, ...(signature && { signature }) }
}

const toReasoningPart = ({
  summary,
  encrypted_content: signature,
}: Extract<Item, { type: 'reasoning' }>): AssistantPart => ({
  type: 'reasoning',
  text: summary.map(({ text }) => text).join('\n\n'),
  ...(signature && { signature }),
})

const toInputParts = (content: readonly Part[], path: Issue['path']): RequestPart[] =>
  content.map((one, index) => {
    if (one.type === 'input_image') return toImageOrAttachment(one, [...path, index])
    if (one.type === 'input_file') return toFileOrAttachment(one, [...path, index])
    return { type: 'text', text: one.type === 'refusal' ? one.refusal : one.text }
  })

function toCustomToolCall(item: Extract<Item, { type: 'custom_tool_call' }>): AssistantPart {
  const { id, call_id, name, namespace, input } = item
  const signature = decodeSignature(id)
  const call = { type: 'tool-call' as const, id: call_id, name: qualifyName(name, namespace) }
  return { ...call, input: writeCustomArguments(input), ...(signature && { signature }) }
}

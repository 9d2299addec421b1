import type { Issue } from '../../../routers/core/problems.ts'
import type { AssistantPart } from '../../../routers/ports/ai/messages.ts'
import { toOpenAiThought } from '../../../routers/ports/ai/signatures.ts'
import type { RequestMessage, RequestPart } from '../chat/chat-messages.ts'
import { toFileOrAttachment, toImageOrAttachment } from '../files.ts'
import { writeCustomArguments } from '../openai-tools.ts'
import { decodeSignature, toApprovalMessages } from './responses-approvals.ts'
import { type Item, type ItemOf, isRunByClient, type Part } from './responses-items.ts'
import { readSummary, SUMMARY_REQUEST } from './responses-summary.ts'
import { qualifyName } from './tool-table.ts'

/** Names of the functions that stand for tools of the client. */
const clientTools: Partial<Record<Item['type'], string>> = {
  local_shell_call: 'local_shell',
  shell_call: 'shell',
  apply_patch_call: 'apply_patch',
  tool_search_call: 'tool_search',
}

export const toMessages = (input: readonly Item[]): RequestMessage[] => convertItems(input).flat()

/** Converts each item to its messages. */
function convertItems(input: readonly Item[]): RequestMessage[][] {
  const names = new Map(input.flatMap(listCallName))
  // Only the end of the conversation can ask for a summary.
  const isPast = (one: Item, at: number) => one.type === 'compaction_trigger' && at < input.length - 1
  return input.map((one, at) => (isPast(one, at) ? [] : [toMessage(one, at, names)].flat()))
}

export const asksForSummary = (input: readonly Item[]): boolean => input.at(-1)?.type === 'compaction_trigger'

/** Finds the index of the item from which a message was made. */
export const findItemIndex = (input: readonly Item[], message: number): number =>
  convertItems(input).flatMap((messages, at) => messages.map(() => at))[message] ?? message

function listCallName(item: Item): [id: string, name: string][] {
  if (item.type === 'function_call' || item.type === 'custom_tool_call')
    return [[item.call_id, qualifyName(item.name, item.namespace)]]
  const name = clientTools[item.type]
  return name && 'call_id' in item ? [[`${item.call_id}`, name]] : []
}

function toMessage(one: Item, at: number, names: ReadonlyMap<string, string>): RequestMessage | RequestMessage[] {
  switch (one.type) {
    case 'message':
      return toTextMessage(one, at)
    case 'agent_message':
      return toAgentMessage(one, at)
    case 'reasoning':
      return { role: 'assistant', content: [toReasoningPart(one)] }
    case 'function_call':
      return { role: 'assistant', content: [toToolCall(one)] }
    case 'custom_tool_call':
      return { role: 'assistant', content: [toCustomToolCall(one)] }
    case 'local_shell_call':
    case 'shell_call':
      return toClientCall(one, one.call_id, one.action)
    case 'apply_patch_call':
      return toClientCall(one, one.call_id, one.operation)
    case 'tool_search_call':
      return toClientCall(one, `${one.call_id}`, one.arguments)
    case 'custom_tool_call_output':
    case 'function_call_output':
      return toToolResult(one.call_id, names, toInputParts(one.output, ['input', at, 'output']))
    case 'local_shell_call_output':
      return toToolResult(one.id, names, [toTextPart(writeOutput(one.output))])
    case 'shell_call_output':
    case 'apply_patch_call_output':
      return toToolResult(one.call_id, names, [toTextPart(writeOutput(one.output))])
    case 'tool_search_output':
      return isRunByClient(one) ? toToolResult(`${one.call_id}`, names, [toTextPart(writeFoundTools(one))]) : []
    case 'compaction':
    case 'compaction_summary':
    case 'context_compaction':
      return { role: 'user', content: [toTextPart(readSummary(one.encrypted_content))] }
    case 'compaction_trigger':
      return { role: 'user', content: [toTextPart(SUMMARY_REQUEST)] }
    case 'mcp_approval_request':
    case 'mcp_approval_response':
    case 'mcp_call':
      return toApprovalMessages(one)
    default:
      return []
  }
}

const toTextPart = (text: string) => ({ type: 'text' as const, text })

function toTextMessage({ role, content }: ItemOf<'message'>, at: number): RequestMessage {
  const parts = toInputParts(content, ['input', at, 'content'])
  const input = parts.length > 0 ? parts : [toTextPart('')]
  // A file in another role is refused later.
  if (role === 'user') return { role, content: input }
  return { role: role === 'assistant' ? role : 'system', content: input as never }
}

/** Converts the message of one agent to another, which models know only as words of the user. */
function toAgentMessage({ author, recipient, content }: ItemOf<'agent_message'>, at: number): RequestMessage {
  const heading = `Message${author ? ` from ${author}` : ''}${recipient ? ` to ${recipient}` : ''}:`
  return { role: 'user', content: [toTextPart(heading), ...toInputParts(content, ['input', at, 'content'])] }
}

function toToolCall(item: ItemOf<'function_call'>): AssistantPart {
  const { id, call_id, name, namespace, arguments: input } = item
  const signature = decodeSignature(id)
  return { type: 'tool-call', id: call_id, name: qualifyName(name, namespace), input, ...(signature && { signature }) }
}

function toCustomToolCall(item: ItemOf<'custom_tool_call'>): AssistantPart {
  const { id, call_id, name, namespace, input } = item
  const signature = decodeSignature(id)
  const call = { type: 'tool-call' as const, id: call_id, name: qualifyName(name, namespace) }
  return { ...call, input: writeCustomArguments(input), ...(signature && { signature }) }
}

function toClientCall(
  { type, id: itemId }: { type: Item['type']; id?: string | null | undefined },
  id: string,
  input: unknown,
): RequestMessage {
  const signature = decodeSignature(itemId)
  const call = { type: 'tool-call' as const, id, name: clientTools[type] ?? type, input: writeOutput(input ?? {}) }
  return { role: 'assistant', content: [{ ...call, ...(signature && { signature }) }] }
}

function toToolResult(id: string, names: ReadonlyMap<string, string>, content: readonly RequestPart[]): RequestMessage {
  // An attachment in a result is refused later.
  const result = { type: 'tool-result' as const, id, name: names.get(id) ?? 'unknown', content: content as never }
  return { role: 'tool', content: [result] }
}

const writeOutput = (output: unknown): string => (typeof output === 'string' ? output : JSON.stringify(output))

/** Tells the model which tools its search has found; their definitions are among its tools. */
function writeFoundTools({ tools }: ItemOf<'tool_search_output'>): string {
  const names = tools.flatMap((tool) => {
    if (tool.type === 'namespace') return tool.tools.map(({ name }) => qualifyName(name, tool.name))
    return 'name' in tool ? [`${tool.name}`] : []
  })
  return names.length > 0 ? `These tools can be called now: ${names.join(', ')}` : 'No tools were found.'
}

const toReasoningPart = ({ id, summary, encrypted_content: encrypted }: ItemOf<'reasoning'>): AssistantPart => ({
  type: 'reasoning',
  text: summary.map(({ text }) => text).join('\n\n'),
  ...(encrypted && { signature: toOpenAiThought(encrypted, id) }),
})

const toInputParts = (content: readonly Part[], path: Issue['path']): RequestPart[] =>
  content.flatMap((one, index) => {
    switch (one.type) {
      case 'input_text':
      case 'output_text':
        return toTextPart(one.text)
      case 'refusal':
        return toTextPart(one.refusal)
      case 'input_image':
        return toImageOrAttachment(one, [...path, index])
      case 'input_file':
        return toFileOrAttachment(one, [...path, index])
      default:
        return []
    }
  })

import { placeAmong } from '../tools.ts'
import { type Item, itemAt } from './items.ts'
import type { ResponseRequest } from './request.ts'
import type { ToolTable } from './tools.ts'

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
export function placeIn({ input, tools }: ResponseRequest, table: ToolTable, path: Path): Path {
  const [first, message, ...rest] = path
  if (first !== 'messages') return table.placeOf(path) ?? placeAmong(tools, path)
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

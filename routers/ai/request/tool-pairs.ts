import type { Issue } from '../../core/problems.ts'
import type { ToolCall, ToolResult } from '../../ports/ai/messages.ts'
import type { ApprovalGiven } from './parts.ts'
import type { AskedMessage } from './request.ts'

type Path = Issue['path']

interface Pairs {
  /** Calls without a result yet. */
  open: Map<string, Path>
  /** Calls that the person allowed or refused, which have no result or one after that. */
  answered: Set<string>
}

/** Calls of tools without a result, and results without a call: no provider takes either. */
export function unpairedTools(messages: readonly AskedMessage[]): Issue[] {
  const pairs: Pairs = { open: new Map(), answered: new Set() }
  const stray: Path[] = []
  for (const { part, talk, path } of partsOf(messages)) {
    const call = `${talk} ${part.id}`
    if (part.type === 'tool-call') pairs.open.set(call, path)
    else if (!isPaired(part, call, pairs)) stray.push([...path, 'id'])
  }
  return [
    ...stray.map((path) => ({ path, message: 'answers no call before it' })),
    ...[...pairs.open.values()].map((path) => ({ path, message: 'has no result' })),
  ]
}

function isPaired({ type }: ToolResult | ApprovalGiven, call: string, { open, answered }: Pairs): boolean {
  if (type === 'tool-result') return open.delete(call) || answered.delete(call)
  const isOpen = open.delete(call)
  if (isOpen) answered.add(call)
  return isOpen
}

/** What is said of tools with its path, and which turn it belongs to: results belong to what the assistant said before them. */
function* partsOf(messages: readonly AskedMessage[]) {
  let talk = -1
  for (const [at, { role, content }] of messages.entries()) {
    const goesOn = role === 'assistant' && messages[at - 1]?.role === 'assistant'
    if (role !== 'tool' && !goesOn) talk = at
    for (const [index, part] of content.entries())
      if (isOfTool(part)) yield { part, talk, path: ['messages', at, 'content', index] }
  }
}

const isOfTool = (part: AskedMessage['content'][number]): part is ToolCall | ToolResult | ApprovalGiven =>
  ['tool-call', 'tool-result', 'tool-approval'].includes(part.type)

import { type Answer, emptyAnswer, type ToolStep } from '../../shared/conversation/answer.ts'

/** A message of an export. */
export interface ImportedMessage {
  role: 'user' | 'assistant'
  model: string | null
  answer: Answer
  /** The position of the parent, starting at 1; 0 for the first message. */
  parent: number
  createdAt: string
}

/** A conversation of an export. */
export interface ImportedConversation {
  /** The id in the export. */
  id: string
  title: string
  createdAt: string
  updatedAt: string
  messages: ImportedMessage[]
  /** The number of unreadable messages. */
  unreadable: number
  /** The number of pictures and files, which are not imported. */
  files: number
}

/** A node in the tree of messages. One without a text only links others. */
export interface TreeMessage {
  id: string
  parent: string | undefined
  role: 'user' | 'assistant' | 'none'
  model: string | null
  answer: Answer
  /** The result of the tool call before it. */
  toolOutput?: { name: string; text: string }
  /** In milliseconds since 1970. */
  time: number
}

export type Fields = Readonly<Record<string, unknown>>

export const toFields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

export const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const toText = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Converts an ISO date or seconds to milliseconds since 1970; returns 0 for anything else. */
export function toTime(value: unknown): number {
  const time = typeof value === 'number' ? value * 1000 : Date.parse(toText(value))
  return Number.isFinite(time) && time > 0 && time <= Date.now() ? Math.trunc(time) : 0
}

const toIsoDate = (time: number): string => new Date(time).toISOString()

/** The metadata of a conversation. */
interface ConversationHead {
  id: string
  title: string
  /** In milliseconds since 1970; 0 if unknown. */
  createdAt: number
  updatedAt: number
  /** The id of the message that was shown last. */
  current: string
  /** True if consecutive messages of the assistant form one answer. */
  shouldJoinAnswers: boolean
}

/**
 * Builds a conversation from the nodes of a tree. Nodes that cannot be reached from the beginning count as unreadable.
 */
export function toConversation(
  head: ConversationHead,
  nodes: readonly TreeMessage[],
  omitted: OmittedCounts,
): ImportedConversation {
  const { id, title } = head
  const createdAt = head.createdAt || nodes.find(({ time }) => time > 0)?.time || Date.now()
  const { messages, unreached } = orderMessages({ ...head, createdAt }, nodes)
  return {
    id,
    title,
    createdAt: toIsoDate(createdAt),
    updatedAt: toIsoDate(Math.max(createdAt, head.updatedAt)),
    messages,
    unreadable: omitted.unreadable + unreached,
    files: omitted.files,
  }
}

/**
 * Orders the messages so that each follows its parent and the branch that was shown last comes last. Cycles are not
 * reached.
 */
function orderMessages({ current, shouldJoinAnswers, createdAt }: ConversationHead, nodes: readonly TreeMessage[]) {
  const following = groupByParent(nodes, current)
  const messages: ImportedMessage[] = []
  const numbers = new Map<string, number>()
  const reached = new Set<TreeMessage>()
  const stack: { node: TreeMessage; parent: number }[] = []
  const pushChildren = (id: string | undefined, parent: number) => {
    for (const node of (following.get(id) ?? []).toReversed()) stack.push({ node, parent })
  }
  pushChildren(ROOT, 0)
  for (let next = stack.pop(); next; next = stack.pop()) {
    const chain = shouldJoinAnswers ? collectChain(next.node, following) : [next.node]
    for (const node of chain) {
      reached.add(node)
      // A message that is left out has the number of the next one.
      numbers.set(node.id, messages.length + 1)
    }
    const message = joinChain(chain, next.parent, createdAt)
    if (message) messages.push(message)
    pushChildren(chain.at(-1)?.id, message ? messages.length : next.parent)
  }
  const unreached = nodes.filter((node) => node.role !== 'none' && !reached.has(node)).length
  return { messages: messages.map((message) => renumberSummary(message, numbers)), unreached }
}

/** A summary names the first message that is sent after it by its number, which is another one now. */
function renumberSummary(message: ImportedMessage, numbers: ReadonlyMap<string, number>): ImportedMessage {
  const { summary } = message.answer
  if (!summary) return message
  const firstSent = numbers.get(String(summary.firstSent)) ?? 0
  return { ...message, answer: { ...message.answer, summary: { ...summary, firstSent } } }
}

/** Numbers of messages and files that are not imported. */
export interface OmittedCounts {
  unreadable: number
  files: number
}

const ROOT = undefined

/** Groups the nodes by parent and sorts them by time, with the branch that was shown last at the end. */
function groupByParent(nodes: readonly TreeMessage[], current: string) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const shownBranch = new Set<TreeMessage>()
  for (let node = byId.get(current); node && !shownBranch.has(node); node = byId.get(node.parent ?? ''))
    shownBranch.add(node)
  const rank = (node: TreeMessage) => (shownBranch.has(node) ? Number.MAX_VALUE : node.time)
  const sorted = nodes.toSorted((a, b) => rank(a) - rank(b))
  return Map.groupBy(sorted, ({ parent }) => (parent !== undefined && byId.has(parent) ? parent : ROOT))
}

/** Collects an answer with its thoughts, tool calls and results, which are separate messages in some exports. */
function collectChain(first: TreeMessage, following: ReadonlyMap<string | undefined, TreeMessage[]>): TreeMessage[] {
  const chain = [first]
  for (;;) {
    const [next, another] = following.get(chain.at(-1)?.id) ?? []
    if (first.role === 'user' || !next || another || next.role === 'user') return chain
    chain.push(next)
  }
}

function joinChain(chain: readonly TreeMessage[], parent: number, began: number): ImportedMessage | undefined {
  const { role, time } = chain[0] ?? { role: 'none', time: 0 }
  const answer = chain.reduce(joinAnswers, emptyAnswer)
  if (answer.text === '' && answer.tools.length === 0 && answer.thoughts.length === 0) return undefined
  const model = chain.findLast((each) => each.model !== null)?.model ?? UNKNOWN_MODEL
  const isQuestion = role === 'user'
  return {
    role: isQuestion ? 'user' : 'assistant',
    model: isQuestion ? null : model.slice(0, 255),
    answer,
    parent,
    createdAt: toIsoDate(time || began),
  }
}

/** The model of an answer whose export does not name it. */
const UNKNOWN_MODEL = '?'

const createCall = (name: string, id: number, at: number): ToolStep => ({
  id: String(id),
  name,
  server: '',
  state: 'done',
  at,
})

function joinAnswers(before: Answer, { answer, toolOutput }: TreeMessage): Answer {
  const tools = [...before.tools, ...answer.tools.map((tool) => ({ ...tool, at: before.text.length + (tool.at ?? 0) }))]
  if (toolOutput) {
    const at = tools.findLastIndex(({ output }) => output === undefined)
    const call = tools[at] ?? createCall(toolOutput.name, tools.length, before.text.length)
    tools.splice(at === -1 ? tools.length : at, 1, { ...call, output: toolOutput.text })
  }
  return {
    ...before,
    ...answer,
    text: [before.text, answer.text].filter((text) => text !== '').join('\n\n'),
    citations: [...before.citations, ...answer.citations],
    thoughts: [...before.thoughts, ...answer.thoughts],
    tools,
  }
}

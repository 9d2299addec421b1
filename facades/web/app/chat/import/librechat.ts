import { type Answer, emptyAnswer, type ToolStep } from '../../shared/conversation/answer.ts'
import {
  type Fields,
  type ImportedConversation,
  type OmittedCounts,
  type TreeMessage,
  toConversation,
  toFields,
  toList,
  toText,
  toTime,
} from './imported-conversation.ts'

export const isFromLibreChat = (conversation: Fields): boolean => Array.isArray(conversation['messages'])

/** Reads a conversation of an export of LibreChat, whose messages are a list or nested. */
export function readLibreChat(conversation: Fields): ImportedConversation {
  const omitted = { unreadable: 0, files: 0 }
  const options = toFields(conversation['options'])
  const messages = flatten(toList(conversation['messages']))
  const nodes = messages.map(({ message, parent, id }) => readMessage(message, { id, parent }, omitted, options))
  const head = {
    id: `librechat:${toText(conversation['conversationId']) || nodes[0]?.id}`,
    title: toText(conversation['title']),
    createdAt: toTime(conversation['createdAt']),
    updatedAt: nodes.reduce((latest, { time }) => Math.max(latest, time), 0),
    current: '',
    shouldJoinAnswers: false,
  }
  return toConversation(head, nodes, omitted)
}

interface MessagePosition {
  id: string
  parent: string | undefined
}

/** Flattens nested messages. A message without a parent follows the one before it. */
function flatten(list: readonly unknown[]): (MessagePosition & { message: Fields })[] {
  const flat: (MessagePosition & { message: Fields })[] = []
  const stack = list
    .toReversed()
    .map((message) => ({ message: toFields(message), container: undefined as string | undefined }))
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { message, container } = next
    const id = toText(message['messageId']) || `#${flat.length}`
    const parent = container ?? (toText(message['parentMessageId']) || flat.at(-1)?.id)
    flat.push({ id, parent, message })
    for (const child of toList(message['children']).toReversed())
      stack.push({ message: toFields(child), container: id })
  }
  return flat
}

function readMessage(
  message: Fields,
  { id, parent }: MessagePosition,
  omitted: OmittedCounts,
  options: Fields,
): TreeMessage {
  const time = toTime(message['createdAt'])
  omitted.files += toList(message['files']).length
  const answer = readAnswer(message, omitted)
  const model = toText(message['model']) || toText(options['model']) || toText(message['endpoint']) || null
  const role = readRole(message)
  if (role === 'none') omitted.unreadable++
  return { id, parent, role, model, time, answer: role === 'none' ? emptyAnswer : answer }
}

function readRole({ isCreatedByUser, sender, role }: Fields): TreeMessage['role'] {
  if (typeof isCreatedByUser === 'boolean') return isCreatedByUser ? 'user' : 'assistant'
  if (role === 'user' || role === 'assistant') return role
  if (sender === 'User') return 'user'
  return role === undefined && typeof sender === 'string' ? 'assistant' : 'none'
}

function readAnswer(message: Fields, omitted: OmittedCounts): Answer {
  const parts = toList(message['content']).map(toFields)
  const whole = toText(message['text'])
  let text = ''
  const tools: ToolStep[] = []
  for (const part of parts) {
    tools.push(...readTool(toFields(part['tool_call']), whole === '' ? text.length : 0))
    text = joinParagraphs(text, toText(part['text']) || toText(toFields(part['text'])['value']))
  }
  omitted.files += parts.filter(({ type }) => type === 'image_file' || type === 'image_url').length
  return {
    ...emptyAnswer,
    text: whole || text,
    thoughts: parts.flatMap(({ think }) => (toText(think) === '' ? [] : [{ text: toText(think) }])),
    tools,
    ...(message['unfinished'] === true && { cut: 'interrupted' as const }),
  }
}

const joinParagraphs = (before: string, text: string): string =>
  before === '' || text === '' ? before + text : `${before}\n\n${text}`

function readTool(call: Fields, at: number): ToolStep[] {
  const name = toText(call['name'])
  if (name === '') return []
  const { id, args, output } = call
  return [{ id: toText(id) || name, name, server: '', state: 'done', input: args, output: toText(output), at }]
}

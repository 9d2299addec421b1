import { type Answer, emptyAnswer, type ToolStep } from '../../shared/answer/answer.ts'
import {
  type Fields,
  fieldsOf,
  type ImportedConversation,
  type LeftOut,
  listOf,
  type TreeMessage,
  textOf,
  timeOf,
  toConversation,
} from './imported.ts'

export const isFromLibreChat = (conversation: Fields): boolean => Array.isArray(conversation['messages'])

/** Reads a conversation of LibreChat's export, whose messages are a list, or lie in one another. */
export function readLibreChat(conversation: Fields): ImportedConversation {
  const left = { unreadable: 0, files: 0 }
  const options = fieldsOf(conversation['options'])
  const messages = flatten(listOf(conversation['messages']))
  const nodes = messages.map(({ message, parent, id }) => readMessage(message, { id, parent }, left, options))
  const head = {
    id: `librechat:${textOf(conversation['conversationId']) || nodes[0]?.id}`,
    title: textOf(conversation['title']),
    createdAt: timeOf(conversation['createdAt']),
    updatedAt: nodes.reduce((latest, { time }) => Math.max(latest, time), 0),
    current: '',
    joinsAnswers: false,
  }
  return toConversation(head, nodes, left)
}

interface Place {
  id: string
  parent: string | undefined
}

/** Messages that lie in others follow those. Where nothing is said, one follows the one before it. */
function flatten(list: readonly unknown[]): (Place & { message: Fields })[] {
  const flat: (Place & { message: Fields })[] = []
  const open = list
    .toReversed()
    .map((message) => ({ message: fieldsOf(message), container: undefined as string | undefined }))
  for (let next = open.pop(); next; next = open.pop()) {
    const { message, container } = next
    const id = textOf(message['messageId']) || `#${flat.length}`
    const parent = container ?? (textOf(message['parentMessageId']) || flat.at(-1)?.id)
    flat.push({ id, parent, message })
    for (const child of listOf(message['children']).toReversed()) open.push({ message: fieldsOf(child), container: id })
  }
  return flat
}

function readMessage(message: Fields, { id, parent }: Place, left: LeftOut, options: Fields): TreeMessage {
  const time = timeOf(message['createdAt'])
  left.files += listOf(message['files']).length
  const answer = readAnswer(message, left)
  const model = textOf(message['model']) || textOf(options['model']) || textOf(message['endpoint']) || null
  const role = roleOf(message)
  if (role === 'none') left.unreadable++
  return { id, parent, role, model, time, answer: role === 'none' ? emptyAnswer : answer }
}

function roleOf({ isCreatedByUser, sender, role }: Fields): TreeMessage['role'] {
  if (typeof isCreatedByUser === 'boolean') return isCreatedByUser ? 'user' : 'assistant'
  if (role === 'user' || role === 'assistant') return role
  if (sender === 'User') return 'user'
  return role === undefined && typeof sender === 'string' ? 'assistant' : 'none'
}

function readAnswer(message: Fields, left: LeftOut): Answer {
  const parts = listOf(message['content']).map(fieldsOf)
  const texts = parts.map(({ text }) => textOf(text) || textOf(fieldsOf(text)['value'])).filter((text) => text !== '')
  left.files += parts.filter(({ type }) => type === 'image_file' || type === 'image_url').length
  return {
    ...emptyAnswer,
    text: textOf(message['text']) || texts.join('\n\n'),
    thoughts: parts.flatMap(({ think }) => (textOf(think) === '' ? [] : [{ text: textOf(think) }])),
    tools: parts.flatMap((part) => readTool(fieldsOf(part['tool_call']))),
    ...(message['unfinished'] === true && { cut: 'interrupted' as const }),
  }
}

function readTool(call: Fields): ToolStep[] {
  const name = textOf(call['name'])
  if (name === '') return []
  const { id, args, output } = call
  return [{ id: textOf(id) || name, name, server: '', state: 'done', input: args, output: textOf(output) }]
}

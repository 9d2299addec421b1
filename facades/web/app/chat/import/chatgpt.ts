import { type Answer, emptyAnswer, type Source } from '../../shared/answer/answer.ts'
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

export const isFromChatGpt = (conversation: Fields): boolean => 'mapping' in conversation

/** Reads a conversation of ChatGPT's export: a tree of messages, in which an answer is a chain of several. */
export function readChatGpt(conversation: Fields): ImportedConversation {
  const left = { unreadable: 0, files: 0 }
  const nodes = Object.entries(fieldsOf(conversation['mapping'])).map(([id, node]) =>
    readNode(id, fieldsOf(node), left),
  )
  const createdAt = timeOf(conversation['create_time'])
  const id = textOf(conversation['conversation_id']) || textOf(conversation['id']) || `${createdAt}:${nodes[0]?.id}`
  const head = {
    id: `chatgpt:${id}`,
    title: textOf(conversation['title']),
    createdAt,
    updatedAt: timeOf(conversation['update_time']),
    current: textOf(conversation['current_node']),
    joinsAnswers: true,
  }
  return toConversation(head, nodes, left)
}

function readNode(id: string, node: Fields, left: LeftOut): TreeMessage {
  const message = fieldsOf(node['message'])
  const parent = textOf(node['parent']) || undefined
  const place = {
    id,
    parent,
    role: 'none' as const,
    model: null,
    answer: emptyAnswer,
    time: timeOf(message['create_time']),
  }
  const metadata = fieldsOf(message['metadata'])
  const role = textOf(fieldsOf(message['author'])['role'])
  const isHidden = metadata['is_visually_hidden_from_conversation'] === true || role === 'system'
  if (node['message'] == null || isHidden) return place
  const content = fieldsOf(message['content'])
  const text = readText(content, left)
  if (role === 'tool') return { ...place, toolOutput: { name: toolName(message), text: plainText(text, metadata) } }
  if (role !== 'user' && role !== 'assistant') {
    left.unreadable++
    return place
  }
  const model = textOf(metadata['model_slug']) || null
  return { ...place, role, model, answer: readAnswer({ id, message, content, metadata, text }) }
}

const toolName = (message: Fields) => textOf(fieldsOf(message['author'])['name']) || 'tool'

interface AnswerParts {
  id: string
  message: Fields
  content: Fields
  metadata: Fields
  text: string
}

function readAnswer({ id, message, content, metadata, text }: AnswerParts): Answer {
  const recipient = textOf(message['recipient']) || 'all'
  if (recipient !== 'all')
    return { ...emptyAnswer, tools: [{ id, name: recipient, server: '', state: 'done', input: text }] }
  const thoughts = listOf(content['thoughts']).map((thought) => ({ text: textOf(fieldsOf(thought)['content']) }))
  return { ...emptyAnswer, text: plainText(text, metadata), thoughts, citations: readSources(metadata) }
}

/** The texts of a message; pictures, sounds and files among them are counted. */
function readText(content: Fields, left: LeftOut): string {
  const type = textOf(content['content_type'])
  if (type === 'thoughts' || type === 'reasoning_recap') return ''
  if (type === 'code') return fenced(textOf(content['text']), textOf(content['language']))
  const parts = listOf(content['parts']).map((part) => {
    if (typeof part === 'string') return part
    const { text, content_type: kind } = fieldsOf(part)
    if (typeof text === 'string') return text
    if (textOf(kind) !== '') left.files++
    return ''
  })
  const texts = [...parts, textOf(content['text']), textOf(content['result'])]
  return texts.filter((text) => text !== '').join('\n\n')
}

const fenced = (code: string, language: string) =>
  code === '' || language === '' || language === 'unknown' ? code : `\`\`\`${language}\n${code}\n\`\`\``

/** Signs of a private range stand around the marks of citations, which the export lists aside. */
const marks = /\uE200[^\uE201]*\uE201|【[^【】]*†[^【】]*】/g

/** Without the marks of citations. */
function plainText(text: string, metadata: Fields): string {
  const hasReferences = listOf(metadata['content_references']).length > 0 || listOf(metadata['citations']).length > 0
  return hasReferences || text.includes('\uE200') ? text.replace(marks, '') : text
}

function readSources(metadata: Fields): Source[] {
  const references = listOf(metadata['content_references']).map(fieldsOf)
  const cited = [
    ...references,
    ...references.flatMap(({ items }) => listOf(items).map(fieldsOf)),
    ...listOf(metadata['citations']).map((citation) => fieldsOf(fieldsOf(citation)['metadata'])),
  ]
  const sources = cited.map(({ url, title }) => ({ url: textOf(url), title: textOf(title) }))
  const byUrl = new Map(sources.filter(({ url }) => URL.canParse(url)).map((source) => [source.url, source]))
  return [...byUrl.values()].map(({ url, title }) => ({ url, ...(title !== '' && { title }) }))
}

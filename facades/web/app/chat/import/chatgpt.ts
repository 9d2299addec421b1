import { type Answer, emptyAnswer, type Source } from '../../shared/conversation/answer.ts'
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

export const isFromChatGpt = (conversation: Fields): boolean => 'mapping' in conversation

/** Reads a conversation of an export of ChatGPT: a tree of messages, in which an answer is a chain of several. */
export function readChatGpt(conversation: Fields): ImportedConversation {
  const omitted = { unreadable: 0, files: 0 }
  const mapping = Object.entries(toFields(conversation['mapping'])).map(([id, node]) => ({ id, node: toFields(node) }))
  // Some exports name only the children of a message.
  const parents = new Map(mapping.flatMap(({ id, node }) => toList(node['children']).map((child) => [child, id])))
  const nodes = mapping.map(({ id, node }) =>
    readNode({ id, parent: toText(node['parent']) || parents.get(id) }, node, omitted),
  )
  const createdAt = toTime(conversation['create_time'])
  const id = toText(conversation['conversation_id']) || toText(conversation['id']) || `${createdAt}:${nodes[0]?.id}`
  const head = {
    id: `chatgpt:${id}`,
    title: toText(conversation['title']),
    createdAt,
    updatedAt: toTime(conversation['update_time']),
    current: toText(conversation['current_node']),
    shouldJoinAnswers: true,
  }
  return toConversation(head, nodes, omitted)
}

interface NodePosition {
  id: string
  parent: string | undefined
}

function readNode({ id, parent }: NodePosition, node: Fields, omitted: OmittedCounts): TreeMessage {
  const message = toFields(node['message'])
  const emptyNode = {
    id,
    parent,
    role: 'none' as const,
    model: null,
    answer: emptyAnswer,
    time: toTime(message['create_time']),
  }
  const metadata = toFields(message['metadata'])
  const role = toText(toFields(message['author'])['role'])
  const isHidden = metadata['is_visually_hidden_from_conversation'] === true || role === 'system'
  if (node['message'] == null || isHidden) return emptyNode
  const content = toFields(message['content'])
  const text = readText(content, omitted)
  if (role === 'tool')
    return { ...emptyNode, toolOutput: { name: getToolName(message), text: removeCitationMarks(text, metadata) } }
  if (role !== 'user' && role !== 'assistant') {
    omitted.unreadable++
    return emptyNode
  }
  const model = toText(metadata['model_slug']) || null
  return { ...emptyNode, role, model, answer: readAnswer({ id, message, content, metadata, text }) }
}

const getToolName = (message: Fields) => toText(toFields(message['author'])['name']) || 'tool'

interface AnswerParts {
  id: string
  message: Fields
  content: Fields
  metadata: Fields
  text: string
}

function readAnswer({ id, message, content, metadata, text }: AnswerParts): Answer {
  const recipient = toText(message['recipient']) || 'all'
  if (recipient !== 'all')
    return { ...emptyAnswer, tools: [{ id, name: recipient, server: '', state: 'done', input: text }] }
  const thoughts = toList(content['thoughts']).map((thought) => ({ text: toText(toFields(thought)['content']) }))
  return { ...emptyAnswer, text: removeCitationMarks(text, metadata), thoughts, citations: readSources(metadata) }
}

/** Returns the texts of a message, and counts the pictures, sounds and files. */
function readText(content: Fields, omitted: OmittedCounts): string {
  const type = toText(content['content_type'])
  if (type === 'thoughts' || type === 'reasoning_recap') return ''
  if (type === 'code') return toCodeBlock(toText(content['text']), toText(content['language']))
  const parts = toList(content['parts']).map((part) => {
    if (typeof part === 'string') return part
    const { text, content_type: kind } = toFields(part)
    if (typeof text === 'string') return text
    if (toText(kind) !== '') omitted.files++
    return ''
  })
  const texts = [...parts, toText(content['text']), toText(content['result'])]
  return texts.filter((text) => text !== '').join('\n\n')
}

const toCodeBlock = (code: string, language: string) =>
  code === '' || language === '' || language === 'unknown' ? code : `\`\`\`${language}\n${code}\n\`\`\``

/** Citation marks, which private-use characters or brackets enclose. The export lists the citations separately. */
const CITATION_MARKS = /\uE200[^\uE201]*\uE201|【[^【】]*†[^【】]*】/g

function removeCitationMarks(text: string, metadata: Fields): string {
  const hasReferences = toList(metadata['content_references']).length > 0 || toList(metadata['citations']).length > 0
  return hasReferences || text.includes('\uE200') ? text.replace(CITATION_MARKS, '') : text
}

function readSources(metadata: Fields): Source[] {
  const references = toList(metadata['content_references']).map(toFields)
  const cited = [
    ...references,
    ...references.flatMap(({ items }) => toList(items).map(toFields)),
    ...toList(metadata['citations']).map((citation) => toFields(toFields(citation)['metadata'])),
  ]
  const sources = cited.map(({ url, title }) => ({ url: toText(url), title: toText(title) }))
  const byUrl = new Map(sources.filter(({ url }) => URL.canParse(url)).map((source) => [source.url, source]))
  return [...byUrl.values()].map(({ url, title }) => ({ url, ...(title !== '' && { title }) }))
}

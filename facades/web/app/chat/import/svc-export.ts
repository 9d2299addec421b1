import { type Answer, emptyAnswer, parseReach, type Source, type ToolStep } from '../../shared/conversation/answer.ts'
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

/** The form of message numbers in `conversation-export.ts`. */
const MESSAGE_NUMBER = /^\d+\.\d{3}$/

export const isFromSvc = (conversation: Fields): boolean =>
  toList(conversation['messages']).some((message) => MESSAGE_NUMBER.test(toText(toFields(message)['number'])))

/** Reads a conversation that this front end has exported, with all its versions. */
export function readSvcExport(conversation: Fields): ImportedConversation {
  const omitted = { unreadable: 0, files: 0 }
  const messages = toList(conversation['messages']).map(toFields)
  const ids = messages.map(({ number }) => toId(toText(number)))
  const nodes = messages.map((message, index) => readMessage(message, ids, index, omitted))
  const [title, createdAt] = [toText(conversation['name']), toTime(conversation['createdAt'])]
  // A conversation that went on after its export is another one.
  const id = `svc:${toText(conversation['slug']) || `${createdAt}:${title}`}:${messages.length}`
  const updatedAt = nodes.reduce((latest, { time }) => Math.max(latest, time), 0)
  const current = toId(toText(conversation['shown'])) || (ids.at(-1) ?? '')
  return toConversation({ id, title, createdAt, updatedAt, current, shouldJoinAnswers: false }, nodes, omitted)
}

/** Parents are written as 12, numbers as `12.000`. */
const toId = (number: string): string => number.replace(/\.\d{3}$/, '')

function readMessage(message: Fields, ids: readonly string[], index: number, omitted: OmittedCounts): TreeMessage {
  const { role, model, parent, isUnreadable } = message
  omitted.files += toList(message['files']).length
  const shared = {
    id: ids[index] ?? '',
    // Messages of other front ends have no parent, and follow one another.
    parent: typeof parent === 'number' ? String(parent) : ids[index - 1],
    time: toTime(message['createdAt']),
  }
  if (isUnreadable === true || (role !== 'user' && role !== 'assistant')) {
    omitted.unreadable++
    return { ...shared, role: 'none', model: null, answer: emptyAnswer }
  }
  const text = toText(message['text'])
  if (role === 'assistant') return { ...shared, role, model: toText(model) || null, answer: readAnswer(message, text) }
  // A question without a text had only files, of which the names are left.
  const names = toList(message['files']).map(toText).join(', ')
  return { ...shared, role, model: null, answer: { ...emptyAnswer, text: text || names } }
}

function readAnswer(message: Fields, text: string): Answer {
  const { thinkingSeconds, isComplete, answeredBy, assistant } = message
  const summary = parseReach(message['summary'])
  const cut = cuts.find((each) => each === message['cut']) ?? (isComplete === false ? 'interrupted' : undefined)
  return {
    text,
    citations: toList(message['citations']).map(toFields).flatMap(readSource),
    thoughts: toList(message['thoughts']).map((thought) => ({ text: toText(toFields(thought)['text']) })),
    ...(typeof thinkingSeconds === 'number' && { thinkingSeconds }),
    tools: toList(message['tools']).map((tool, index) => readTool(toFields(tool), index)),
    ...(cut && { cut }),
    ...(typeof answeredBy === 'string' && { answeredBy }),
    ...(typeof assistant === 'string' && { assistant }),
    ...(summary && { summary }),
  }
}

const cuts = ['limit', 'refusal', 'length', 'stopped', 'interrupted'] as const

function readSource({ url, title, passage }: Fields): Source[] {
  const address = toText(url)
  if (!URL.canParse(address)) return []
  const cited = readPassage(toFields(passage))
  return [{ url: address, ...(typeof title === 'string' && { title }), ...(cited && { passage: cited }) }]
}

function readPassage({ number, file, path, page, headings, from, to }: Fields): Source['passage'] {
  const place = [number, file, from, to].map(Number)
  const [numbered = 0, version = 0, start = 0, end = 0] = place
  if (typeof path !== 'string' || !place.every(Number.isSafeInteger)) return undefined
  const texts = toList(headings).map(toText)
  const shownPage = typeof page === 'number' ? page : null
  return { number: numbered, file: version, path, page: shownPage, headings: texts, from: start, to: end }
}

const states = ['done', 'failed', 'refused'] as const

/** Reads a tool call. One that had not ended when it was exported never will. */
function readTool({ name, server, input, output, state, at }: Fields, index: number): ToolStep {
  return {
    id: String(index),
    name: toText(name),
    server: toText(server),
    state: states.find((each) => each === state) ?? 'failed',
    ...(input !== undefined && { input }),
    ...(typeof output === 'string' && { output }),
    ...(typeof at === 'number' && at > 0 && { at }),
  }
}

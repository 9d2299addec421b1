import { z } from 'zod'
import type { Issue } from '../../../routers/core/problems.ts'
import type { Api } from '../../../routers/index.ts'
import type { AssistantPart, ToolCall } from '../../../routers/ports/ai/messages.ts'
import { toGoogleSignature } from '../../../routers/ports/ai/signatures.ts'
import { cacheControl, findCacheMark, readCacheMark } from '../../ai/cache-control.ts'
import { historyEntry } from '../../ai/left-out.ts'
import { ignore, ignoreEcho, refuse, translate } from '../../ai/members.ts'
import { textOrList } from '../../ai/request-body.ts'
import { fileMembers, toFileOrAttachment, toImage } from '../files.ts'
import { writeCustomArguments } from '../openai-tools.ts'

export type RequestMessage = Parameters<Api['ai']['complete']>[0]['messages'][number]
export type RequestPart = Extract<RequestMessage, { role: 'user' }>['content'][number]

const cacheHints = {
  cache_control: cacheControl,
  prompt_cache_breakpoint: ignore('the provider decides what it caches'),
}

const textPart = z.strictObject({ type: z.literal('text'), text: z.string(), ...cacheHints })

const toPartList = <Part extends z.ZodType>(part: Part) => textOrList(part, (text) => ({ type: 'text', text }))

const texts = toPartList(textPart)

const inputPart = z.discriminatedUnion('type', [
  textPart,
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: z.string(), detail: ignore('a picture is sent as it is', 'auto') }),
    ...cacheHints,
  }),
  z.strictObject({
    type: z.literal('file'),
    file: z.strictObject(fileMembers),
    ...cacheHints,
  }),
])
type InputPartOnWire = z.output<typeof inputPart>

const callMembers = { id: z.string(), index: z.number().nullish() }

const toolCall = z.discriminatedUnion('type', [
  z.strictObject({
    ...callMembers,
    type: z.literal('function'),
    function: z.strictObject({ name: z.string(), arguments: z.string(), parsed_arguments: z.unknown().optional() }),
    /** Google's chat endpoint puts its thought signatures here, too. */
    extra_content: z
      .looseObject({ google: z.looseObject({ thought_signature: z.string().nullish() }).nullish() })
      .nullish(),
  }),
  z.strictObject({
    ...callMembers,
    type: z.literal('custom'),
    custom: z.strictObject({ name: z.string(), input: z.string() }),
  }),
])
type ToolCallOnWire = z.output<typeof toolCall>

/** Older programs omit the type of a function call. */
const toolCallWithType = z.preprocess(
  (call) => (typeof call === 'object' && call !== null && !('type' in call) ? { type: 'function', ...call } : call),
  toolCall,
)

const name = ignore('not every provider tells speakers of one role apart')

/** A text or refusal of an earlier answer, which clients send back. Other servers add parts of their own. */
const assistantPart = historyEntry(
  z.discriminatedUnion('type', [
    textPart,
    z.strictObject({ type: z.literal('refusal'), refusal: z.string(), ...cacheHints }),
  ]),
)

export const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer']), content: texts, name }),
  z.strictObject({ role: z.literal('user'), content: toPartList(inputPart), name }),
  z.strictObject({
    role: z.literal('assistant'),
    content: toPartList(assistantPart).nullish(),
    tool_calls: z.array(toolCallWithType).nullish(),
    reasoning_content: translate(z.string().nullish(), 'a thought of the model'),
    reasoning: translate(z.string().nullish(), 'a thought of the model, as `reasoning_content`'),
    refusal: translate(z.string().nullish(), 'a text of the model'),
    function_call: refuse('is the older word for tool_calls'),
    name,
    // Clients return these members of earlier answers, which have no effect.
    annotations: ignoreEcho('only the text goes back'),
    audio: ignoreEcho('only the text goes back'),
    parsed: ignoreEcho('only the text goes back'),
  }),
  z.strictObject({ role: z.literal('tool'), content: texts.nullish(), tool_call_id: z.string(), name }),
])
type MessageOnWire = z.output<typeof message>

/** Converts the conversation. Each message stays one, so that errors name the right one. */
export function toMessages(messages: readonly MessageOnWire[]): RequestMessage[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  const names = new Map(calls.map((call) => [call.id, readToolName(call)]))
  return messages.map((message, at) => toMessage(message, at, names))
}

const readToolName = (call: ToolCallOnWire) => (call.type === 'custom' ? call.custom.name : call.function.name)

function toMessage(message: MessageOnWire, at: number, names: ReadonlyMap<string, string>): RequestMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: ensureNotEmpty(toInputParts(message.content, at)) }
    case 'assistant':
      return { role: 'assistant', content: ensureNotEmpty(toAssistantParts(message).map(({ part }) => part)) }
    case 'tool': {
      const { tool_call_id: id, content } = message
      // A result without its call is refused later.
      const parts = (content ?? []).map(toTextPart)
      const result = { type: 'tool-result' as const, id, name: names.get(id) ?? 'unknown', content: parts }
      return { role: 'tool', content: [{ ...result, ...findCacheMark(content ?? []) }] }
    }
    default:
      return { role: 'system', content: ensureNotEmpty(message.content.map(toTextPart)) }
  }
}

const toTextPart = ({ text, ...block }: { text: string; cache_control?: z.output<typeof cacheControl> }) => ({
  type: 'text' as const,
  text,
  ...readCacheMark(block),
})

/** Replaces an empty message by one with an empty text. */
const ensureNotEmpty = <Part>(parts: Part[]): (Part | ReturnType<typeof toTextPart>)[] =>
  parts.length > 0 ? parts : [toTextPart({ text: '' })]

const toInputParts = (content: InputPartOnWire[], at: number): RequestPart[] =>
  content.map((part, index) => {
    const path = ['messages', at, 'content', index]
    if (part.type === 'text') return toTextPart(part)
    const file =
      part.type === 'image_url'
        ? toImage(part.image_url.url, [...path, 'image_url', 'url'])
        : toFileOrAttachment(part.file, [...path, 'file'])
    return { ...file, ...readCacheMark(part) }
  })

/** A part of an assistant message with its path in the message. */
interface PartWithPath {
  part: AssistantPart
  path: Issue['path']
}

type AssistantMessage = Extract<MessageOnWire, { role: 'assistant' }>

function toAssistantParts(message: AssistantMessage): PartWithPath[] {
  const { content, tool_calls: calls, refusal } = message
  const thoughts = (['reasoning_content', 'reasoning'] as const).filter((name) => message[name])
  return [
    ...thoughts.slice(0, 1).map((name) => ({
      part: { type: 'reasoning' as const, text: message[name] ?? '' },
      path: [name],
    })),
    ...(content ?? []).flatMap((part, at) =>
      part.type === 'omitted'
        ? []
        : {
            part: toTextPart({ ...part, text: part.type === 'text' ? part.text : part.refusal }),
            path: ['content', at],
          },
    ),
    ...(refusal ? [{ part: toTextPart({ text: refusal }), path: ['refusal'] }] : []),
    ...(calls ?? []).map((call, at) => ({ part: toToolCall(call), path: ['tool_calls', at] })),
  ]
}

function toToolCall(call: ToolCallOnWire): ToolCall {
  if (call.type === 'custom')
    return { type: 'tool-call', id: call.id, name: call.custom.name, input: writeCustomArguments(call.custom.input) }
  const signature = toGoogleSignature(call.extra_content?.google?.thought_signature)
  const { id, function: definition } = call
  return { type: 'tool-call', id, name: definition.name, input: definition.arguments, ...(signature && { signature }) }
}

/** Maps a path in our messages to the client's messages. */
export function mapMessagePath(messages: readonly MessageOnWire[], path: Issue['path']): Issue['path'] {
  const [root, at, , index, ...rest] = path
  const message = typeof at === 'number' ? messages[at] : undefined
  if (root !== 'messages' || !message || typeof index !== 'number') return path
  if (message.role === 'tool') return ['messages', Number(at), ...(rest[0] === 'id' ? ['tool_call_id'] : rest)]
  if (message.role !== 'assistant')
    return ['messages', Number(at), 'content', index, ...mapFileMember(message.content[index], rest)]
  const partPath = toAssistantParts(message)[index]?.path ?? []
  const call = partPath[0] === 'tool_calls' ? message.tool_calls?.[Number(partPath[1])] : undefined
  return ['messages', Number(at), ...partPath, ...(call ? mapCallMember(call, rest) : [])]
}

function mapCallMember({ type }: ToolCallOnWire, [member, ...rest]: Issue['path']): Issue['path'] {
  if (member === 'name') return [type, 'name', ...rest]
  if (member === 'input') return [type, type === 'custom' ? 'input' : 'arguments', ...rest]
  return member === undefined ? [] : [member, ...rest]
}

function mapFileMember(part: InputPartOnWire | { type: 'text' } | undefined, rest: Issue['path']): Issue['path'] {
  if (rest.length === 0) return []
  if (part?.type === 'image_url') return ['image_url', 'url']
  if (part?.type !== 'file') return rest
  const members: Partial<Record<string, string>> = {
    id: 'file_id',
    name: 'filename',
    data: 'file_data',
    mime: 'file_data',
  }
  return ['file', ...rest.map((step) => members[step] ?? step)]
}

import { z } from 'zod'
import type { Api } from '../../../routers/index.ts'
import type { AssistantPart, ToolCall } from '../../../routers/ports/ai/messages.ts'
import { fileOrAttachment, imageOf, sentFile } from '../files.ts'

export type AskedMessage = Parameters<Api['ai']['complete']>[0]['messages'][number]
export type AskedPart = Extract<AskedMessage, { role: 'user' }>['content'][number]

const nothing = z.null().optional()

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() })

/** A text stands for a list with it alone. */
const listOf = <Part extends z.ZodType>(part: Part) =>
  z
    .preprocess((content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content), z.array(part))
    .meta({ shorthand: 'text' })

const texts = listOf(textPart)

const inputPart = z.discriminatedUnion('type', [
  textPart,
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: z.string(), detail: z.literal('auto', 'is taken as auto only').nullish() }),
  }),
  z.strictObject({
    type: z.literal('file'),
    file: z.strictObject(sentFile),
  }),
])
type InputPartOnWire = z.output<typeof inputPart>

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string(), parsed_arguments: z.unknown().optional() }),
  /** Google's own chat endpoint puts its proofs of thoughts here, too. */
  extra_content: z.strictObject({ google: z.strictObject({ thought_signature: z.string() }) }).nullish(),
  index: z.number().nullish(),
})

export const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer']), content: texts, name: nothing }),
  z.strictObject({ role: z.literal('user'), content: listOf(inputPart), name: nothing }),
  z.strictObject({
    role: z.literal('assistant'),
    content: texts.nullish(),
    tool_calls: z.array(toolCall).nullish(),
    reasoning_content: z.string().nullish(),
    // Clients send back what they were answered, of which these say nothing.
    refusal: nothing,
    annotations: z.array(z.unknown()).nullish(),
    audio: nothing,
    function_call: nothing,
    name: nothing,
    // What the client of OpenAI itself reads in the text, as it does in arguments of calls.
    parsed: z.unknown().optional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: texts, tool_call_id: z.string(), name: z.string().nullish() }),
])
type MessageOnWire = z.output<typeof message>

/** The conversation in the terms of the service: a message of each stays one, so that problems name the right one. */
export function messagesOf(messages: readonly MessageOnWire[]): AskedMessage[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  const names = new Map(calls.map(({ id, function: { name } }) => [id, name]))
  return messages.map((message, at) => messageOf(message, at, names))
}

function messageOf(message: MessageOnWire, at: number, names: ReadonlyMap<string, string>): AskedMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: inputOf(message.content, at) }
    case 'assistant':
      return { role: 'assistant', content: saidIn(message) }
    case 'tool': {
      const { tool_call_id: id, content } = message
      // A result that answers no call is refused further in, whatever it is called.
      return { role: 'tool', content: [{ type: 'tool-result', id, name: names.get(id) ?? 'unknown', content }] }
    }
    default:
      return { role: 'system', content: message.content }
  }
}

const inputOf = (content: InputPartOnWire[], at: number): AskedPart[] =>
  content.map((part, index) => {
    const path = ['messages', at, 'content', index]
    if (part.type === 'text') return part
    if (part.type === 'image_url') return imageOf(part.image_url.url, [...path, 'image_url', 'url'])
    return fileOrAttachment(part.file, [...path, 'file'])
  })

function saidIn(message: Extract<MessageOnWire, { role: 'assistant' }>): AssistantPart[] {
  const { content, tool_calls: calls, reasoning_content: thought } = message
  return [
    ...(thought ? [{ type: 'reasoning' as const, text: thought }] : []),
    // Clients send an empty text beside calls of tools.
    ...(content ?? []).filter(({ text }) => text !== '' || !calls?.length),
    ...(calls ?? []).map((call): ToolCall => {
      const signature = call.extra_content?.google.thought_signature
      const { id, function: called } = call
      return { type: 'tool-call', id, name: called.name, input: called.arguments, ...(signature && { signature }) }
    }),
  ]
}

import { z } from 'zod'
import type { AssistantPart } from '../../../routers/ports/ai/messages.ts'
import { only } from '../../ai/parameters.ts'
import type { AskedMessage, AskedPart } from '../chat/messages.ts'
import { fileOrAttachment, imageOrAttachment, sentFile } from '../files.ts'
import { approvalItems, messagesOfApproval } from './approvals.ts'
import { proofIn } from './call-ids.ts'

/** What a client sends back of an item that it was answered with; but for the id of a call it says nothing to the model. */
const known = { id: z.string().nullish(), status: z.string().nullish() }

/** What OpenAI's own client puts beside a text that it reads as JSON; it says nothing to the model. */
const addedByClient = z.unknown().optional()

const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('input_text'), text: z.string() }),
  z.strictObject({
    type: z.literal('input_image'),
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
    detail: only('auto'),
  }),
  z.strictObject({ type: z.literal('input_file'), ...sentFile }),
  z.strictObject({
    type: z.literal('output_text'),
    text: z.string(),
    annotations: z.array(z.unknown()).nullish(),
    logprobs: z.array(z.unknown()).nullish(),
    parsed: addedByClient,
  }),
])
type Part = z.output<typeof part>

/** A text stands for a list with it alone. */
const parts = z
  .preprocess(
    (content) => (typeof content === 'string' ? [{ type: 'input_text', text: content }] : content),
    z.array(part),
  )
  .meta({ shorthand: 'text' })

const message = z.strictObject({
  ...known,
  type: z.literal('message').default('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: parts,
  phase: z.string().nullish(),
})
const items = z.discriminatedUnion('type', [
  message,
  z.strictObject({
    ...known,
    type: z.literal('reasoning'),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
    content: z.array(z.unknown()).nullish(),
    encrypted_content: z.string().nullish(),
  }),
  z.strictObject({
    ...known,
    type: z.literal('function_call'),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    parsed_arguments: addedByClient,
  }),
  z.strictObject({ ...known, type: z.literal('function_call_output'), call_id: z.string(), output: parts }),
  ...approvalItems,
])
export type Item = z.output<typeof items>

/** A message may leave out that it is one. */
export const item = z
  .preprocess(
    (value) =>
      typeof value === 'object' && value !== null && !('type' in value) ? { type: 'message', ...value } : value,
    items,
  )
  .meta({ shorthand: 'message' })

export function messagesOf(input: readonly Item[]): AskedMessage[] {
  const names = new Map(input.flatMap((one) => (one.type === 'function_call' ? [[one.call_id, one.name]] : [])))
  return input.flatMap((one, at) => messageOf(one, at, names))
}

/** The place of the item that the message at this place is made of. */
export const itemAt = (input: readonly Item[], message: number): number =>
  input.flatMap((one, at) => messagesOf([one]).map(() => at))[message] ?? message

function messageOf(one: Item, at: number, names: ReadonlyMap<string, string>): AskedMessage | AskedMessage[] {
  switch (one.type) {
    case 'message':
      return saidIn(one, at)
    case 'reasoning':
      return { role: 'assistant', content: [thoughtIn(one)] }
    case 'function_call':
      return { role: 'assistant', content: [callIn(one)] }
    case 'function_call_output': {
      const content = inputOf(one.output, ['input', at, 'output'])
      // An attachment in a result is refused further in.
      const name = names.get(one.call_id) ?? 'unknown'
      return { role: 'tool', content: [{ type: 'tool-result', id: one.call_id, name, content: content as never }] }
    }
    default:
      return messagesOfApproval(one)
  }
}

function saidIn({ role, content }: Extract<Item, { type: 'message' }>, at: number): AskedMessage {
  const input = inputOf(content, ['input', at, 'content'])
  // A file of anybody but the user is refused further in.
  if (role === 'user') return { role, content: input }
  return { role: role === 'assistant' ? role : 'system', content: input as never }
}

function callIn({ id, call_id, name, arguments: input }: Extract<Item, { type: 'function_call' }>): AssistantPart {
  const signature = proofIn(id)
  return { type: 'tool-call', id: call_id, name, input, ...(signature && { signature }) }
}

const thoughtIn = ({ summary, encrypted_content: signature }: Extract<Item, { type: 'reasoning' }>): AssistantPart => ({
  type: 'reasoning',
  text: summary.map(({ text }) => text).join('\n\n'),
  ...(signature && { signature }),
})

const inputOf = (content: readonly Part[], path: readonly (string | number)[]): AskedPart[] =>
  content.map((one, index) => {
    if (one.type === 'input_image') return imageOrAttachment(one, [...path, index])
    if (one.type === 'input_file') return fileOrAttachment(one, [...path, index])
    return { type: 'text', text: one.text }
  })

import { z } from 'zod'
import { set } from '../../ai/parameters.ts'
import type { CoreRequest } from '../../ai/types.ts'
import { flag } from './shapes.ts'

const NO_ROOM = 'is answered at /req/room/streamAI/{slug}'
const NO_FILES = 'is read in messages of users alone'

/** More than the core takes is refused by it. */
const attachments = z.array(z.uuid()).max(1000).nullish()
const text = z.string().nullish()
const noFiles = z.array(z.never(NO_FILES)).nullish()

const saysSomething = ({
  text,
  attachments,
}: {
  text?: string | null | undefined
  attachments?: unknown[] | null | undefined
}) => Boolean(text || attachments?.length)

/** What older front ends say to a model: the uuids of attachments go with the text of a user. */
const olderMessage = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.strictObject({ text, attachments }).refine(saysSomething, { path: ['text'], error: 'is required' }),
  }),
  z.strictObject({ role: z.enum(['system', 'assistant']), content: z.strictObject({ text, attachments: noFiles }) }),
])
type OlderMessage = z.output<typeof olderMessage>

const params = z.strictObject({
  temp: z.number().nullish(),
  top_p: z.number().nullish(),
  max_tokens: z.int().nullish(),
  max_thinking_tokens: z.int().nullish(),
})

/** What front ends that exist ask a model with. */
export const olderPayload = z.strictObject({
  model: z.string().min(1),
  messages: z.array(olderMessage),
  tools: z.array(z.string()).nullish(),
  params: params.nullish(),
})

/** The same with what they send beside, which is for rooms. */
export const aiRequest = z.strictObject({
  payload: olderPayload.extend({ stream: flag }),
  broadcast: flag.refine((isForRoom) => !isForRoom, NO_ROOM),
})
type Payload = z.output<typeof olderPayload>

export const coreRequestOf = (payload: Payload): CoreRequest => ({ ...questionOf(payload), toolUses: true })

/** What a model is asked, alone or in a room. */
export const questionOf = ({ model, messages, tools, params }: Payload) => ({
  model,
  messages: messages.map(messageOf),
  ...(tools && { modelTools: tools }),
  // They send the same parameters to every model.
  optionalParameters: true,
  parameters: set({
    temperature: params?.temp,
    topP: params?.top_p,
    maxTokens: params?.max_tokens,
    maxThinkingTokens: params?.max_thinking_tokens,
  }),
})

function messageOf(message: OlderMessage) {
  const { role, content } = message
  if (role !== 'user') return { role, content: [textOf(content.text)] }
  // These front ends send all of a conversation again: a file that was deleted since, or that another model takes, is no reason to refuse it.
  const files = (content.attachments ?? []).map((id) => ({ type: 'attachment' as const, id, optional: true }))
  return { role, content: content.text || files.length === 0 ? [textOf(content.text), ...files] : files }
}

const textOf = (text: string | null | undefined) => ({ type: 'text' as const, text: text ?? '' })

const names: Record<string, readonly string[]> = {
  temperature: ['temp'],
  topP: ['top_p'],
  maxTokens: ['max_tokens'],
  maxThinkingTokens: ['max_thinking_tokens'],
}

/** A path within our request as one within theirs. */
export function fieldAt([root = '', ...rest]: readonly (string | number)[]): readonly (string | number)[] {
  if (root === 'parameters') return ['payload', 'params', ...(names[String(rest[0])] ?? rest)]
  if (root === 'modelTools') return ['payload', 'tools', ...rest]
  if (root === 'messages' && rest[1] === 'content')
    return ['payload', root, rest[0] ?? 0, 'content', rest[3] === 'text' ? 'text' : 'attachments']
  return ['payload', root, ...rest]
}

import { z } from 'zod'
import { set } from '../../ai/parameters.ts'
import type { CoreRequest } from '../../ai/types.ts'
import { flag } from './shapes.ts'

const NO_ROOM = 'is answered at /req/room/streamAI/{slug}'
const NO_FILES = 'is not read by models here'

const content = z.object({
  text: z.string().nullish(),
  attachments: z.array(z.never(NO_FILES)).nullish(),
})

const params = z.object({
  temp: z.number().nullish(),
  top_p: z.number().nullish(),
  max_tokens: z.int().nullish(),
  max_thinking_tokens: z.int().nullish(),
})

/** What front ends that exist ask a model with; what they send beside is for rooms. */
export const aiRequest = z.object({
  payload: z.object({
    model: z.string(),
    stream: flag,
    messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content })),
    tools: z.array(z.string()).nullish(),
    params: params.nullish(),
  }),
  broadcast: flag.refine((isForRoom) => !isForRoom, NO_ROOM),
})
type Payload = z.output<typeof aiRequest>['payload']

export const coreRequestOf = ({ model, messages, tools, params }: Payload): CoreRequest => ({
  model,
  messages: messages.map(({ role, content }) => ({ role, content: [{ type: 'text', text: content.text ?? '' }] })),
  ...(tools && { modelTools: tools }),
  parameters: set({
    temperature: params?.temp,
    topP: params?.top_p,
    maxTokens: params?.max_tokens,
    maxThinkingTokens: params?.max_thinking_tokens,
  }),
})

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
  if (root === 'messages' && rest[1] === 'content') return ['payload', root, rest[0] ?? 0, 'content', 'text']
  return ['payload', root, ...rest]
}

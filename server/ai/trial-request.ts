import type { Message } from '../../routers/ports/ai/messages.ts'
import {
  type CallableModel,
  type CallParameters,
  type Circumstances,
  type ModelCall,
  noFiles,
} from '../../routers/ports/ai/models.ts'
import type { Connection } from './chat-model.ts'
import { writtenFor } from './written.ts'

/** The parameters of which an SDK knows only some models to take them. */
export type Sampling = 'temperature' | 'topP'

/** What decides which parameters are sent. */
export interface Question {
  model: CallableModel
  parameters: CallParameters
  around: Around
}

interface Around extends Omit<Circumstances, 'begun' | 'schema'> {
  /** Whether the turn goes on which the model of Anthropic began with no thought of its own. */
  isUnthought: boolean
}

export type Body = Record<string, unknown> & { generationConfig?: Record<string, unknown> }

const spellings = { temperature: ['temperature'], topP: ['top_p', 'topP'] } as const

/** Undefined where it is not sent. */
export function sentIn({ generationConfig = {}, ...body }: Body, name: Sampling): number | undefined {
  const found = spellings[name].map((spelling) => body[spelling] ?? generationConfig[spelling])
  return found.find((value) => typeof value === 'number')
}

const shortly: Message = { role: 'user', content: [{ type: 'text', text: '.' }] }
const called: Message[] = [
  { role: 'assistant', content: [{ type: 'tool-call', id: 'call', name: 'tool', input: '{}' }] },
  {
    role: 'tool',
    content: [{ type: 'tool-result', id: 'call', name: 'tool', content: [{ type: 'text', text: '.' }] }],
  },
]

/** What is written for a short question of this kind. */
export async function bodyOf({
  model,
  parameters,
  around: { hasTools, isForced, isUnthought },
}: Question): Promise<Body> {
  const call: ModelCall = {
    ...{
      model,
      parameters,
      inputTokens: 0,
      files: noFiles,
      tools: [],
      toolsAtOnce: 1,
      nativeTools: [],
      nativeToolUses: 0,
      userId: 0,
    },
    messages: isUnthought ? [shortly, ...called] : [shortly],
    callerTools: hasTools ? [{ name: 'tool', inputSchema: { type: 'object' } }] : [],
    ...(isForced && { toolChoice: 'required' }),
    signal: new AbortController().signal,
  }
  return JSON.parse((await writtenFor(call, nowhere)).body)
}

const unsent = async () => {
  throw new Error('it is not sent')
}

const nowhere: Connection = {
  ...{ apiUrl: 'http://127.0.0.1', apiKey: 'none', continuousUsage: false },
  ...{ fetch: unsent, send: unsent, read: unsent },
}

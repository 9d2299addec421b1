import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { Problem } from '../../../routers/core/problems.ts'
import { type Api, createCaller } from '../../../routers/index.ts'
import type { Source } from '../../../routers/ports/ai/messages.ts'
import { answer, type CoreRequest, type StreamPart, type WholeAnswer } from '../../ai/answer.ts'
import { readRequest, remapIssues, set } from '../../ai/request-body.ts'
import type { Frames } from '../../http/event-stream.ts'
import { toFailure } from '../../http/failure.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { answerErrors } from '../errors.ts'
import { flag, pictureAddress } from './shapes.ts'

interface StreamAiOptions extends FacadeOptions {
  /** Pause between the empty lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** Asks a model for front ends that exist, which read lines of JSON. */
export async function streamAi(app: FastifyInstance, { heartbeat, ...options }: StreamAiOptions) {
  const { contextOf } = options
  answerErrors(app)

  app.post('/req/streamAI', routeTo('ai.complete', options, { body: aiRequest }), async (request, reply) => {
    const { payload } = await readRequest(aiRequest, contextOf, request, reply)
    const { model, stream, tools } = payload
    const author = await findAuthor(createCaller(await contextOf(request, reply)))
    const lines = new AiLines({ author, model, tools: tools ?? [] }, request.id)
    const inTheirWords = (error: unknown) =>
      stream ? reply.type('text/event-stream; charset=utf-8').send(lines.failed(error)) : failed(error, request.id)
    const input = coreRequestOf(payload)
    const frames = stream ? lines : undefined
    try {
      return await answer(request, reply, { contextOf, heartbeat, input, whole, frames })
    } catch (error) {
      if (!providersFailures.includes(toFailure(error).code)) throw remapIssues(error, fieldAt)
      return inTheirWords(error)
    }
  })
}

const providersFailures: readonly string[] = [
  ...['provider_failed', 'provider_refused', 'provider_rate_limited'],
  ...['provider_quota_exceeded', 'provider_misconfigured', 'context_length_exceeded'],
]

/** These front ends read what a provider did wrong from an answer with 200. */
function failed(thrown: unknown, requestId: string) {
  const { code, message } = toFailure(thrown)
  return { success: false, error: message, code, requestId }
}

/** The AI user, whose message the answer becomes. */
async function findAuthor(api: Api) {
  const user = await api.users.get({ id: AI_USER })
  return { username: user.username, name: user.displayName, avatar_url: pictureAddress(user) }
}

/** JSON within JSON, as these front ends expect it. */
function whole({ content, finish }: WholeAnswer) {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (finish === 'content-filter' && text === '') throw new Problem('provider_refused')
  return { success: true, content: JSON.stringify({ text }) }
}

const AI_USER = '1'

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
const aiRequest = z.strictObject({
  payload: olderPayload.extend({ stream: flag }),
  broadcast: flag.refine((isForRoom) => !isForRoom, NO_ROOM),
})
type Payload = z.output<typeof olderPayload>

const coreRequestOf = (payload: Payload): CoreRequest => ({ ...questionOf(payload), toolUses: true })

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

/** What the first line says of an answer. */
interface Head {
  author: { username: string; name: string; avatar_url: string | null }
  model: string
  tools: readonly string[]
}

/** An answer as lines of JSON, the last of which says that it is done. */
class AiLines implements Frames<StreamPart> {
  /** An empty line, which these front ends pass over. */
  readonly silence = '\n'
  readonly #head: Head
  readonly #requestId: string
  readonly #sources: Source[] = []
  #isBegun = false
  #isThinking = false
  #isRefused = false
  #text = ''

  constructor(head: Head, requestId: string) {
    this.#head = head
    this.#requestId = requestId
  }

  part(part: StreamPart): string {
    return this.#begin() + this.#said(part)
  }

  done(): string {
    if (this.#isRefused && this.#text === '') return this.failed(new Problem('provider_refused'))
    const cited = this.#sources.map((source) => line('citation', toCitation(source)))
    return [this.#begin(), ...cited, line('message', ''), line('completion', this.#text, { isDone: true })].join('')
  }

  failed(thrown: unknown): string {
    const { code, message } = toFailure(thrown)
    const error = { type: 'error', content: message, isDone: true, code, requestId: this.#requestId }
    return `${this.#begin()}${JSON.stringify(error)}\n`
  }

  #begin(): string {
    if (this.#isBegun) return ''
    this.#isBegun = true
    return line('header', '', this.#head)
  }

  #said(part: StreamPart): string {
    if (part.type !== 'reasoning') this.#isThinking = false
    switch (part.type) {
      case 'delta':
        this.#text += part.text
        return line('message', part.text)
      case 'reasoning':
        return this.#thought(part.text)
      case 'tool-use':
        return statusLine(part.by === 'provider' ? 'provider_tool_call' : 'tool_call', part.name)
      case 'source':
        this.#sources.push(part)
        return ''
      case 'finish':
        this.#isRefused = part.reason === 'content-filter'
        return ''
      default:
        return ''
    }
  }

  #thought(text: string): string {
    if (!text) return ''
    const begun = this.#isThinking ? '' : statusLine('reasoning', '')
    this.#isThinking = true
    return begun + statusLine('reasoning_delta', text)
  }
}

const line = (type: string, content: unknown, more: object = {}) =>
  `${JSON.stringify({ type, content, isDone: false, status: null, ...more })}\n`

const statusLine = (key: string, value: string) => line('status', '', { status: { key, value } })

/** Where in the text a page is cited, not every provider says. */
function toCitation({ url, title = '', places = [] }: Source) {
  const [first] = places
  const at = first && { start_index: first.start, end_index: first.end }
  return { url, title, ...at, ranges: places.map(({ start, end }) => [start, end]), byteOffset: false }
}

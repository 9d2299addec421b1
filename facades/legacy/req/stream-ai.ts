import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { Problem } from '../../../routers/core/problems.ts'
import { type Api, createCaller } from '../../../routers/index.ts'
import type { Source } from '../../../routers/ports/ai/messages.ts'
import { answer, type CoreRequest, type StreamPart, type WholeAnswer } from '../../ai/answer.ts'
import { definedOnly, readRequest, remapIssues } from '../../ai/request-body.ts'
import type { EventWriter } from '../../http/event-stream.ts'
import { toFailure } from '../../http/failure.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { setLegacyErrorHandler } from '../errors.ts'
import { flag, toPictureAddress } from './shapes.ts'

interface StreamAiOptions extends FacadeOptions {
  /** Pause between the empty lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** Asks a model for front ends that exist, which read lines of JSON. */
export async function streamAi(app: FastifyInstance, { heartbeat, ...options }: StreamAiOptions) {
  const { contextOf } = options
  setLegacyErrorHandler(app)

  app.post('/req/streamAI', procedureRoute('ai.complete', options, { body: aiRequest }), async (request, reply) => {
    const { payload } = await readRequest(aiRequest, contextOf, request, reply)
    const { model, stream, tools } = payload
    const author = await findAuthor(createCaller(await contextOf(request, reply)))
    const lines = new JsonLines({ author, model, tools: tools ?? [] }, request.id)
    const answerProviderFailure = (error: unknown) =>
      stream
        ? reply.type('text/event-stream; charset=utf-8').send(lines.writeError(error))
        : toErrorBody(error, request.id)
    const input = toCoreRequest(payload)
    const writer = stream ? lines : undefined
    try {
      return await answer(request, reply, { contextOf, heartbeat, input, toBody, writer })
    } catch (error) {
      if (!providerFailures.includes(toFailure(error).code)) throw remapIssues(error, mapErrorPath)
      return answerProviderFailure(error)
    }
  })
}

const providerFailures: readonly string[] = [
  ...['provider_failed', 'provider_refused', 'provider_rate_limited'],
  ...['provider_quota_exceeded', 'provider_misconfigured', 'context_length_exceeded'],
]

/** These front ends read what a provider did wrong from an answer with 200. */
function toErrorBody(thrown: unknown, requestId: string) {
  const { code, message } = toFailure(thrown)
  return { success: false, error: message, code, requestId }
}

/** The AI user, whose message the answer becomes. */
async function findAuthor(api: Api) {
  const user = await api.users.get({ id: AI_USER })
  return { username: user.username, name: user.displayName, avatar_url: toPictureAddress(user) }
}

/** JSON within JSON, as these front ends expect it. */
function toBody({ content, finish }: WholeAnswer) {
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

const hasContent = ({
  text,
  attachments,
}: {
  text?: string | null | undefined
  attachments?: unknown[] | null | undefined
}) => Boolean(text || attachments?.length)

/** What older front ends say to a model: the uuids of attachments go with the text of a user. */
const legacyMessage = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.strictObject({ text, attachments }).refine(hasContent, { path: ['text'], error: 'is required' }),
  }),
  z.strictObject({ role: z.enum(['system', 'assistant']), content: z.strictObject({ text, attachments: noFiles }) }),
])
type LegacyMessage = z.output<typeof legacyMessage>

const params = z.strictObject({
  temp: z.number().nullish(),
  top_p: z.number().nullish(),
  max_tokens: z.int().nullish(),
  max_thinking_tokens: z.int().nullish(),
})

/** What front ends that exist ask a model with. */
export const legacyPayload = z.strictObject({
  model: z.string().min(1),
  messages: z.array(legacyMessage),
  tools: z.array(z.string()).nullish(),
  params: params.nullish(),
})

/** The same with what they send beside, which is for rooms. */
const aiRequest = z.strictObject({
  payload: legacyPayload.extend({ stream: flag }),
  broadcast: flag.refine((isForRoom) => !isForRoom, NO_ROOM),
})
type Payload = z.output<typeof legacyPayload>

const toCoreRequest = (payload: Payload): CoreRequest => ({ ...toQuestion(payload), toolUses: true })

/** What a model is asked, alone or in a room. */
export const toQuestion = ({ model, messages, tools, params }: Payload) => ({
  model,
  messages: messages.map(toMessage),
  ...(tools && { modelTools: tools }),
  // They send the same parameters to every model.
  optionalParameters: true,
  parameters: definedOnly({
    temperature: params?.temp,
    topP: params?.top_p,
    maxTokens: params?.max_tokens,
    maxThinkingTokens: params?.max_thinking_tokens,
  }),
})

function toMessage(message: LegacyMessage) {
  const { role, content } = message
  if (role !== 'user') return { role, content: [toTextPart(content.text)] }
  // These front ends send all of a conversation again: a file that was deleted since, or that another model takes, is no reason to refuse it.
  const files = (content.attachments ?? []).map((id) => ({ type: 'attachment' as const, id, optional: true }))
  return { role, content: content.text || files.length === 0 ? [toTextPart(content.text), ...files] : files }
}

const toTextPart = (text: string | null | undefined) => ({ type: 'text' as const, text: text ?? '' })

const names: Record<string, readonly string[]> = {
  temperature: ['temp'],
  topP: ['top_p'],
  maxTokens: ['max_tokens'],
  maxThinkingTokens: ['max_thinking_tokens'],
}

/** A path within our request as one within theirs. */
export function mapErrorPath([root = '', ...rest]: readonly (string | number)[]): readonly (string | number)[] {
  if (root === 'parameters') return ['payload', 'params', ...(names[String(rest[0])] ?? rest)]
  if (root === 'modelTools') return ['payload', 'tools', ...rest]
  if (root === 'messages' && rest[1] === 'content')
    return ['payload', root, rest[0] ?? 0, 'content', rest[3] === 'text' ? 'text' : 'attachments']
  return ['payload', root, ...rest]
}

/** What the first line says of an answer. */
interface StreamHeader {
  author: { username: string; name: string; avatar_url: string | null }
  model: string
  tools: readonly string[]
}

/** An answer as lines of JSON, the last of which says that it is done. */
class JsonLines implements EventWriter<StreamPart> {
  /** An empty line, which these front ends pass over. */
  readonly keepAlive = '\n'
  readonly #header: StreamHeader
  readonly #requestId: string
  readonly #sources: Source[] = []
  #hasBegun = false
  #isThinking = false
  #isRefused = false
  #text = ''

  constructor(header: StreamHeader, requestId: string) {
    this.#header = header
    this.#requestId = requestId
  }

  writePart(part: StreamPart): string {
    return this.#begin() + this.#writeContent(part)
  }

  writeEnd(): string {
    if (this.#isRefused && this.#text === '') return this.writeError(new Problem('provider_refused'))
    const cited = this.#sources.map((source) => writeLine('citation', toCitation(source)))
    return [
      this.#begin(),
      ...cited,
      writeLine('message', ''),
      writeLine('completion', this.#text, { isDone: true }),
    ].join('')
  }

  writeError(thrown: unknown): string {
    const { code, message } = toFailure(thrown)
    const error = { type: 'error', content: message, isDone: true, code, requestId: this.#requestId }
    return `${this.#begin()}${JSON.stringify(error)}\n`
  }

  #begin(): string {
    if (this.#hasBegun) return ''
    this.#hasBegun = true
    return writeLine('header', '', this.#header)
  }

  #writeContent(part: StreamPart): string {
    if (part.type !== 'reasoning') this.#isThinking = false
    switch (part.type) {
      case 'delta':
        this.#text += part.text
        return writeLine('message', part.text)
      case 'reasoning':
        return this.#writeReasoning(part.text)
      case 'tool-use':
        return writeStatusLine(part.by === 'provider' ? 'provider_tool_call' : 'tool_call', part.name)
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

  #writeReasoning(text: string): string {
    if (!text) return ''
    const start = this.#isThinking ? '' : writeStatusLine('reasoning', '')
    this.#isThinking = true
    return start + writeStatusLine('reasoning_delta', text)
  }
}

const writeLine = (type: string, content: unknown, more: object = {}) =>
  `${JSON.stringify({ type, content, isDone: false, status: null, ...more })}\n`

const writeStatusLine = (key: string, value: string) => writeLine('status', '', { status: { key, value } })

/** Where in the text a page is cited, not every provider says. */
function toCitation({ url, title = '', places = [] }: Source) {
  const [first] = places
  const at = first && { start_index: first.start, end_index: first.end }
  return { url, title, ...at, ranges: places.map(({ start, end }) => [start, end]), byteOffset: false }
}

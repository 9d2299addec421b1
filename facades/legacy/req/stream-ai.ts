import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Issue, Problem } from '../../../routers/core/problems.ts'
import { type Api, createCaller } from '../../../routers/index.ts'
import type { Source } from '../../../routers/ports/ai/messages.ts'
import { type CoreRequest, type StreamPart, sendModelAnswer, type WholeAnswer } from '../../ai/answer.ts'
import { definedOnly, readRequest, remapIssues } from '../../ai/request-body.ts'
import type { EventWriter } from '../../http/event-stream.ts'
import { toFailure } from '../../http/failure.ts'
import { setLegacyErrorHandler } from '../../http/legacy-errors.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { flag, toPictureAddress } from './shapes.ts'

interface StreamAiOptions extends FacadeOptions {
  /** Pause between the empty lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** Registers the route with which legacy front ends call a model; the response is lines of JSON. */
export async function streamAi(app: FastifyInstance, { heartbeat, ...options }: StreamAiOptions) {
  const { resolveContext } = options
  setLegacyErrorHandler(app)

  app.post('/req/streamAI', procedureRoute('ai.complete', options, { body: aiRequest }), async (request, reply) => {
    const { payload } = await readRequest(aiRequest, resolveContext, request, reply)
    const { model, stream, tools } = payload
    const author = await findAuthor(createCaller(await resolveContext(request, reply)))
    const lines = new JsonLineWriter({ author, model, tools: tools ?? [] }, request.id)
    const answerProviderFailure = (error: unknown) =>
      stream
        ? reply.type('text/event-stream; charset=utf-8').send(lines.writeError(error))
        : toErrorBody(error, request.id)
    const input = toCoreRequest(payload)
    const writer = stream ? lines : undefined
    try {
      return await sendModelAnswer(request, reply, { resolveContext, heartbeat, input, toBody, writer })
    } catch (error) {
      if (!providerFailures.includes(toFailure(error).code)) throw remapIssues(error, mapErrorPath)
      return answerProviderFailure(error)
    }
  })
}

const providerFailures: readonly string[] = [
  'provider_failed',
  'provider_refused',
  'provider_rate_limited',
  'provider_quota_exceeded',
  'provider_key_refused',
  'provider_model_unknown',
  'provider_broke_off',
  'provider_paused',
  'context_length_exceeded',
]

/** Builds the error body of a provider failure; legacy front ends expect status 200. */
function toErrorBody(thrown: unknown, requestId: string) {
  const { code, message } = toFailure(thrown)
  return { success: false, error: message, code, requestId }
}

/** Finds the AI user, the author of the answer. */
async function findAuthor(api: Api) {
  const user = await api.users.get({ id: AI_USER })
  return { username: user.username, name: user.displayName, avatar_url: toPictureAddress(user) }
}

/** Builds the response with nested JSON, as legacy front ends expect. */
function toBody({ content, finish }: WholeAnswer) {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (finish === 'content-filter' && text === '') throw new Problem('provider_refused')
  return { success: true, content: JSON.stringify({ text }) }
}

const AI_USER = '1'

const NO_ROOM = 'is answered at /req/room/streamAI/{slug}'
const NO_FILES = 'is read in messages of users alone'

/** Bounds the list; the service validates the exact limit. */
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

/** The legacy messages: attachments by uuid are part of user messages. */
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

/** The legacy payload of a call. */
export const legacyPayload = z.strictObject({
  model: z.string().min(1),
  messages: z.array(legacyMessage),
  tools: z.array(z.string()).nullish(),
  params: params.nullish(),
})

/** The legacy request with its members for rooms. */
const aiRequest = z.strictObject({
  payload: legacyPayload.extend({ stream: flag }),
  broadcast: flag.refine((isForRoom) => !isForRoom, NO_ROOM),
})
type Payload = z.output<typeof legacyPayload>

const toCoreRequest = (payload: Payload): CoreRequest => ({ ...toQuestion(payload), toolUses: true })

/** Converts the payload to a question, in a room or alone. */
export const toQuestion = ({ model, messages, tools, params }: Payload) => ({
  model,
  messages: messages.map(toMessage),
  ...(tools && { modelTools: tools }),
  // Legacy front ends send the same parameters to every model.
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
  // Files are optional, because legacy front ends resend the whole conversation, including deleted or unsupported
  // files.
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

/** Maps a path of our request to the client's request. */
export function mapErrorPath([root = '', ...rest]: Issue['path']): Issue['path'] {
  if (root === 'parameters') return ['payload', 'params', ...(names[String(rest[0])] ?? rest)]
  if (root === 'modelTools') return ['payload', 'tools', ...rest]
  if (root === 'messages' && rest[1] === 'content')
    return ['payload', root, rest[0] ?? 0, 'content', rest[3] === 'text' ? 'text' : 'attachments']
  return ['payload', root, ...rest]
}

/** The header line of an answer. */
interface StreamHeader {
  author: { username: string; name: string; avatar_url: string | null }
  model: string
  tools: readonly string[]
}

/** Writes an answer as lines of JSON; the last line marks the end. */
class JsonLineWriter implements EventWriter<StreamPart> {
  /** Legacy front ends skip empty lines. */
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
        this.#addSource(part)
        return ''
      case 'finish':
        this.#isRefused = part.reason === 'content-filter'
        return ''
      default:
        return ''
    }
  }

  /** A passage comes once for each place that cites it. */
  #addSource(source: Source): void {
    const at = this.#sources.findIndex(({ url }) => url === source.url)
    const known = this.#sources[at]
    if (known) this.#sources[at] = { ...known, places: [...(known.places ?? []), ...(source.places ?? [])] }
    else this.#sources.push(source)
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

/** Converts a source. Not every provider reports the cited range. */
function toCitation({ url, title = '', places = [] }: Source) {
  const [first] = places
  const at = first && { start_index: first.start, end_index: first.end }
  return { url, title, ...at, ranges: places.map(({ start, end }) => [start, end]), byteOffset: false }
}

import { expect } from 'vitest'

/** A response with its whole body. */
export interface SurfaceAnswer {
  status: number
  requestId: string
  text: string
}

/** The text of an answer and its errors. */
interface ParsedAnswer {
  status: number
  words: string
  errors: unknown[]
}

interface Question {
  model: string
  text: string
}

/** How a provider fails: it refuses the request for good, it sends no answer, or one that is cut or cannot be read. */
export type FailureKind = 'refused' | 'unanswered' | 'broken off'

/** One of the APIs by which a model is called. */
export interface Surface {
  name: string
  streams: boolean
  path: string
  /** True if a browser with a session sends the request. */
  inSession?: true
  headers?: Record<string, string>
  body(question: Question): object
  read(answer: SurfaceAnswer): ParsedAnswer
  /** Builds the error of a provider's failure; `isBegun` within a stream. */
  error(answer: SurfaceAnswer, isBegun: boolean, kind: FailureKind): unknown
  /** The status of a failure before a stream begins, where it is not 500. */
  status?: 200
  /** The status of a final failure, if it differs. */
  finalStatus?: 400
}

type Json = Record<string, unknown>

const messagesByKind: Record<FailureKind, string> = {
  refused: 'The AI provider did not take the request.',
  unanswered: 'The AI provider did not answer. Try again later.',
  'broken off': 'The answer of the AI provider broke off, or could not be read. Try again later.',
}
const nameCode = (kind: FailureKind) => (kind === 'broken off' ? 'provider_broke_off' : 'provider_failed')
const sse = { accept: 'text/event-stream' }
const messages = (content: unknown) => [{ role: 'user', content }]
const readWords = (text: string) => ['Hello ', 'there.'].filter((word) => text.includes(word)).join('')

const parseJson = (text: string): Json => JSON.parse(text)
/** Reads a document, which `isError` recognizes as an error. */
const readDocument =
  (isError: (body: Json) => boolean) =>
  ({ status, text }: SurfaceAnswer): ParsedAnswer => {
    const body = parseJson(text)
    return { status, words: readWords(text), errors: isError(body) ? [body] : [] }
  }

/** Reads frames, whose errors `isError` recognizes; a response that is no stream is a document. */
const readFrames =
  (begin: string, isError: (frame: Json) => boolean) =>
  ({ status, text }: SurfaceAnswer): ParsedAnswer => {
    const isStream = status === 200 && !text.startsWith('{"success"')
    const lines = isStream ? text.split('\n').filter((line) => line.startsWith(`${begin}{`)) : [begin + text]
    const all = lines.map((line) => parseJson(line.slice(begin.length)))
    return { status, words: readWords(text), errors: all.filter(isError) }
  }

const buildOwnError = ({ requestId }: SurfaceAnswer, kind: FailureKind) => ({
  code: nameCode(kind),
  message: messagesByKind[kind],
  requestId,
})
const buildOpenAiError = (kind: FailureKind) => ({
  message: messagesByKind[kind],
  param: null,
  code: nameCode(kind),
  type: kind === 'refused' ? 'invalid_request_error' : 'server_error',
})
const hasError = (body: Json) => 'error' in body
const isUnsuccessful = (body: Json) => body['success'] === false

const aiReq = {
  path: '/api/ai-req',
  body: ({ model, text }: Question) => ({ payload: { model, messages: messages({ text }) } }),
  error: (answer: SurfaceAnswer, isBegun: boolean, kind: FailureKind) => ({
    ...(!isBegun && { success: false }),
    ...buildOwnError(answer, kind),
  }),
}

const buildChatSurface = (stream: boolean): Surface => ({
  name: stream ? 'chat completion as a stream' : 'chat completion',
  streams: stream,
  path: '/v1/chat/completions',
  body: ({ model, text }) => ({ model, messages: messages(text), stream }),
  read: stream ? readFrames('data: ', hasError) : readDocument(hasError),
  finalStatus: 400,
  error: (_answer, _isBegun, kind) => ({ error: buildOpenAiError(kind) }),
})

const buildResponsesSurface = (stream: boolean): Surface => ({
  name: stream ? 'response as a stream' : 'response',
  streams: stream,
  path: '/v1/responses',
  body: ({ model, text: input }) => ({ model, input, stream }),
  // A response has a member of this name that is null.
  read: stream ? readFrames('data: ', ({ error }) => Boolean(error)) : readDocument(({ error }) => Boolean(error)),
  finalStatus: 400,
  error: (_, isBegun, kind) => ({
    ...(isBegun && {
      type: 'error',
      sequence_number: expect.any(Number),
      message: messagesByKind[kind],
      param: null,
      code: nameCode(kind),
    }),
    error: buildOpenAiError(kind),
  }),
})

const buildAnthropicSurface = (stream: boolean): Surface => ({
  name: stream ? 'message as a stream' : 'message',
  streams: stream,
  path: '/v1/messages',
  body: ({ model, text }) => ({ model, max_tokens: 100, messages: messages(text), stream }),
  read: stream ? readFrames('data: ', ({ type }) => type === 'error') : readDocument(({ type }) => type === 'error'),
  finalStatus: 400,
  error: ({ requestId }, _, kind) => ({
    type: 'error',
    request_id: requestId,
    error: {
      type: kind === 'refused' ? 'invalid_request_error' : 'api_error',
      message: messagesByKind[kind],
      code: nameCode(kind),
    },
  }),
})

const buildLinesSurface = (stream: boolean): Surface => ({
  name: stream ? 'lines' : 'lines in one piece',
  streams: stream,
  path: '/req/streamAI',
  inSession: true,
  status: 200,
  body: ({ model, text }) => ({ payload: { model, stream, messages: messages({ text }) }, broadcast: false }),
  read: stream ? readFrames('', ({ type }) => type === 'error') : readDocument(isUnsuccessful),
  error: ({ requestId }, _, kind) =>
    stream
      ? { type: 'error', content: messagesByKind[kind], isDone: true, code: nameCode(kind), requestId }
      : { success: false, error: messagesByKind[kind], code: nameCode(kind), requestId },
})

/** Reads the text and the errors from frames of tRPC. */
const readTrpcErrors = ({ status, text }: SurfaceAnswer): ParsedAnswer => ({
  status,
  words: readWords(text),
  errors: [...text.matchAll(/"code":-32603,"message":"([^"]*)","data":(\{[^}]*\})/g)].map(
    ([, message, data = '{}']) => ({ message, ...parseJson(data) }),
  ),
})

export const surfaces: Surface[] = [
  { ...aiReq, name: 'ai-req', streams: false, read: readDocument(isUnsuccessful) },
  {
    ...aiReq,
    name: 'ai-req as a stream',
    streams: true,
    headers: sse,
    read: (answer) =>
      answer.status === 200
        ? readFrames('data: ', (frame) => 'code' in frame)(answer)
        : readDocument(isUnsuccessful)(answer),
  },
  buildChatSurface(false),
  buildChatSurface(true),
  buildResponsesSurface(false),
  buildResponsesSurface(true),
  buildAnthropicSurface(false),
  buildAnthropicSurface(true),
  buildLinesSurface(false),
  buildLinesSurface(true),
  {
    name: 'ai.stream',
    streams: true,
    path: '/trpc/ai.stream?batch=1',
    headers: { 'trpc-accept': 'application/jsonl' },
    body: ({ model, text }) => ({ 0: { model, messages: messages({ text }) } }),
    read: readTrpcErrors,
    // A batch has no status of its own.
    status: 200,
    error: ({ requestId }, _, kind) => ({
      message: messagesByKind[kind],
      problem: nameCode(kind),
      requestId,
      path: 'ai.stream',
      issues: [],
      code: 'INTERNAL_SERVER_ERROR',
      httpStatus: 500,
    }),
  },
]

import { expect } from 'vitest'

/** What came back, with all of its body. */
export interface FaceAnswer {
  status: number
  requestId: string
  text: string
}

/** What a face says: of the answer, and of each error. */
interface Told {
  status: number
  said: string
  errors: unknown[]
}

interface Question {
  model: string
  text: string
}

/** One of the ways in which a model is asked. */
export interface Face {
  name: string
  streams: boolean
  path: string
  /** Whether a browser asks, which has a session. */
  inSession?: true
  headers?: Record<string, string>
  body(question: Question): object
  read(answer: FaceAnswer): Told
  /** The error that a provider's failure is; `isBegun` where it comes within a stream, `isFinal` where it would come again. */
  error(answer: FaceAnswer, isBegun: boolean, isFinal: boolean): unknown
  /** The status of a failure before a stream begins, where it is not 500. */
  status?: 200
  /** The status of one that would come again, where it is another. */
  finalStatus?: 400
}

type Json = Record<string, unknown>

const messageOf = (isFinal: boolean) =>
  isFinal ? 'The AI provider did not take the request.' : 'The AI provider did not answer. Try again later.'
const code = 'provider_failed'
const sse = { accept: 'text/event-stream' }
const messages = (content: unknown) => [{ role: 'user', content }]
const saidIn = (text: string) => ['Hello ', 'there.'].filter((word) => text.includes(word)).join('')

const jsonIn = (text: string): Json => JSON.parse(text)
/** A document of which `isError` tells whether it is one. */
const document =
  (isError: (body: Json) => boolean) =>
  ({ status, text }: FaceAnswer): Told => {
    const body = jsonIn(text)
    return { status, said: saidIn(text), errors: isError(body) ? [body] : [] }
  }

/** Frames of which `isError` tells which are errors; an answer that is no stream is a document. */
const frames =
  (begin: string, isError: (frame: Json) => boolean) =>
  ({ status, text }: FaceAnswer): Told => {
    const isStream = status === 200 && !text.startsWith('{"success"')
    const lines = isStream ? text.split('\n').filter((line) => line.startsWith(`${begin}{`)) : [begin + text]
    const all = lines.map((line) => jsonIn(line.slice(begin.length)))
    return { status, said: saidIn(text), errors: all.filter(isError) }
  }

const ours = ({ requestId }: FaceAnswer, isFinal: boolean) => ({ code, message: messageOf(isFinal), requestId })
const openAi = (isFinal: boolean) => ({
  ...{ message: messageOf(isFinal), param: null, code },
  type: isFinal ? 'invalid_request_error' : 'server_error',
})
const hasError = (body: Json) => 'error' in body
const unsuccessful = (body: Json) => body['success'] === false

const aiReq = {
  path: '/api/ai-req',
  body: ({ model, text }: Question) => ({ payload: { model, messages: messages({ text }) } }),
  error: (answer: FaceAnswer, isBegun: boolean, isFinal: boolean) => ({
    ...(!isBegun && { success: false }),
    ...ours(answer, isFinal),
  }),
}

const chat = (stream: boolean): Face => ({
  name: stream ? 'chat completion as a stream' : 'chat completion',
  streams: stream,
  path: '/v1/chat/completions',
  body: ({ model, text }) => ({ model, messages: messages(text), stream }),
  read: stream ? frames('data: ', hasError) : document(hasError),
  finalStatus: 400,
  error: (_answer, _isBegun, isFinal) => ({ error: openAi(isFinal) }),
})

const responses = (stream: boolean): Face => ({
  name: stream ? 'response as a stream' : 'response',
  streams: stream,
  path: '/v1/responses',
  body: ({ model, text: input }) => ({ model, input, stream }),
  // A response has a member of this name that is null.
  read: stream ? frames('data: ', ({ error }) => Boolean(error)) : document(({ error }) => Boolean(error)),
  finalStatus: 400,
  error: (_, isBegun, isFinal) => ({
    ...(isBegun && { type: 'error', sequence_number: expect.any(Number) }),
    error: openAi(isFinal),
  }),
})

const anthropic = (stream: boolean): Face => ({
  name: stream ? 'message as a stream' : 'message',
  streams: stream,
  path: '/v1/messages',
  body: ({ model, text }) => ({ model, max_tokens: 100, messages: messages(text), stream }),
  read: stream ? frames('data: ', ({ type }) => type === 'error') : document(({ type }) => type === 'error'),
  finalStatus: 400,
  error: ({ requestId }, _, isFinal) => ({
    ...{ type: 'error', request_id: requestId },
    error: { type: isFinal ? 'invalid_request_error' : 'api_error', message: messageOf(isFinal), code },
  }),
})

const lines = (stream: boolean): Face => ({
  name: stream ? 'lines' : 'lines in one piece',
  streams: stream,
  path: '/req/streamAI',
  inSession: true,
  status: 200,
  body: ({ model, text }) => ({ payload: { model, stream, messages: messages({ text }) }, broadcast: false }),
  read: stream ? frames('', ({ type }) => type === 'error') : document(unsuccessful),
  error: ({ requestId }, _, isFinal) =>
    stream
      ? { type: 'error', content: messageOf(isFinal), isDone: true, code, requestId }
      : { success: false, error: messageOf(isFinal), code, requestId },
})

/** How tRPC writes an error, wherever it stands in its frames. */
const shapes = ({ status, text }: FaceAnswer): Told => ({
  status,
  said: saidIn(text),
  errors: [...text.matchAll(/"code":-32603,"message":"([^"]*)","data":(\{[^}]*\})/g)].map(
    ([, message, data = '{}']) => ({ message, ...jsonIn(data) }),
  ),
})

export const faces: Face[] = [
  { ...aiReq, name: 'ai-req', streams: false, read: document(unsuccessful) },
  {
    ...aiReq,
    name: 'ai-req as a stream',
    streams: true,
    headers: sse,
    read: (answer) =>
      answer.status === 200 ? frames('data: ', (frame) => 'code' in frame)(answer) : document(unsuccessful)(answer),
  },
  chat(false),
  chat(true),
  responses(false),
  responses(true),
  anthropic(false),
  anthropic(true),
  lines(false),
  lines(true),
  {
    name: 'ai.stream',
    streams: true,
    path: '/trpc/ai.stream?batch=1',
    headers: { 'trpc-accept': 'application/jsonl' },
    body: ({ model, text }) => ({ 0: { model, messages: messages({ text }) } }),
    read: shapes,
    // A batch has no status of its own.
    status: 200,
    error: ({ requestId }, _, isFinal) => ({
      ...{ message: messageOf(isFinal), problem: code, requestId, path: 'ai.stream', issues: [] },
      ...{ code: 'INTERNAL_SERVER_ERROR', httpStatus: 500 },
    }),
  },
]

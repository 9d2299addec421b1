import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { type Api, createCaller } from '../../routers/index.ts'
import { type EventWriter, sendEventStream } from '../http/event-stream.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { setAllNoteHeaders, setRateLimitHeaders } from '../http/response-notes.ts'

/** The request of the service, into which all faces translate theirs. */
export type CoreRequest = Parameters<Api['ai']['complete']>[0]

export type WholeAnswer = Awaited<ReturnType<Api['ai']['complete']>>
export type Usage = WholeAnswer['usage']

export type StreamPart =
  Awaited<ReturnType<Api['ai']['completeStream']>> extends AsyncGenerator<infer Part> ? Part : never

/** The stream parts of a type. */
export type StreamPartOf<Type extends StreamPart['type']> = Extract<StreamPart, { type: Type }>

interface ModelAnswerOptions {
  resolveContext: ContextResolver
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
  input: CoreRequest
  toBody(answer: WholeAnswer): object
  /** Present if the client wants a stream. */
  writer: EventWriter<StreamPart> | undefined
  /** Returns the name of one of our request members in the API of the face. */
  nameParameter?(path: readonly string[]): string | undefined
}

/** Calls the model, and sends its answer whole or as a stream. */
export async function sendModelAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { resolveContext, heartbeat, input, toBody, writer, nameParameter = (path) => path.at(-1) }: ModelAnswerOptions,
): Promise<object> {
  const ctx = await resolveContext(request, reply)
  const { ai } = createCaller(ctx)
  const reportUnsentParameters = () =>
    ctx.notes.ignoreUnsentParameters((name) => nameParameter(['parameters', name]) ?? name)
  return sendAnswer(ctx, reply, {
    complete: async () => {
      const completed = await ai.complete(input)
      reportUnsentParameters()
      return toBody(completed)
    },
    stream: async () => {
      const parts = await ai.completeStream(input)
      reportUnsentParameters()
      return parts
    },
    writer,
    heartbeat,
  })
}

interface SendOptions<Part> {
  complete(): Promise<object>
  stream(): Promise<AsyncGenerator<Part>>
  /** Present if the client wants a stream. */
  writer: EventWriter<Part> | undefined
  heartbeat: number
}

/** Sends an answer whole, or as a stream if there is a writer, with the state of the caller's limits. */
export async function sendAnswer<Part>(
  ctx: Context,
  reply: FastifyReply,
  { complete, stream, writer, heartbeat }: SendOptions<Part>,
): Promise<object> {
  try {
    if (!writer) return await complete()
    const parts = await stream()
    setAllNoteHeaders(reply, ctx.notes)
    return await sendEventStream(reply, { parts, writer, heartbeat, signal: ctx.signal() })
  } finally {
    if (!reply.sent) setRateLimitHeaders(reply, ctx.notes)
  }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { type Api, createCaller } from '../../routers/index.ts'
import { eventStream, type Frames } from '../http/event-stream.ts'
import { limitHeaders, setRateLimitHeaders } from '../http/limit-headers.ts'
import type { ContextOf } from '../http/procedures.ts'

/** What all faces translate requests into, and answers from. */
export type CoreRequest = Parameters<Api['ai']['complete']>[0]

export type WholeAnswer = Awaited<ReturnType<Api['ai']['complete']>>
export type Usage = WholeAnswer['usage']

export type StreamPart =
  Awaited<ReturnType<Api['ai']['completeStream']>> extends AsyncGenerator<infer Part> ? Part : never

interface Answering {
  contextOf: ContextOf
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
  input: CoreRequest
  whole(answer: WholeAnswer): object
  /** Set where the answer is wanted as it comes. */
  frames: Frames<StreamPart> | undefined
  /** What the face calls a member of our request. */
  nameOf?(path: readonly string[]): string | undefined
}

/** Asks the model, and sends its answer whole or as it comes. */
export async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { contextOf, heartbeat, input, whole, frames, nameOf = (path) => path.at(-1) }: Answering,
): Promise<object> {
  const ctx = await contextOf(request, reply)
  const { ai } = createCaller(ctx)
  return sendAnswer(ctx, reply, {
    whole: async () => {
      const answered = await ai.complete(input)
      nameUnsent(ctx, nameOf)
      return whole(answered)
    },
    stream: async () => {
      const parts = await ai.completeStream(input)
      nameUnsent(ctx, nameOf)
      return parts
    },
    ...{ frames, heartbeat },
  })
}

/** Names what the model was asked without among what was ignored. */
function nameUnsent({ hints }: Context, nameOf: NonNullable<Answering['nameOf']>): void {
  const unsent = (hints.unsentParameters ?? []).map((name) => nameOf(['parameters', name]) ?? name)
  hints.ignoredParameters = [...(hints.ignoredParameters ?? []), ...unsent]
}

interface SentAnswer<Part> {
  whole(): Promise<object>
  stream(): Promise<AsyncGenerator<Part>>
  /** Set where the answer is wanted as it comes. */
  frames: Frames<Part> | undefined
  heartbeat: number
}

/** Sends an answer whole, or as it comes where there are frames, with what is left of the caller's limits. */
export async function sendAnswer<Part>(
  ctx: Context,
  reply: FastifyReply,
  { whole, stream, frames, heartbeat }: SentAnswer<Part>,
): Promise<object> {
  try {
    if (!frames) return await whole()
    const parts = await stream()
    setRateLimitHeaders(reply, ctx.hints.rateLimit)
    reply.headers(limitHeaders(ctx.hints))
    return await eventStream(reply, { parts, frames, heartbeat })
  } finally {
    if (!reply.sent) setRateLimitHeaders(reply, ctx.hints.rateLimit)
  }
}

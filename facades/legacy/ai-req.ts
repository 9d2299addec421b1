import type { FastifyInstance } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { type Api, createCaller } from '../../routers/index.ts'
import { sendAnswer } from '../ai/answer.ts'
import { dropUnknown } from '../ai/body.ts'
import { prefers } from '../http/accept.ts'
import type { Frames } from '../http/event-stream.ts'
import { toFailure } from '../http/failure.ts'
import { type FacadeOptions, findInput, routeTo } from '../http/procedures.ts'
import { answerErrors } from './errors.ts'
import { legacyUserOf } from './user.ts'

type AiRequest = Parameters<Api['ai']['ask']>[0]

const question = findInput('ai.ask')

interface LegacyOptions extends FacadeOptions {
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** The token-authenticated endpoints that predate v1. */
export async function legacy(app: FastifyInstance, { contextOf, bodyLimits, heartbeat }: LegacyOptions) {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // Who calls is known before a byte of the body is read.
    await contextOf(request, reply)
  })
  app.removeContentTypeParser('text/plain')

  answerErrors(app, 'payload')

  app.post<{ Body: Record<string, unknown> | null }>(
    '/api/ai-req',
    routeTo('ai.ask', { contextOf, bodyLimits }),
    async (request, reply) => {
      const ctx = await contextOf(request, reply)
      const { ai } = createCaller(ctx)
      const payload = payloadIn(ctx, request.body) as AiRequest
      const isStreamed = prefers('text/event-stream', request.headers.accept)
      return sendAnswer(ctx, reply, {
        whole: async () => {
          const { text, cut } = await ai.ask(payload)
          return { success: true, content: { text }, ...(cut && { cut }) }
        },
        stream: () => ai.stream(payload),
        frames: isStreamed ? namedEvents(request.id) : undefined,
        heartbeat,
      })
    },
  )

  app.get('/api/user', async (request, reply) => {
    return legacyUserOf(await createCaller(await contextOf(request, reply)).users.me())
  })
}

/** The payload without members that are not known, here and beside it, which the response names. */
function payloadIn({ services, hints }: Context, body: Record<string, unknown> | null): unknown {
  const { payload = {}, ...beside } = body ?? {}
  const { given, ignored } = dropUnknown(question, payload ?? {}, services.settings.strictParameters)
  hints.ignoredParameters = [...Object.keys(beside), ...ignored.map((name) => `payload.${name}`)]
  return given
}

type StreamPart = Awaited<ReturnType<Api['ai']['stream']>> extends AsyncGenerator<infer Part> ? Part : never

/** Events by name: `delta`, `usage`, then `done` or `error`. */
const namedEvents = (requestId: string): Frames<StreamPart> => ({
  part: ({ type, ...data }) => eventOf(type, data),
  done: () => eventOf('done', {}),
  failed(thrown) {
    const { code, message } = toFailure(thrown)
    return eventOf('error', { code, message, requestId })
  },
})

const eventOf = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

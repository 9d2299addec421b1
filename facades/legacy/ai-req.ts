import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../routers/index.ts'
import { sendAnswer } from '../ai/answer.ts'
import { type FacadeOptions, routeTo } from '../http/procedures.ts'
import { answerErrors } from './errors.ts'
import { namedEvents } from './frames.ts'
import { legacyUserOf } from './user.ts'

type AiRequest = Parameters<Api['ai']['ask']>[0]

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

  app.post<{ Body: { payload?: AiRequest } | null }>(
    '/api/ai-req',
    routeTo('ai.ask', { contextOf, bodyLimits }),
    async (request, reply) => {
      const ctx = await contextOf(request, reply)
      const { ai } = createCaller(ctx)
      const payload = (request.body?.payload ?? {}) as AiRequest
      const isStreamed = request.headers.accept?.includes('text/event-stream')
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

import type { FastifyInstance } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'
import { type Api, createCaller } from '../../routers/index.ts'
import { eventStream } from '../http/event-stream.ts'
import { limitHeaders } from '../http/limit-headers.ts'
import { type FacadeOptions, routeTo } from '../http/procedures.ts'
import { setRateLimitHeaders } from '../http/rate-limit-headers.ts'
import { read } from './body.ts'
import { chunksOf } from './chat/chunks.ts'
import { completionOf } from './chat/completion.ts'
import { chatRequest, coreRequestOf } from './chat/request.ts'
import { sendError } from './errors.ts'

interface OpenAiOptions extends FacadeOptions {
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** What programs written for OpenAI's API call. */
export async function openAi(app: FastifyInstance, { contextOf, bodyLimits, heartbeat }: OpenAiOptions) {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // Who calls is settled before a byte of the body is read.
    await contextOf(request, reply)
  })
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(sendError)

  app.get('/v1/models', async (request, reply) => {
    const models = await createCaller(await contextOf(request, reply)).ai.models()
    return { object: 'list', data: models.map(modelOf) }
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request, reply) => {
    const models = await createCaller(await contextOf(request, reply)).ai.models()
    const found = models.find(({ modelId }) => modelId === request.params['*'])
    if (!found)
      throw new Problem('invalid', { issues: [{ path: ['model'], message: 'is not a model that you may use' }] })
    return modelOf(found)
  })

  app.post('/v1/chat/completions', routeTo('ai.complete', { contextOf, bodyLimits }), async (request, reply) => {
    const ctx = await contextOf(request, reply)
    const { ai } = createCaller(ctx)
    try {
      const asked = read(chatRequest, request.body)
      const input = coreRequestOf(asked)
      const heading = { id: `chatcmpl-${request.id}`, created: Math.floor(Date.now() / 1000), model: asked.model }
      if (!asked.stream) return completionOf(heading, await ai.complete(input))
      const parts = await ai.completeStream(input)
      const first = await parts.next()
      setRateLimitHeaders(reply, ctx.hints.rateLimit)
      reply.headers(limitHeaders(ctx.hints))
      const frames = chunksOf(heading, asked.stream_options?.include_usage === true)
      return await eventStream(reply, { first, parts, frames, heartbeat })
    } finally {
      if (!reply.sent) setRateLimitHeaders(reply, ctx.hints.rateLimit)
    }
  })
}

type OfferedModel = Awaited<ReturnType<Api['ai']['models']>>[number]

const modelOf = ({ modelId, provider, created }: OfferedModel) => ({
  id: modelId,
  object: 'model',
  created,
  owned_by: provider,
})

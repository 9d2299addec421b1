import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import { answer } from '../ai/answer.ts'
import { read, readRequest } from '../ai/body.ts'
import { placed } from '../ai/error-paths.ts'
import { offeredModel, offeredModels } from '../ai/offered-model.ts'
import { type FacadeOptions, routeTo } from '../http/procedures.ts'
import { setRateLimitHeaders } from '../http/rate-limit-headers.ts'
import { sendError } from './errors.ts'
import { MessageEvents } from './messages/events.ts'
import { messageOf } from './messages/message.ts'
import { countRequest, messageRequest, translateRequest } from './messages/request.ts'
import { modelOf, pageOf, pageQuery } from './models.ts'
import { parameterAt } from './parameter-names.ts'

interface AnthropicOptions extends FacadeOptions {
  /** Pause between the pings of a silent stream, in milliseconds. */
  heartbeat: number
}

/** What programs written for Anthropic's API call. */
export async function anthropic(app: FastifyInstance, options: AnthropicOptions) {
  const { contextOf } = options
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'request-id': request.id })
    takeApiKey(request)
    // Who calls is known before a byte of the body is read.
    await contextOf(request, reply)
  })
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(sendError)
  modelRoutes(app, options)
  countRoute(app, options)
  messageRoute(app, options)
}

function modelRoutes(app: FastifyInstance, { contextOf }: AnthropicOptions): void {
  // OpenAI's clients ask for models at the same address, without the header `anthropic-version`.
  app.addConstraintStrategy(versioned)
  const constraints = { anthropicVersion: 'sent' }
  app.get('/v1/models', { constraints }, async (request, reply) => {
    const page = read(pageQuery, request.query)
    return pageOf(await offeredModels(await contextOf(request, reply), ['chat']), page)
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', { constraints }, async (request, reply) => {
    return modelOf(await offeredModel(await contextOf(request, reply), request.params['*'], ['chat']))
  })
}

function countRoute(app: FastifyInstance, options: AnthropicOptions): void {
  app.post('/v1/messages/count_tokens', routeTo('ai.countTokens', options), async (request, reply) => {
    const ctx = await options.contextOf(request, reply)
    const { input, placeOf } = translateRequest(await readRequest(countRequest, options.contextOf, request, reply))
    try {
      const { inputTokens, estimated } = await createCaller(ctx).ai.countTokens(input)
      return { input_tokens: inputTokens, estimated }
    } catch (error) {
      throw placed(error, placeOf, request.body)
    } finally {
      setRateLimitHeaders(reply, ctx.hints.rateLimit)
    }
  })
}

function messageRoute(app: FastifyInstance, options: AnthropicOptions): void {
  app.post('/v1/messages', routeTo('ai.complete', options), async (request, reply) => {
    const asked = await readRequest(messageRequest, options.contextOf, request, reply)
    const heading = { id: `msg_${request.id}`, model: asked.model }
    const { input, placeOf } = translateRequest(asked)
    return answer(request, reply, {
      ...options,
      input,
      nameOf: parameterAt,
      whole: (answered) => messageOf(heading, answered),
      frames: asked.stream ? new MessageEvents(heading, request.id) : undefined,
    }).catch((error: unknown) => {
      throw placed(error, placeOf, request.body)
    })
  })
}

/** A token goes where Anthropic's clients have their key, too. */
function takeApiKey({ headers }: FastifyRequest): void {
  const key = headers['x-api-key']
  if (headers.authorization === undefined && typeof key === 'string') headers.authorization = `Bearer ${key}`
}

/** Tells routes apart by whether a request says which version of Anthropic's API it means. */
const versioned = {
  name: 'anthropicVersion',
  storage() {
    const handlers = new Map<unknown, never>()
    return {
      get: (key: unknown) => handlers.get(key) ?? null,
      set: (key: unknown, handler: never) => void handlers.set(key, handler),
    }
  },
  validate: () => undefined,
  deriveConstraint: ({ headers }: { headers: FastifyRequest['headers'] }) =>
    headers['anthropic-version'] === undefined ? undefined : 'sent',
}

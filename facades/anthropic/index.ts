import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { createCaller } from '../../routers/index.ts'
import { sendModelAnswer } from '../ai/answer.ts'
import { type AvailableModel, findModel, listModels } from '../ai/available-models.ts'
import { parseBody, readRequest, remapIssues } from '../ai/request-body.ts'
import { type FacadeOptions, procedureRoute } from '../http/procedures.ts'
import { setRateLimitHeaders } from '../http/response-notes.ts'
import { nameParameter, sendError } from './anthropic-errors.ts'
import { countRequest, messageRequest, toCoreRequest } from './messages-request.ts'
import { toMessage } from './messages-response.ts'
import { MessageEventWriter } from './messages-stream.ts'

interface AnthropicOptions extends FacadeOptions {
  /** Pause between the pings of a silent stream, in milliseconds. */
  heartbeat: number
}

/** Registers the routes of Anthropic's API. */
export async function anthropic(app: FastifyInstance, options: AnthropicOptions) {
  const { resolveContext } = options
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'request-id': request.id })
    takeApiKey(request)
    // The caller is authenticated before the body is read.
    await resolveContext(request, reply)
  })
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(sendError)
  registerModelRoutes(app, options)
  registerCountRoute(app, options)
  registerMessageRoute(app, options)
}

function registerModelRoutes(app: FastifyInstance, { resolveContext }: AnthropicOptions): void {
  // OpenAI's clients ask for models at the same address, without the header `anthropic-version`.
  app.addConstraintStrategy(versionConstraint)
  const constraints = { anthropicVersion: 'sent' }
  app.get('/v1/models', { constraints }, async (request, reply) => {
    const page = parseBody(pageQuery, request.query)
    return toModelPage(await listModels(await resolveContext(request, reply), ['chat']), page)
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', { constraints }, async (request, reply) => {
    return toModel(await findModel(await resolveContext(request, reply), request.params['*'], ['chat']))
  })
}

function registerCountRoute(app: FastifyInstance, options: AnthropicOptions): void {
  app.post('/v1/messages/count_tokens', procedureRoute('ai.countTokens', options), async (request, reply) => {
    const ctx = await options.resolveContext(request, reply)
    const { input, mapPath } = toCoreRequest(await readRequest(countRequest, options.resolveContext, request, reply))
    try {
      const { inputTokens, estimated } = await createCaller(ctx).ai.countTokens(input)
      return { input_tokens: inputTokens, estimated }
    } catch (error) {
      throw remapIssues(error, mapPath, request.body)
    } finally {
      setRateLimitHeaders(reply, ctx.notes)
    }
  })
}

function registerMessageRoute(app: FastifyInstance, options: AnthropicOptions): void {
  app.post('/v1/messages', procedureRoute('ai.complete', options), async (request, reply) => {
    const body = await readRequest(messageRequest, options.resolveContext, request, reply)
    const { input, mapPath } = toCoreRequest(body)
    const reportsSearch = input.optionalTools?.includes('web_search') ?? false
    const header = { id: `msg_${request.id}`, model: body.model, reportsSearch }
    return sendModelAnswer(request, reply, {
      ...options,
      input,
      nameParameter,
      toBody: (completed) => toMessage(header, completed),
      writer: body.stream ? new MessageEventWriter(header, request.id) : undefined,
    }).catch((error: unknown) => {
      throw remapIssues(error, mapPath, request.body)
    })
  })
}

/** Accepts a token in `x-api-key`, where Anthropic's clients send it. */
function takeApiKey({ headers }: FastifyRequest): void {
  const key = headers['x-api-key']
  if (headers.authorization === undefined && typeof key === 'string') headers.authorization = `Bearer ${key}`
}

/** A route constraint on the presence of `anthropic-version`. */
const versionConstraint = {
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

/** Unknown parameters are ignored, because earlier clients add `beta=true`. */
const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(20),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
})

/** Returns a page of models, after or before a cursor. */
function toModelPage(models: readonly AvailableModel[], { limit, after_id, before_id }: z.output<typeof pageQuery>) {
  const ids = models.map(({ modelId }) => modelId)
  const from = after_id === undefined ? 0 : ids.indexOf(after_id) + 1
  const to = before_id === undefined ? models.length : Math.max(0, ids.indexOf(before_id))
  const found = models.slice(from, to)
  const data = (before_id === undefined ? found.slice(0, limit) : found.slice(-limit)).map(toModel)
  return {
    data,
    has_more: data.length < found.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}

const toModel = ({ modelId, label, created }: AvailableModel) => ({
  type: 'model',
  id: modelId,
  display_name: label,
  created_at: new Date(created * 1000).toISOString(),
})

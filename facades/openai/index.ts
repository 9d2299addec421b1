import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import { answer } from '../ai/answer.ts'
import { type OfferedModel, offeredModel, offeredModels } from '../ai/available-models.ts'
import { readRequest, remapIssues } from '../ai/request-body.ts'
import { limitHeaders, setRateLimitHeaders } from '../http/limit-headers.ts'
import { type FacadeOptions, routeTo } from '../http/procedures.ts'
import * as chat from './chat/chat-request.ts'
import { mapChatErrorPath } from './chat/chat-request.ts'
import { toCompletion } from './chat/chat-response.ts'
import { toChunks } from './chat/chat-stream.ts'
import * as embeddings from './embeddings.ts'
import { parameterAt, sendError } from './openai-errors.ts'
import * as responses from './responses/responses-request.ts'
import { mapResponsesErrorPath } from './responses/responses-request.ts'
import { startResponse, wholeResponse } from './responses/responses-response.ts'
import { ResponseEvents } from './responses/responses-stream.ts'
import { ToolTable } from './responses/responses-tools.ts'

interface OpenAiOptions extends FacadeOptions {
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** What programs written for OpenAI's API call. */
export async function openAi(app: FastifyInstance, options: OpenAiOptions) {
  const { contextOf } = options
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // Who calls is known before a byte of the body is read.
    await contextOf(request, reply)
  })
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(sendError)
  modelRoutes(app, options)
  embeddingRoute(app, options)
  completionRoute(app, options)
  responseRoute(app, options)
}

function modelRoutes(app: FastifyInstance, { contextOf }: OpenAiOptions): void {
  app.get('/v1/models', async (request, reply) => {
    const models = await offeredModels(await contextOf(request, reply), ['chat', 'embedding'])
    return { object: 'list', data: models.map(toModel) }
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request, reply) => {
    return toModel(await offeredModel(await contextOf(request, reply), request.params['*'], ['chat', 'embedding']))
  })
}

function embeddingRoute(app: FastifyInstance, options: OpenAiOptions): void {
  app.post('/v1/embeddings', routeTo('ai.embed', options), async (request, reply) => {
    const ctx = await options.contextOf(request, reply)
    const asked = await readRequest(embeddings.embeddingRequest, options.contextOf, request, reply)
    try {
      return embeddings.embeddingList(asked, await createCaller(ctx).ai.embed(embeddings.toEmbeddingInput(asked)))
    } finally {
      setRateLimitHeaders(reply, ctx.hints.rateLimit)
      reply.headers(limitHeaders(ctx.hints))
    }
  })
}

function completionRoute(app: FastifyInstance, options: OpenAiOptions): void {
  app.post('/v1/chat/completions', routeTo('ai.complete', options), async (request, reply) => {
    const asked = await readRequest(chat.chatRequest, options.contextOf, request, reply)
    const heading = {
      ...{ id: `chatcmpl-${request.id}`, created: now(), model: asked.model },
      custom: chat.customNames(asked),
    }
    return answer(request, reply, {
      ...options,
      input: chat.toAiRequest(asked),
      nameOf: (path) => parameterAt(path, 'chat'),
      whole: (answered) => toCompletion(heading, answered),
      frames: asked.stream ? toChunks(heading, asked.stream_options?.include_usage === true) : undefined,
    }).catch(withClientPaths(request, (path) => mapChatErrorPath(asked, path)))
  })
}

function responseRoute(app: FastifyInstance, options: OpenAiOptions): void {
  app.post('/v1/responses', routeTo('ai.complete', options), async (request, reply) => {
    const asked = await readRequest(responses.responseRequest, options.contextOf, request, reply)
    const tools = new ToolTable(asked.tools, asked.tool_choice)
    const response = startResponse(`resp_${request.id}`, now(), asked)
    return answer(request, reply, {
      ...options,
      input: responses.toAiRequest(asked, tools),
      nameOf: (path) => parameterAt(path, 'responses'),
      whole: (answered) => wholeResponse(tools, response, answered),
      frames: asked.stream ? new ResponseEvents(response, tools) : undefined,
    }).catch(withClientPaths(request, (path) => mapResponsesErrorPath(asked, tools, path)))
  })
}

/** Throws an error about our request as one about theirs. */
const withClientPaths =
  ({ body }: FastifyRequest, placeOf: Parameters<typeof remapIssues>[1]) =>
  (error: unknown): never => {
    throw remapIssues(error, placeOf, body)
  }

/** In seconds since 1970. */
const now = () => Math.floor(Date.now() / 1000)

const toModel = ({ modelId, provider, created }: OfferedModel) => ({
  id: modelId,
  object: 'model',
  created,
  owned_by: provider,
})

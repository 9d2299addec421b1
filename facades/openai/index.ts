import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import { sendModelAnswer } from '../ai/answer.ts'
import { type AvailableModel, findModel, listModels } from '../ai/available-models.ts'
import { readRequest, remapIssues } from '../ai/request-body.ts'
import { type FacadeOptions, procedureRoute } from '../http/procedures.ts'
import { setRateLimitHeaders } from '../http/response-notes.ts'
import { chatRequest, chatToCoreRequest, listCustomTools, mapChatErrorPath } from './chat/chat-request.ts'
import { toCompletion } from './chat/chat-response.ts'
import { createChunkWriter } from './chat/chat-stream.ts'
import * as embeddings from './embeddings.ts'
import { nameParameter, sendError } from './openai-errors.ts'
import { asksForSummary } from './responses/responses-messages.ts'
import { mapResponsesErrorPath, responseRequest, responsesToCoreRequest } from './responses/responses-request.ts'
import { startResponse, toWholeResponse } from './responses/responses-response.ts'
import { ResponseEventWriter } from './responses/responses-stream.ts'
import { ToolTable } from './responses/tool-table.ts'

interface OpenAiOptions extends FacadeOptions {
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** Registers the routes of OpenAI's API. */
export async function openAi(app: FastifyInstance, options: OpenAiOptions) {
  const { resolveContext } = options
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // The caller is authenticated before the body is read.
    await resolveContext(request, reply)
  })
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(sendError)
  registerModelRoutes(app, options)
  registerEmbeddingRoute(app, options)
  registerCompletionRoute(app, options)
  registerResponseRoute(app, options)
}

function registerModelRoutes(app: FastifyInstance, { resolveContext }: OpenAiOptions): void {
  app.get('/v1/models', async (request, reply) => {
    const models = await listModels(await resolveContext(request, reply), ['chat', 'embedding'])
    return { object: 'list', data: models.map(toModel) }
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request, reply) => {
    return toModel(await findModel(await resolveContext(request, reply), request.params['*'], ['chat', 'embedding']))
  })
}

function registerEmbeddingRoute(app: FastifyInstance, options: OpenAiOptions): void {
  app.post('/v1/embeddings', procedureRoute('ai.embed', options), async (request, reply) => {
    const ctx = await options.resolveContext(request, reply)
    const body = await readRequest(embeddings.embeddingRequest, options.resolveContext, request, reply)
    try {
      return embeddings.toEmbeddingList(body, await createCaller(ctx).ai.embed(embeddings.toEmbeddingInput(body)))
    } finally {
      setRateLimitHeaders(reply, ctx.notes)
    }
  })
}

function registerCompletionRoute(app: FastifyInstance, options: OpenAiOptions): void {
  app.post('/v1/chat/completions', procedureRoute('ai.complete', options), async (request, reply) => {
    const body = await readRequest(chatRequest, options.resolveContext, request, reply)
    const header = {
      id: `chatcmpl-${request.id}`,
      created: now(),
      model: body.model,
      custom: listCustomTools(body),
    }
    return sendModelAnswer(request, reply, {
      ...options,
      input: chatToCoreRequest(body),
      nameParameter: (path) => nameParameter(path, 'chat'),
      toBody: (completed) => toCompletion(header, completed),
      writer: body.stream ? createChunkWriter(header, body.stream_options?.include_usage === true) : undefined,
    }).catch(withClientPaths(request, (path) => mapChatErrorPath(body, path)))
  })
}

function registerResponseRoute(app: FastifyInstance, options: OpenAiOptions): void {
  app.post('/v1/responses', procedureRoute('ai.complete', options), async (request, reply) => {
    const body = await readRequest(responseRequest, options.resolveContext, request, reply)
    const tools = new ToolTable(body)
    const isSummary = asksForSummary(body.input)
    const response = startResponse(`resp_${request.id}`, now(), body, readMetadata(request.body))
    return sendModelAnswer(request, reply, {
      ...options,
      input: responsesToCoreRequest(body, tools),
      nameParameter: (path) => nameParameter(path, 'responses'),
      toBody: (completed) => toWholeResponse(tools, response, completed, isSummary),
      writer: body.stream ? new ResponseEventWriter(response, tools, isSummary) : undefined,
    }).catch(withClientPaths(request, (path) => mapResponsesErrorPath(body, tools, path)))
  })
}

/** Reads the labels that a response repeats. */
function readMetadata(body: unknown): unknown {
  const { metadata } = (body ?? {}) as { metadata?: unknown }
  return typeof metadata === 'object' ? metadata : undefined
}

/** Rethrows an error with paths of the client's request. */
const withClientPaths =
  ({ body }: FastifyRequest, mapPath: Parameters<typeof remapIssues>[1]) =>
  (error: unknown): never => {
    throw remapIssues(error, mapPath, body)
  }

/** Returns the Unix time in seconds. */
const now = () => Math.floor(Date.now() / 1000)

const toModel = ({ modelId, provider, created }: AvailableModel) => ({
  id: modelId,
  object: 'model',
  created,
  owned_by: provider,
})

import { pipeline, type Readable, Transform } from 'node:stream'
import { getTRPCErrorShape } from '@trpc/server'
import type { FastifyHandlerOptions } from '@trpc/server/adapters/fastify'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../routers/core/context.ts'
import { lazyPromise } from '../routers/core/load/lazy-promise.ts'
import { Problem } from '../routers/core/problems.ts'
import { accessOf, assertMayCall, metaOf } from '../routers/core/trpc.ts'
import { type AppRouter, appRouter } from '../routers/index.ts'
import { getReservedBytes, reserveBodyMemory } from './http/body-limits.ts'
import { type Failure, setChallenge, startErrorResponse } from './http/failure.ts'
import { findExcess } from './http/json-text.ts'
import { type FacadeOptions, findProcedure, getBodyLimit } from './http/procedures.ts'
import { setRetryAfter } from './http/response-notes.ts'
import { trpcUploads } from './trpc-uploads.ts'

const MAX_CALLS = 50

interface TrpcRequest {
  Params: { path: string }
  Querystring: { batch?: string }
}

interface TrpcOptions extends FacadeOptions {
  /** Milliseconds between pings of open subscriptions. */
  heartbeat: number
}

/** Registers the tRPC endpoint for first-party programs. */
export async function trpc(app: FastifyInstance, { resolveContext, bodyLimits, heartbeat }: TrpcOptions) {
  const handlerOptions = createHandlerOptions(resolveContext, heartbeat)
  // Loaded lazily, because it loads all of Node's `fetch`.
  const adapter = lazyPromise(() => import('@trpc/server/adapters/fastify'))
  app.setErrorHandler(sendError)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body: Buffer, done) => {
    const excess = findExcess(body)
    done(excess ? new Problem('invalid', { detail: excess }) : null, body.toString())
  })
  app.register(trpcUploads, { resolveContext })
  app.route<TrpcRequest>({
    method: app.supportedMethods.filter((method) => method !== 'PUT'),
    url: '/trpc/:path',
    bodyLimit: Math.max(...Object.values(bodyLimits)),
    onRequest: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const ctx = await resolveContext(request, reply)
      const names = listNames(request)
      assertMayCallAny(ctx, names)
      assertTakesStreams(request)
      const procedures = names.flatMap((name) => findProcedure(name) ?? [])
      reserveBodyMemory(ctx, request, reply, getReservedBytes(procedures, bodyLimits))
    },
    preParsing: async (request, reply, body) => {
      const ctx = await resolveContext(request, reply)
      const open = listNames(request).filter((name) => findAccessError(ctx, name) === undefined)
      const limits = open.map((name) => getBodyLimit(findProcedure(name), bodyLimits))
      return limitBody(body as Readable, request, Math.max(...limits))
    },
    onSend: sendWhole,
    handler: async (request, reply) => {
      const { fastifyRequestHandler } = await adapter()
      return fastifyRequestHandler({ ...handlerOptions, req: request, res: reply, path: request.params.path })
    },
  })
}

const createHandlerOptions = (resolveContext: FacadeOptions['resolveContext'], heartbeat: number) =>
  ({
    router: createRouter(heartbeat),
    maxBatchSize: MAX_CALLS,
    createContext: ({ req, res }) => resolveContext(req, res),
    onError: ({ error, req, path, ctx }) => {
      if (!ctx) Object.assign(error, { requestId: req.id })
      if (getHTTPStatusCodeFromError(error) >= 500)
        req.log.error({ error: error.cause ?? error, path }, 'a procedure failed')
    },
  }) satisfies FastifyHandlerOptions<AppRouter, FastifyRequest, FastifyReply>

/** Creates the router with ping intervals. Clients reconnect after three missing pings. */
function createRouter(heartbeat: number): AppRouter {
  const { _config: config } = appRouter._def
  const sse = { ping: { enabled: true, intervalMs: heartbeat }, client: { reconnectAfterInactivityMs: 3 * heartbeat } }
  const jsonl = { pingMs: heartbeat }
  return { ...appRouter, _def: { ...appRouter._def, _config: { ...config, sse, jsonl } } }
}

/** Converts an unstreamed response to a text, so that it can be compressed. */
async function sendWhole({ context }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  if (!(payload instanceof Response)) return payload
  const { status, headers } = payload
  // Its headers would replace the `Vary` of the service.
  for (const vary of [reply.getHeader('vary') ?? []].flat()) headers.append('vary', String(vary))
  const isStream = headers.has('transfer-encoding') || headers.get('content-type')?.startsWith('text/event-stream')
  if (isStream) return payload
  reply.code(status).headers(Object.fromEntries(headers))
  // The hook of the server ran before this status was set.
  setRetryAfter(reply, context?.notes)
  setChallenge(reply, status)
  return payload.text()
}

/** Lists the called procedures. tRPC itself refuses batches that are too large. */
const listNames = ({ params, query }: FastifyRequest<TrpcRequest>): string[] =>
  query.batch === '1' ? params.path.split(',', MAX_CALLS) : [params.path]

/** Throws if the caller may call none of the procedures; otherwise each call has its own result. */
function assertMayCallAny(ctx: Context, names: readonly string[]): void {
  const refusals = names.map((name) => findAccessError(ctx, name))
  if (refusals[0] && refusals.every(Boolean)) throw refusals[0]
}

/** Throws before the call if a procedure streams and the client accepts no stream. */
function assertTakesStreams(request: FastifyRequest<TrpcRequest>): void {
  if (request.headers['trpc-accept'] === 'application/jsonl') return
  const procedures = listNames(request).flatMap((name) => findProcedure(name) ?? [])
  if (procedures.some((procedure) => metaOf(procedure).streams)) throw new Problem('unsupported_media_type')
}

function findAccessError(ctx: Context, name: string): unknown {
  const procedure = findProcedure(name)
  try {
    if (procedure) assertMayCall(ctx, accessOf(procedure))
    return undefined
  } catch (refusal) {
    return refusal
  }
}

/** Limits the body to what the called procedures accept, because the route has a single limit. */
function limitBody(body: Readable, { headers }: FastifyRequest, limit: number): Readable {
  if (Number(headers['content-length'] ?? 0) > limit) throw new Problem('too_large')
  if (headers['transfer-encoding'] === undefined) return body
  let received = 0
  const counting = new Transform({
    transform(chunk: Buffer, _, done) {
      received += chunk.length
      done(received > limit ? new Problem('too_large') : null, chunk)
    },
  })
  return pipeline(body, counting, () => {})
}

function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  const error = Object.assign(toTRPCError(startErrorResponse(thrown, request, reply)), { requestId: request.id })
  const config = appRouter._def._config
  const { path } = request.params as { path?: string }
  const shape = getTRPCErrorShape({ config, error, type: 'unknown', path, input: undefined, ctx: undefined })
  return reply.code(shape.data.httpStatus).send({ error: shape })
}

/** Converts an error from before the tRPC handler. */
function toTRPCError({ code, error }: Failure) {
  return code === 'too_large' || code === 'unsupported_media_type' ? new Problem(code) : error
}

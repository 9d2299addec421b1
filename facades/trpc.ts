import { getTRPCErrorFromUnknown, getTRPCErrorShape } from '@trpc/server'
import { type FastifyTRPCPluginOptions, fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { FastifyInstance } from 'fastify'
import { type AppRouter, appRouter } from '../routers/index.ts'
import { Problem } from '../routers/problems.ts'
import { failureOf } from './failure.ts'
import type { ContextOf } from './request-context.ts'

interface TrpcOptions {
  contextOf: ContextOf
  /** Largest body of a request, in bytes. */
  maxBody: number
}

const MOST_CALLS = 50

/** The procedures themselves, for first-party programs. */
export async function trpc(app: FastifyInstance, { contextOf, maxBody }: TrpcOptions) {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  app.setErrorHandler((thrown, request, reply) => {
    const error = Object.assign(refusalOf(thrown), { requestId: request.id })
    const config = appRouter._def._config
    const shape = getTRPCErrorShape({
      config,
      error,
      type: 'unknown',
      path: undefined,
      input: undefined,
      ctx: undefined,
    })
    return reply.code(shape.data.httpStatus).send({ error: shape })
  })

  await app.register(fastifyTRPCPlugin, {
    prefix: '/trpc',
    trpcOptions: {
      router: appRouter,
      maxBatchSize: MOST_CALLS,
      maxBodySize: maxBody,
      createContext: ({ req, res }) => contextOf(req, res),
      onError: ({ error, req, path, ctx }) => {
        if (!ctx) Object.assign(error, { requestId: req.id })
        if (getHTTPStatusCodeFromError(error) >= 500)
          req.log.error({ error: error.cause ?? error, path }, 'a procedure failed')
      },
    },
  } satisfies FastifyTRPCPluginOptions<AppRouter>)
}

/** What is refused before tRPC sees it. */
function refusalOf(thrown: unknown) {
  const { code } = failureOf(thrown)
  if (code === 'too_large' || code === 'unsupported_media_type') return new Problem(code)
  return getTRPCErrorFromUnknown(thrown)
}

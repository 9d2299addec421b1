import { type FastifyTRPCPluginOptions, fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import type { FastifyInstance } from 'fastify'
import { type AppRouter, appRouter } from '../routers/index.ts'
import type { ContextOf } from './request-context.ts'

interface TrpcOptions {
  contextOf: ContextOf
}

/** The procedures themselves, for first-party programs. */
export async function trpc(app: FastifyInstance, { contextOf }: TrpcOptions) {
  await app.register(fastifyTRPCPlugin, {
    prefix: '/trpc',
    trpcOptions: {
      router: appRouter,
      createContext: ({ req, res }) => contextOf(req, res),
      onError: ({ error, req, path }) => {
        if (error.code === 'INTERNAL_SERVER_ERROR')
          req.log.error({ error: error.cause ?? error, path }, 'a procedure failed')
      },
    },
  } satisfies FastifyTRPCPluginOptions<AppRouter>)
}

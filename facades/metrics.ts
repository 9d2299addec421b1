import type { FastifyInstance } from 'fastify'
import { createCaller } from '../routers/index.ts'
import type { ContextOf } from './http/procedures.ts'

interface MetricsOptions {
  /** By token alone. */
  contextOf: ContextOf
}

export async function metrics(app: FastifyInstance, { contextOf }: MetricsOptions) {
  app.get('/metrics', async (request, reply) => {
    const text = await createCaller(await contextOf(request, reply)).metrics.read()
    return reply.header('cache-control', 'no-store').type('text/plain; version=0.0.4; charset=utf-8').send(text)
  })
}

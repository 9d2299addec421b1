import type { FastifyInstance } from 'fastify'
import { createCaller } from '../routers/index.ts'
import type { ContextResolver } from './http/procedures.ts'

interface HealthOptions {
  /** Creates a guest context even for requests with credentials: health checks load no session and run no user code. */
  resolveGuestContext: ContextResolver
  isDraining: () => boolean
}

export async function health(app: FastifyInstance, { resolveGuestContext, isDraining }: HealthOptions) {
  app.addHook('onSend', async (_, reply) => void reply.header('cache-control', 'no-store'))

  app.get('/health', async (request, reply) => {
    const report = await createCaller(await resolveGuestContext(request, reply)).health.check()
    return reply.code(report.status === 'healthy' ? 200 : 503).send(report)
  })

  app.get('/health/live', async () => ({ status: 'live' }))

  app.get('/health/ready', async (request, reply) => {
    if (isDraining()) return reply.code(503).send({ status: 'draining' })
    const report = await createCaller(await resolveGuestContext(request, reply)).health.ready()
    return reply.code(report.status === 'ready' ? 200 : 503).send(report)
  })
}

interface MetricsOptions {
  /** Creates a context that only accepts tokens. */
  resolveContext: ContextResolver
}

export async function metrics(app: FastifyInstance, { resolveContext }: MetricsOptions) {
  app.get('/metrics', async (request, reply) => {
    const text = await createCaller(await resolveContext(request, reply)).metrics.read()
    return reply.header('cache-control', 'no-store').type('text/plain; version=0.0.4; charset=utf-8').send(text)
  })
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'
import { toFailure } from './failure.ts'

/** Refuses unknown well-known addresses with JSON, as programs that look for a sign-in break at a page or a redirect. */
export async function wellKnown(app: FastifyInstance): Promise<void> {
  app.setErrorHandler((thrown, request: FastifyRequest, reply) => {
    const { status, code, message } = toFailure(thrown)
    return reply.code(status).send({ success: false, message, code, requestId: request.id })
  })
  app.all('/.well-known/*', { config: { isRefusal: true } as object }, () => {
    throw new Problem('not_found', { detail: 'There is nothing at this address.' })
  })
}

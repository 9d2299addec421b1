import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'

const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'] as const

/** Answers all methods of an address but those that are taken, and HEAD with GET, by naming these. */
export function refuseOtherMethods(app: FastifyInstance, url: string, taken: readonly string[]): void {
  const allowed = [...taken]
  if (allowed.includes('GET')) allowed.push('HEAD')
  const others = methods.filter((method) => !allowed.includes(method))
  const refuse = async (_: FastifyRequest, reply: FastifyReply) => {
    reply.header('allow', allowed.join(', '))
    throw new Problem('method_not_allowed')
  }
  app.route({ method: others, url, onRequest: refuse, handler: refuse })
}

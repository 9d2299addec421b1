import type { FastifyReply } from 'fastify'
import type { Context } from '../../../routers/core/context.ts'

/** Tells a page the CSRF token of its new session, which it needs for its next request. */
export const setCsrfToken = ({ browser }: Context, reply: FastifyReply) =>
  reply.header('x-csrf-token', browser?.session?.csrfToken)

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'

/** The context of a request: who calls, made once and handed out again to whoever asks. */
export type ContextOf = (request: FastifyRequest, reply: FastifyReply) => Promise<Context>

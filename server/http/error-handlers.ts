import type { FastifyInstance } from 'fastify'
import { sendError as sendAnthropicError } from '../../facades/anthropic/anthropic-errors.ts'
import { startErrorResponse } from '../../facades/http/failure.ts'
import { refuseUnrouted } from '../../facades/http/method-not-allowed.ts'
import { isNavigation } from '../../facades/http/negotiation.ts'
import { sendError as sendOpenAiError } from '../../facades/openai/openai-errors.ts'
import { sendErrorPage } from '../../facades/web/layout.ts'
import type { Services } from '../../routers/core/services.ts'
import type { Env } from '../config/settings.ts'
import { chooseLocale } from './request-locale.ts'

/** Handles errors outside the facades: browsers get a page in their language, programs get JSON. */
export function setErrorHandlers(app: FastifyInstance, env: Env, { texts: { labels } }: Services): void {
  app.setErrorHandler((cause, request, reply) => {
    const failure = startErrorResponse(cause, request, reply)
    const { status, code, message } = failure
    if (isNavigation(request)) {
      const locale = chooseLocale(request) ?? env.APP_LOCALE
      return sendErrorPage(request, reply, failure, { locale, labels: labels[locale] })
    }
    return reply.code(status).send({ success: false, message, code, requestId: request.id })
  })
  app.setNotFoundHandler(refuseUnrouted)
}

/** Handles errors below `/v1`, which the APIs of OpenAI and Anthropic share; a header tells which one the client expects. */
export async function setModelApiErrorHandlers(app: FastifyInstance): Promise<void> {
  app.setErrorHandler((cause, request, reply) => {
    const send = request.headers['anthropic-version'] === undefined ? sendOpenAiError : sendAnthropicError
    return send(cause, request, reply)
  })
  app.setNotFoundHandler(refuseUnrouted)
}

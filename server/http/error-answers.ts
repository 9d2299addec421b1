import type { FastifyInstance } from 'fastify'
import { sendError as sendAnthropicError } from '../../facades/anthropic/anthropic-errors.ts'
import { toFailure } from '../../facades/http/failure.ts'
import { refuseUnrouted } from '../../facades/http/method-not-allowed.ts'
import { isNavigation } from '../../facades/http/negotiation.ts'
import { sendError as sendOpenAiError } from '../../facades/openai/openai-errors.ts'
import { sendErrorPage } from '../../facades/web/layout.ts'
import type { Services } from '../../routers/core/services.ts'
import type { Env } from '../config/settings.ts'
import { chooseLocale } from './request-locale.ts'

/** What no surface answers in its own shape: browsers get a page in their language, programs get JSON. */
export function answerErrors(app: FastifyInstance, env: Env, { labels }: Services): void {
  app.setErrorHandler((thrown, request, reply) => {
    const { status, code, message, error } = toFailure(thrown)
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    if (isNavigation(request)) {
      const locale = chooseLocale(request) ?? env.APP_LOCALE
      return sendErrorPage(request, reply, { status, code }, { locale, labels: labels[locale] })
    }
    return reply.code(status).send({ success: false, message, code, requestId: request.id })
  })
  app.setNotFoundHandler(refuseUnrouted)
}

/** Programs of two APIs ask below `/v1`, and tell by a header which one they mean. */
export async function answerUnknownOfModels(app: FastifyInstance): Promise<void> {
  app.setErrorHandler((thrown, request, reply) => {
    const send = request.headers['anthropic-version'] === undefined ? sendOpenAiError : sendAnthropicError
    return send(thrown, request, reply)
  })
  app.setNotFoundHandler(refuseUnrouted)
}

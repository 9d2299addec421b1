import type { FastifyInstance } from 'fastify'
import { issuesOf } from '../../routers/core/issues.ts'
import { type Failure, failureOf } from '../http/failure.ts'
import { type FieldErrors, fieldErrors } from '../http/validation-messages.ts'

/** Tells what went wrong as older programs expect it; `member` of the body holds what the procedure is given, if not all of it. */
export function answerErrors(app: FastifyInstance, member?: string): void {
  app.setErrorHandler((thrown, request, reply) => {
    const failure = failureOf(thrown)
    const { status, code, message, error } = failure
    const errors = status === 422 ? { errors: errorsOf(failure, member) } : undefined
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    const body = {
      success: false,
      message: errors ? 'Validation Error' : message,
      code,
      requestId: request.id,
      ...errors,
    }
    return reply.code(status).send(body)
  })
}

function errorsOf({ error, message }: Failure, member: string | undefined): FieldErrors {
  const issues = issuesOf(error)
  return issues.length > 0 ? fieldErrors(issues, member) : { [member ?? 'body']: [message] }
}

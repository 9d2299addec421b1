import type { FastifyInstance } from 'fastify'
import { issuesOf } from '../../routers/core/issues/issues.ts'
import { type Failure, failureOf } from '../http/failure.ts'
import { type FieldErrors, fieldErrors } from '../http/validation-messages.ts'

/** Tells what went wrong as older programs expect it; `member` of the body holds what the procedure is given, if not all of it. */
export function answerErrors(app: FastifyInstance, member?: string): void {
  app.setErrorHandler((thrown, request, reply) => {
    const failure = failureOf(thrown)
    const { status, code, message, error } = failure
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    const body =
      status === 422
        ? validationError(failure, request.id, member)
        : { success: false, message, code, requestId: request.id }
    return reply.code(status).send(body)
  })
}

/** What is wrong with a request, by the names of its fields. */
export const validationError = (failure: Failure, requestId: string, member?: string) => ({
  ...{ success: false, message: 'Validation Error', code: failure.code, requestId },
  errors: errorsOf(failure, member),
})

function errorsOf({ error, message }: Failure, member: string | undefined): FieldErrors {
  const issues = issuesOf(error)
  return issues.length > 0 ? fieldErrors(issues, member) : { [member ?? 'body']: [message] }
}

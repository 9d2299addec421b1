import type { FastifyReply, FastifyRequest } from 'fastify'
import { readIssues } from '../../../routers/core/issues/issues.ts'
import { type Failure, toFailure } from '../../http/failure.ts'
import { isNavigation } from '../../http/navigation.ts'
import { type FieldErrors, fieldErrors } from '../../http/validation-messages.ts'

/** What the body of an error answer is made from. */
export interface Refusal {
  code: string
  message: string
  requestId: string
  /** What is wrong with each field, if the body is invalid. */
  errors?: FieldErrors
}

/** Makes an error handler that answers with a body of the surface's own shape. */
export function errorHandler(bodyOf: (refusal: Refusal) => object) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const failure = toFailure(thrown)
    const { status, code, message, error } = failure
    // The error handler of the whole service answers a navigation with a page.
    if (isNavigation(request)) throw thrown
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    const body = bodyOf({ code, message, requestId: request.id, ...wrongFields(failure) })
    return reply.code(status).send({ success: false, ...body })
  }
}

function wrongFields({ status, error }: Failure): { errors?: FieldErrors } {
  const issues = status === 422 ? readIssues(error) : []
  return issues.length > 0 ? { errors: fieldErrors(issues) } : {}
}

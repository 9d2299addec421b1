import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readIssues } from '../../routers/core/issues.ts'
import { getErrorKind } from '../../routers/core/problems.ts'
import { type Failure, type FieldErrors, toFailure, toFieldErrors } from '../http/failure.ts'

/** Tells what went wrong as older programs expect it; `member` of the body holds what the procedure is given, if not all of it. */
export function setLegacyErrorHandler(app: FastifyInstance, member?: string): void {
  app.setErrorHandler((thrown, request, reply) => {
    const failure = toFailure(thrown)
    const { code, message, error } = failure
    const status = chooseStatus(failure)
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    if (isProviderError(failure)) setProviderRetryAfter(reply, request)
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    const body =
      status === 422
        ? toValidationError(failure, request.id, member)
        : { success: false, message, code, requestId: request.id }
    return reply.code(status).send(body)
  })
}

/** Where the provider says when it wants to be asked again. */
function setProviderRetryAfter(reply: FastifyReply, { context }: FastifyRequest): void {
  const seconds = context?.hints.retryAfterSeconds
  if (seconds) reply.header('retry-after', seconds)
}

const isProviderError = ({ code }: Failure) => code.startsWith('provider_')

/** Older programs know no other status for what a provider does wrong. */
const chooseStatus = (failure: Failure) => (isProviderError(failure) && failure.status !== 422 ? 500 : failure.status)

/** What is wrong with a request, by the names of its fields. */
export const toValidationError = (failure: Failure, requestId: string, member?: string) => ({
  ...{ success: false, message: 'Validation Error', code: failure.code, requestId },
  errors: toLegacyFieldErrors(failure, member),
})

/** A sentence that is there already is told as it is. */
function toLegacyFieldErrors({ error, code, message }: Failure, member: string | undefined): FieldErrors {
  const issues = readIssues(error)
  if (issues.length === 0) return { [member ?? 'body']: [message] }
  const errors = toFieldErrors(issues, member)
  const [field, ...others] = Object.keys(errors)
  const hasOwnSentence = field !== undefined && others.length === 0 && message !== getErrorKind(code).title
  return hasOwnSentence ? { [field]: [message] } : errors
}

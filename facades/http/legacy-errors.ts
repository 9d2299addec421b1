import type { FastifyInstance } from 'fastify'
import { readIssues } from '../../routers/core/issues.ts'
import { getErrorKind } from '../../routers/core/problems.ts'
import { type Failure, type FieldErrors, startErrorResponse, toFieldErrors } from './failure.ts'
import { setProviderRetryAfter } from './response-notes.ts'

/** Sets the error handler of legacy programs; `member` names the part of the body that holds the input. */
export function setLegacyErrorHandler(app: FastifyInstance, member?: string): void {
  app.setErrorHandler((thrown, request, reply) => {
    const failure = startErrorResponse(thrown, request, reply)
    const { code, message } = failure
    const status = chooseStatus(failure)
    if (isProviderError(failure)) setProviderRetryAfter(reply, request.context?.notes)
    const body =
      status === 422
        ? toValidationError(failure, request.id, member)
        : { success: false, message, code, requestId: request.id }
    return reply.code(status).send(body)
  })
}

const isProviderError = ({ code }: Failure) => code.startsWith('provider_')

/** Chooses the status: legacy programs expect 500 for errors of a provider. */
const chooseStatus = (failure: Failure) => (isProviderError(failure) && failure.status !== 422 ? 500 : failure.status)

/** Builds the error body by field names. */
export const toValidationError = (failure: Failure, requestId: string, member?: string) => ({
  success: false,
  message: 'Validation Error',
  code: failure.code,
  requestId,
  errors: toLegacyFieldErrors(failure, member),
})

/** Keeps a specific message as it is. */
function toLegacyFieldErrors({ error, code, message }: Failure, member: string | undefined): FieldErrors {
  const issues = readIssues(error)
  if (issues.length === 0) return { [member ?? 'body']: [message] }
  const errors = toFieldErrors(issues, member)
  const [field, ...others] = Object.keys(errors)
  const hasOwnSentence = field !== undefined && others.length === 0 && message !== getErrorKind(code).title
  return hasOwnSentence ? { [field]: [message] } : errors
}

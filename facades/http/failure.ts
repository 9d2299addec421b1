import { getTRPCErrorFromUnknown, type TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { FastifyError } from 'fastify'
import { z } from 'zod'
import { unavailableOr } from '../../routers/core/outage.ts'
import { Problem, type ProblemName } from '../../routers/core/problems.ts'

/** What went wrong, in the terms of HTTP. */
export interface Failure {
  status: number
  /** A stable word for programs. */
  code: string
  message: string
  error: TRPCError
}

/** The framework's own refusals, in our words. */
const refusals: Record<string, [status: number, code: string, message: string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'too_large', 'The body is too large.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'unsupported_media_type', 'Content-Type must be application/json.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [422, 'invalid', 'The body is empty.'],
  FST_ERR_CTP_INVALID_JSON_BODY: [422, 'invalid', 'The body is not valid JSON.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'bad_request', 'Content-Length does not match the body.'],
}

/** What the core has no code for. */
const statuses: Partial<Record<ProblemName, number>> = { not_acceptable: 406 }

/** Reads whatever was thrown; what nobody meant to throw is a failure of the server and says nothing of its inside. */
export function failureOf(thrown: unknown): Failure {
  const error = getTRPCErrorFromUnknown(unavailableOr(thrown))
  if (error instanceof Problem) {
    const status = statuses[error.problem] ?? getHTTPStatusCodeFromError(error)
    return { status, code: error.problem, message: error.message, error }
  }
  // Only an input that fails its schema has this code: a schema that fails elsewhere is a bug of ours.
  if (error.code === 'BAD_REQUEST' && error.cause instanceof z.ZodError) {
    return { status: 422, code: 'invalid', message: 'The input is not valid.', error }
  }
  const { code = '', statusCode = 500 } = thrown as Partial<FastifyError>
  const refusal = refusals[code]
  if (refusal) return { status: refusal[0], code: refusal[1], message: refusal[2], error }
  if (thrown instanceof SyntaxError && statusCode === 400)
    return { status: 422, code: 'invalid', message: 'The body is not valid JSON.', error }
  if (statusCode < 500)
    return { status: statusCode, code: 'bad_request', message: 'The request could not be understood.', error }
  return { status: 500, code: 'internal', message: 'Something went wrong on the server.', error }
}

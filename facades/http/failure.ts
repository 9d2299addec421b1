import { getTRPCErrorFromUnknown, TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { translateDatabaseError } from '../../routers/core/database-errors.ts'
import { type DetailedIssue, truncateIssues } from '../../routers/core/issues.ts'
import { type ErrorCode, getErrorKind, MAX_ISSUES, Problem } from '../../routers/core/problems.ts'

/** A failure with its HTTP status. */
export interface Failure {
  status: number
  /** A stable word for programs. */
  code: ErrorCode
  message: string
  error: TRPCError
}

/** Messages for errors of Fastify. */
const fastifyErrors: Partial<Record<string, [code: ErrorCode, message: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large', getErrorKind('too_large').title],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Content-Type must be application/json.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad_request', 'Content-Length does not match the body.'],
}

/** Returns the HTTP status of an error code. */
function findStatus(code: ErrorCode): number {
  const { status, http } = getErrorKind(code)
  return http ?? getHTTPStatusCodeFromError(new TRPCError({ code: status }))
}

/** Returns true if a retry would fail again. */
export const isFinal = ({ error }: Failure): boolean => error instanceof Problem && error.isFinal

/** Turns any thrown value into a failure. An unexpected error becomes a server failure that reveals no details. */
export function toFailure(thrown: unknown): Failure {
  const error = getTRPCErrorFromUnknown(translateDatabaseError(thrown))
  const failure = (code: ErrorCode, message: string = getErrorKind(code).title): Failure => ({
    status: findStatus(code),
    code,
    message,
    error,
  })
  if (error instanceof Problem) return failure(error.problem, error.message)
  // Only an input that fails its schema has this code: a schema that fails elsewhere is a bug of ours.
  if (error.code === 'BAD_REQUEST' && error.cause instanceof z.ZodError) return failure('invalid')
  const { code = '', statusCode = 500 } = thrown as Partial<FastifyError>
  const known = fastifyErrors[code]
  if (known) return failure(...known)
  if (thrown instanceof SyntaxError && statusCode === 400) return failure('invalid', 'The body is not valid JSON.')
  return statusCode < 500 ? { ...failure('bad_request'), status: statusCode } : failure('internal')
}

/** Converts a thrown value for an error response: logs a failure of the service, and sets a challenge. */
export function startErrorResponse(thrown: unknown, { log }: FastifyRequest, reply: FastifyReply): Failure {
  const failure = toFailure(thrown)
  logServerFailure(failure, log)
  setChallenge(reply, failure.status)
  return failure
}

/** Sets the challenge of a 401: a program needs a token. Browsers show no dialog for it. */
export function setChallenge(reply: FastifyReply, status: number): void {
  if (status === 401) reply.header('www-authenticate', 'Bearer')
}

/** Logs a failure with its cause unless the client caused it. */
export function logServerFailure({ status, code, error }: Failure, log: FastifyRequest['log']): void {
  if (status >= 500) log.error({ error: error.cause ?? error }, code)
}

/** Messages by the dotted path of their field. */
export type FieldErrors = Record<string, string[]>

/** Converts the first issues to sentences that name their fields. */
export function toFieldErrors(issues: readonly DetailedIssue[], root?: string): FieldErrors {
  const entries = truncateIssues(issues).flatMap((issue) =>
    [issue.path, ...listImpliedPaths(issue)].map((path) => {
      const field = [...(root === undefined ? [] : [root]), ...path].join('.')
      return { field, sentence: writeSentence(field, issue) }
    }),
  )
  const byField = Map.groupBy(entries.slice(0, MAX_ISSUES), ({ field }) => field)
  return Object.fromEntries([...byField].map(([field, all]) => [field, all.map(({ sentence }) => sentence)]))
}

/** Lists the fields that are missing, too: without content, its text is missing. */
const listImpliedPaths = ({ path, missing }: DetailedIssue) =>
  path.at(-1) === 'content' && missing ? [[...path, 'text']] : []

const writeSentence = (field: string, { message }: DetailedIssue) => `The ${field} field ${message}.`

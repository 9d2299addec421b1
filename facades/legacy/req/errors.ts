import { TRPCError } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { type DetailedIssue, readIssues, truncateIssues } from '../../../routers/core/issues.ts'
import { getErrorKind, Problem } from '../../../routers/core/problems.ts'
import { type Failure, startErrorResponse, toFailure } from '../../http/failure.ts'
import { isNavigation } from '../../http/negotiation.ts'

/** Legacy names of input members, by the first step of their path. */
type MemberNames = Readonly<Record<string, readonly string[]>>

/** A body that does not match the schema of its route. */
class BodyShapeError extends TRPCError {}

/** Parses the body of a request by the schema of its route; throws if it does not match. */
export const parseBody = <S extends z.ZodType>(schema: S, { body }: FastifyRequest): z.output<S> =>
  parseAs(schema, body)

export function parseAs<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body ?? {})
  if (!parsed.success) throw new BodyShapeError({ code: 'BAD_REQUEST', cause: parsed.error })
  return parsed.data
}

/**
 * Creates an error handler that responds with a JSON:API error document, one entry per invalid field, and the legacy
 * members. A navigation gets an error page.
 */
export function createErrorHandler(names: MemberNames, extraMembers: (failure: Failure) => object = () => ({})) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (isNavigation(request)) throw thrown
    const failure = startErrorResponse(toNotFoundIfInPath(thrown, request), request, reply)
    const { status, code, message, error } = failure
    const issues = truncateIssues(readIssues(error))
    const entry = { status: String(status), code, title: getErrorKind(code).title, meta: { requestId: request.id } }
    const errors =
      issues.length > 0
        ? issues.map((issue) => ({ ...entry, ...toFieldError(issue, thrown instanceof BodyShapeError ? {} : names) }))
        : [{ ...entry, detail: message }]
    return reply.code(status).send({ success: false, message, ...extraMembers(failure), errors })
  }
}

function toFieldError(issue: DetailedIssue, names: MemberNames) {
  const [first = '', ...rest] = issue.path
  const path = [...(names[first] ?? [first]), ...rest]
  return { detail: `The ${path.join('.')} field ${issue.message}.`, source: { pointer: `/${path.join('/')}` } }
}

/** Converts an invalid path parameter to «not found». */
function toNotFoundIfInPath(thrown: unknown, { params }: FastifyRequest): unknown {
  const failure = toFailure(thrown)
  const names = Object.keys((params ?? {}) as object)
  const isInPath = ({ path: [first] }: DetailedIssue) => names.some((name) => String(first).startsWith(name))
  return failure.code === 'invalid' && readIssues(failure.error).some(isInPath) ? new Problem('not_found') : thrown
}

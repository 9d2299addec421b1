import { TRPCError } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { type DetailedIssue, readIssues, truncateIssues } from '../../../routers/core/issues.ts'
import { getErrorKind, Problem } from '../../../routers/core/problems.ts'
import { type Failure, toFailure } from '../../http/failure.ts'
import { isNavigation } from '../../http/negotiation.ts'

/** What these routes call the members of an input, by the first word of their path. */
export type MemberNames = Readonly<Record<string, readonly string[]>>

/** A body that has not the shape of its route. */
class BodyShapeError extends TRPCError {}

/** The body of a request in the shape of its route; throws where it has another one. */
export const parseBody = <S extends z.ZodType>(schema: S, { body }: FastifyRequest): z.output<S> =>
  parseAs(schema, body)

export function parseAs<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body ?? {})
  if (!parsed.success) throw new BodyShapeError({ code: 'BAD_REQUEST', cause: parsed.error })
  return parsed.data
}

/**
 * Answers with a JSON:API error document, one entry for each wrong field, beside what the older routes say of an error
 * themselves. What no page of ours opens is a page for nobody.
 */
export function createErrorHandler(names: MemberNames, extraMembers: (failure: Failure) => object = () => ({})) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (isNavigation(request)) throw thrown
    const failure = toFailure(toNotFoundIfInPath(thrown, request))
    const { status, code, message, error } = failure
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
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

/** What cannot be in an address is not there. */
function toNotFoundIfInPath(thrown: unknown, { params }: FastifyRequest): unknown {
  const failure = toFailure(thrown)
  const names = Object.keys((params ?? {}) as object)
  const isInPath = ({ path: [first] }: DetailedIssue) => names.some((name) => String(first).startsWith(name))
  return failure.code === 'invalid' && readIssues(failure.error).some(isInPath) ? new Problem('not_found') : thrown
}

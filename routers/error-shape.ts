import type { TRPCDefaultErrorShape, TRPCError } from '@trpc/server'
import { z } from 'zod'
import { type Issue, Problem } from './problems.ts'

/** What a first-party program is told of a failure: nothing of the inside, and the request's id in every case. */
export function errorShape(shape: TRPCDefaultErrorShape, error: TRPCError, requestId: string | undefined) {
  const { code, httpStatus, path } = shape.data
  const issues = issuesOf(error)
  return {
    code: shape.code,
    message: sentenceOf(error, issues),
    data: {
      code,
      httpStatus,
      path,
      problem: error instanceof Problem ? error.problem : undefined,
      issues,
      // A refusal at the door has no context, and carries the id itself.
      requestId: requestId ?? (error as { requestId?: string }).requestId,
    },
  }
}

/** A schema that fails anywhere but at the input is a bug of ours, and has another code. */
function issuesOf(error: TRPCError): readonly Issue[] | undefined {
  if (error instanceof Problem) return error.issues
  if (error.code !== 'BAD_REQUEST' || !(error.cause instanceof z.ZodError)) return undefined
  return error.cause.issues.map(({ path, message }) => ({ path: path as (string | number)[], message }))
}

function sentenceOf(error: TRPCError, issues: readonly Issue[] | undefined): string {
  if (error instanceof Problem) return error.message
  if (error.code === 'INTERNAL_SERVER_ERROR') return 'Something went wrong on the server.'
  if (issues) return 'The input is not valid.'
  return error.cause instanceof SyntaxError ? 'The input is not valid JSON.' : error.message
}

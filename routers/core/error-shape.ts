import type { TRPCDefaultErrorShape, TRPCError } from '@trpc/server'
import type { Context } from './context.ts'
import { fewIssues, issuesOf, shorten } from './issues/issues.ts'
import { errorKind, type Issue, MAX_ISSUES, Problem } from './problems.ts'

const MAX_PATH = 100
const MAX_SENTENCE = 300

/** What a first-party program is told of a failure: nothing of the inside, and the request's id in every case. */
export function errorShape(shape: TRPCDefaultErrorShape, error: TRPCError, ctx: Context | undefined) {
  const { code, httpStatus, path } = shape.data
  const issues = issuesOf(error)
  return {
    code: shape.code,
    message: shorten(sentenceOf(error, issues), MAX_SENTENCE),
    data: {
      code,
      httpStatus,
      path: path && shorten(path, MAX_PATH),
      problem: error instanceof Problem ? error.problem : undefined,
      ...(error instanceof Problem && error.meta),
      issues: toldOf(issues, ctx),
      // A refusal at the door has no context, and carries the id itself.
      requestId: ctx?.requestId ?? (error as { requestId?: string }).requestId,
    },
  }
}

/** The calls of a batch share one answer, and so what it has room for. */
function toldOf(issues: readonly Issue[], ctx: Context | undefined): Issue[] {
  const { told = 0 } = ctx?.hints ?? {}
  const few = fewIssues(issues, MAX_ISSUES - told).map(({ path, message }) => ({ path, message }))
  if (ctx) ctx.hints.told = told + few.length
  return few
}

function sentenceOf(error: TRPCError, issues: readonly Issue[]): string {
  if (error instanceof Problem) return error.message
  if (error.code === 'INTERNAL_SERVER_ERROR') return errorKind('internal').title
  if (issues.length > 0) return errorKind('invalid').title
  return error.cause instanceof SyntaxError ? 'The input is not valid JSON.' : error.message
}

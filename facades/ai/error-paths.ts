import { readIssues } from '../../routers/core/issues.ts'
import { Problem } from '../../routers/core/problems.ts'
import { toFailure } from '../http/failure.ts'

type Path = readonly (string | number)[]

/** An error about our request as one about theirs; `placeOf` tells where in theirs stands what a path of ours leads to, which may be one for several of ours. */
export function remapIssues(error: unknown, placeOf: (path: Path) => Path, body?: unknown): unknown {
  const told = readIssues(error).map((issue) => ({ ...issue, path: within(body, placeOf(issue.path)) }))
  const issues = [...new Map(told.map((issue) => [JSON.stringify([issue.path, issue.message]), issue])).values()]
  return issues.length > 0 ? new Problem(toFailure(error).code, { issues, cause: error }) : error
}

/** The path as far as it leads in the body: where a text stands for a list of parts, it has none within. */
function within(body: unknown, path: Path): Path {
  let value = body
  for (const [at, step] of path.entries()) {
    if (typeof value === 'string') return path.slice(0, at)
    value = (value as Record<string | number, unknown> | null | undefined)?.[step]
  }
  return path
}

import { type DetailedIssue, fewIssues } from '../../routers/core/issues.ts'
import { MAX_ISSUES } from '../../routers/core/problems.ts'

/** Per field, by its dotted path, what is wrong with it. */
export type FieldErrors = Record<string, string[]>

/** The first issues as sentences that name their fields. */
export function fieldErrors(issues: readonly DetailedIssue[], root?: string): FieldErrors {
  const told = fewIssues(issues).flatMap((issue) =>
    [issue.path, ...impliedBy(issue)].map((path) => {
      const field = [...(root === undefined ? [] : [root]), ...path].join('.')
      return { field, sentence: sentence(field, issue) }
    }),
  )
  const byField = Map.groupBy(told.slice(0, MAX_ISSUES), ({ field }) => field)
  return Object.fromEntries([...byField].map(([field, all]) => [field, all.map(({ sentence }) => sentence)]))
}

/** Where a message has no content, its text is missing as well. */
const impliedBy = ({ path, missing }: DetailedIssue) =>
  path.at(-1) === 'content' && missing ? [[...path, 'text']] : []

const sentence = (field: string, { message }: DetailedIssue) => `The ${field} field ${message}.`

import { z } from 'zod'
import { type Issue, MAX_ISSUES, Problem } from '../problems.ts'
import { isMissing, writePhrase } from './phrases.ts'

/** An issue with what zod says of it beside the sentence. */
export interface DetailedIssue extends Issue {
  code?: z.core.$ZodIssue['code']
  values?: readonly unknown[]
  /** Whether there was no value at all. */
  missing?: boolean
  /** Whether the message is made from the rule, as the schema has none of its own. */
  generic?: boolean
  /** The members that are not known, where this is about such. */
  keys?: string[]
}

// zod calls this where a schema has no message of its own. Whether there was a value is known only while the issue is made.
z.config({
  customError: (issue) => {
    Object.assign(issue, { generic: true, missing: isMissing(issue) })
    return writePhrase(issue)
  },
})

export const isGeneric = (issue: z.core.$ZodIssue | Issue): boolean => (issue as DetailedIssue).generic === true

/** All issues of an error; none where it is not about the input. A schema that fails elsewhere is a bug of ours. */
export function readIssues(error: unknown): DetailedIssue[] {
  if (error instanceof Problem) return error.issues.flatMap(byMember)
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  if (code !== 'BAD_REQUEST' || !(cause instanceof z.ZodError)) return []
  return (cause.issues as unknown as DetailedIssue[]).flatMap(byMember)
}

/** zod reports unknown members on the object that holds them. */
function byMember({ keys, ...issue }: DetailedIssue): DetailedIssue[] {
  if (!isUnknownMember(issue) || !keys) return [issue]
  return keys
    .slice(0, MAX_ISSUES)
    .map((key) => ({ code: issue.code, path: [...issue.path, key], message: 'is not known here' }))
}

/** Whether this is about a member that no schema knows. */
export const isUnknownMember = <I extends DetailedIssue>(issue: I): issue is I & { code: 'unrecognized_keys' } =>
  issue.code === 'unrecognized_keys'

const MAX_NAME = 40
const MAX_STEPS = 10
const MAX_MESSAGE = 300
/** Characters of all paths and messages in one answer: each may be written twice, and in several bytes. */
const MAX_TEXT = 4000

/** As many issues as an answer tells, with paths and messages cut to a length that somebody reads. */
export function fewIssues<I extends Issue>(issues: readonly I[], most = MAX_ISSUES): I[] {
  const few: I[] = []
  let room = MAX_TEXT
  for (const issue of issues.slice(0, most)) {
    const path = issue.path
      .slice(0, MAX_STEPS)
      .map((name) => (typeof name === 'string' ? shorten(name, MAX_NAME) : name))
    const message = shorten(issue.message, MAX_MESSAGE)
    room -= path.join('.').length + message.length
    if (room < 0 && few.length > 0) break
    few.push({ ...issue, path, message })
  }
  return few
}

export const shorten = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text)

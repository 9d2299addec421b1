import { TRPCError } from '@trpc/server'
import { z } from 'zod'
import { type Issue, Problem } from '../routers/core/problems.ts'

/** Thrown if the command line itself is wrong; exit code 2. */
export class UsageError extends Error {}

/** Thrown if a prompt is cancelled; the message says what was changed before. */
export class CancelledError extends Error {
  constructor(message = 'Nothing was changed.') {
    super(message)
  }
}

/** The end of a failed command: exit code, a stable code for programs, and a message for people. */
export interface ExitError {
  exitCode: 1 | 2
  code: string
  message: string
}

export function toExitError(error: unknown): ExitError {
  if (error instanceof UsageError) return { exitCode: 2, code: 'usage', message: error.message }
  if (error instanceof CancelledError) return { exitCode: 1, code: 'declined', message: error.message }
  if (error instanceof Problem) return toProblemExitError(error)
  if (error instanceof TRPCError && error.cause instanceof z.ZodError && error.code === 'BAD_REQUEST') {
    return { exitCode: 2, code: 'usage', message: writeIssues(error.cause) }
  }
  return { exitCode: 1, code: 'failed', message: writeMessage(error) }
}

function toProblemExitError({ problem, issues, message }: Problem): ExitError {
  if (issues.length === 0) return { exitCode: 1, code: problem, message }
  const named = issues.map((issue) => writeIssue(issue)).join('\n')
  // The command line itself is correct.
  if (problem === 'conflict') return { exitCode: 1, code: problem, message: named }
  return { exitCode: 2, code: 'usage', message: named }
}

/** Writes a sentence with the flag of each invalid value. */
export function writeIssues({ issues }: Pick<z.ZodError, 'issues'>, flag?: string): string {
  return issues
    .flatMap(flattenUnion)
    .map((issue) => writeIssue(issue, flag))
    .join('\n')
}

const writeIssue = (issue: Issue | z.core.$ZodIssue, flag?: string) => `${flag ?? toFlag(issue.path)} ${issue.message}.`

/** Returns the message of the first issue, for cases in which the value is obvious. */
export const writeFirstIssue = ({ issues }: z.ZodError) => issues.flatMap(flattenUnion)[0]?.message

/** Returns the issues of the union's alternative that comes closest. */
function flattenUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const [closest] = issue.errors.toSorted((a, b) => a.length - b.length)
  return closest?.flatMap(flattenUnion) ?? [issue]
}

const flagNames: Record<string, string> = {
  expiresAt: '--expires',
  image: 'PATH',
  avatar: 'PATH',
  redirectUris: '--redirect',
  redirectUrls: '--redirect',
}

function toFlag(path: readonly PropertyKey[]): string {
  const name = String(path.findLast((part) => typeof part === 'string') ?? 'The input')
  return flagNames[name] ?? `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Failures of the file system in sentences, which Node names by its calls. */
const pathFailures: Record<string, string> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is no folder',
  EACCES: 'must not be read by this user',
}

/** A refused connection is an AggregateError without a message. */
function writeMessage(error: unknown): string {
  const { message, errors, code = '', path, syscall } = error as NodeJS.ErrnoException & Partial<AggregateError>
  const failure = pathFailures[code]
  if (failure && path && (syscall === 'open' || syscall === 'stat' || syscall === 'scandir'))
    return `${path} ${failure}.`
  return message || errors?.map((each) => each.message).join('; ') || String(error)
}

import { z } from 'zod'
import { type Issue, MAX_ISSUES, Problem } from './problems.ts'

/** An issue with zod's details beside the message. */
export interface DetailedIssue extends Issue {
  code?: z.core.$ZodIssue['code']
  values?: readonly unknown[]
  /** True if there was no value. */
  missing?: boolean
  /** True if the message was generated because the schema has none of its own. */
  generic?: boolean
  /** The unknown members, for an issue about them. */
  keys?: string[]
}

// zod calls this if a schema has no message of its own. A missing value can be detected only here.
z.config({
  customError: (issue) => {
    Object.assign(issue, { generic: true, missing: isMissing(issue) })
    return describeIssue(issue)
  },
})

export const isGeneric = (issue: z.core.$ZodIssue | Issue): boolean => (issue as DetailedIssue).generic === true

/** Returns the issues of an error; none if it is not about the input. A schema that fails elsewhere is our bug. */
export function readIssues(error: unknown): DetailedIssue[] {
  if (error instanceof Problem) return error.issues.flatMap(splitUnknownKeys)
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  if (code !== 'BAD_REQUEST' || !(cause instanceof z.ZodError)) return []
  return (cause.issues as unknown as DetailedIssue[]).flatMap(splitUnknownKeys)
}

/** zod reports unknown members on the object that contains them. */
function splitUnknownKeys({ keys, ...issue }: DetailedIssue): DetailedIssue[] {
  if (!isUnknownMember(issue) || !keys) return [issue]
  return keys
    .slice(0, MAX_ISSUES)
    .map((key) => ({ code: issue.code, path: [...issue.path, key], message: 'is not known here' }))
}

/** Returns true if the issue is about a member that no schema knows. */
export const isUnknownMember = <I extends DetailedIssue>(issue: I): issue is I & { code: 'unrecognized_keys' } =>
  issue.code === 'unrecognized_keys'

const MAX_NAME = 40
const MAX_STEPS = 10
const MAX_MESSAGE = 300
/** Characters of all paths and messages in one response; each may be written twice, in several bytes per character. */
const MAX_TEXT = 4000

/** Limits the number of issues, and the length of their paths and messages. */
export function truncateIssues<I extends Issue>(issues: readonly I[], most = MAX_ISSUES): I[] {
  const limited: I[] = []
  let remaining = MAX_TEXT
  for (const issue of issues.slice(0, most)) {
    const path = issue.path
      .slice(0, MAX_STEPS)
      .map((name) => (typeof name === 'string' ? shorten(name, MAX_NAME) : name))
    const message = shorten(issue.message, MAX_MESSAGE)
    remaining -= path.join('.').length + message.length
    if (remaining < 0 && limited.length > 0) break
    limited.push({ ...issue, path, message })
  }
  return limited
}

export const shorten = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text)

type RawIssue = z.core.$ZodRawIssue

/**
 * Returns true if there was no value. For a discriminated union the input is the object that should contain the
 * discriminator.
 */
function isMissing({ code, input, discriminator }: RawIssue): boolean {
  if (code !== 'invalid_union' || discriminator === undefined) return input === undefined
  return (input as Record<string, unknown>)[String(discriminator)] === undefined
}

/**
 * Returns the message that follows the name of the value; undefined for unknown members, which are reported one by one.
 */
function describeIssue(issue: RawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') return undefined
  // An empty text or list counts as missing.
  if (isMissing(issue) || isEmpty(issue)) return 'is required'
  return messages[issue.code]?.(issue as never) ?? 'is not valid'
}

const isEmpty = ({ code, input }: RawIssue) =>
  code === 'too_small' && (typeof input === 'string' || Array.isArray(input)) && input.length === 0

type Messages = { [Code in RawIssue['code']]?: (issue: z.core.$ZodRawIssue<IssueOf<Code>>) => string | undefined }
type IssueOf<Code> = Extract<z.core.$ZodIssue, { code: Code }>

const messages: Messages = {
  invalid_type: ({ expected }) => describeKind(kinds, expected),
  invalid_value: ({ values }) => listChoices(values),
  invalid_union: ({ options }) => (Array.isArray(options) ? listChoices(options) : undefined),
  invalid_format: ({ format }) => describeKind(formats, format),
  too_small: ({ origin, minimum, inclusive, exact }) =>
    describeBound(origin, minimum, exact ? 'exactly' : inclusive ? 'at least' : 'more than'),
  too_big: ({ origin, maximum, inclusive, exact }) =>
    describeBound(origin, maximum, exact ? 'exactly' : inclusive ? 'at most' : 'less than'),
  not_multiple_of: ({ divisor }) => `must be a multiple of ${divisor}`,
}

/** Lists the allowed values, or the only one. */
export const listChoices = (values: readonly unknown[]): string =>
  `must be one of ${values.filter((value) => value !== undefined).join(', ')}`

const describeKind = (names: Partial<Record<string, string>>, name: string) => names[name] && `must be ${names[name]}`

const kinds: Partial<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
  never: 'left out',
}

const formats: Partial<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL',
  uuid: 'a UUID',
  base64: 'base64',
  datetime: 'a time such as 2026-01-31T12:00:00.000Z',
  date: 'a day such as 2026-01-31',
  safeint: 'a whole number',
}

const units: Partial<Record<string, string>> = { string: 'characters', array: 'entries' }

const describeBound = (origin: string, bound: unknown, how: string) =>
  units[origin] ? `must have ${how} ${bound} ${units[origin]}` : `must be ${how} ${bound}`

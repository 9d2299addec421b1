import type { z } from 'zod'

type RawIssue = z.core.$ZodRawIssue

/** Whether there was no value at all. Of a discriminated union the input is the object whose member tells its kind. */
export function isMissing({ code, input, discriminator }: RawIssue): boolean {
  if (code !== 'invalid_union' || discriminator === undefined) return input === undefined
  return (input as Record<string, unknown>)[String(discriminator)] === undefined
}

/** What is wrong, to stand behind the name of the value. None for members that are not known, which are told one by one. */
export function writePhrase(issue: RawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') return undefined
  // An empty text or list says as little as none.
  if (isMissing(issue) || isEmpty(issue)) return 'is required'
  return phrases[issue.code]?.(issue as never) ?? 'is not valid'
}

const isEmpty = ({ code, input }: RawIssue) =>
  code === 'too_small' && (typeof input === 'string' || Array.isArray(input)) && input.length === 0

type Phrases = { [Code in RawIssue['code']]?: (issue: z.core.$ZodRawIssue<IssueOf<Code>>) => string | undefined }
type IssueOf<Code> = Extract<z.core.$ZodIssue, { code: Code }>

const phrases: Phrases = {
  invalid_type: ({ expected }) => named(kinds, expected),
  invalid_value: ({ values }) => listChoices(values),
  invalid_union: ({ options }) => (Array.isArray(options) ? listChoices(options) : undefined),
  invalid_format: ({ format }) => named(formats, format),
  too_small: ({ origin, minimum, inclusive, exact }) =>
    bounded(origin, minimum, exact ? 'exactly' : inclusive ? 'at least' : 'more than'),
  too_big: ({ origin, maximum, inclusive, exact }) =>
    bounded(origin, maximum, exact ? 'exactly' : inclusive ? 'at most' : 'less than'),
  not_multiple_of: ({ divisor }) => `must be a multiple of ${divisor}`,
}

/** The values there are, which may be one. */
export const listChoices = (values: readonly unknown[]): string =>
  `must be one of ${values.filter((value) => value !== undefined).join(', ')}`

const named = (names: Partial<Record<string, string>>, name: string) => names[name] && `must be ${names[name]}`

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

const bounded = (origin: string, bound: unknown, how: string) =>
  units[origin] ? `must have ${how} ${bound} ${units[origin]}` : `must be ${how} ${bound}`

import type { z } from 'zod'

/** Per field, by its dotted path, what is wrong with it. */
export type FieldErrors = Record<string, string[]>

export interface AnyIssue {
  path: readonly PropertyKey[]
  message: string
  code?: z.core.$ZodIssue['code']
  expected?: string
  origin?: string
  values?: readonly unknown[]
  input?: unknown
}

/** Every issue as a sentence that names its field. */
export function fieldErrors(issues: readonly AnyIssue[], root?: string): FieldErrors {
  const errors: FieldErrors = {}
  for (const issue of issues) {
    for (const path of [issue.path, ...impliedBy(issue)]) {
      const field = [...(root === undefined ? [] : [root]), ...path.map(String)].join('.')
      errors[field] = [...(errors[field] ?? []), sentence(field, issue)]
    }
  }
  return errors
}

/** Where a message has no content, its text is missing as well. */
const impliedBy = ({ path, message }: AnyIssue) =>
  path.at(-1) === 'content' && message.includes('undefined') ? [[...path, 'text']] : []

const kinds: Record<string, string> = { string: 'a string', array: 'an array', object: 'an object', number: 'a number' }

const sentence = (field: string, issue: AnyIssue) => `The ${field} field ${phraseOf(issue)}.`

/** What is wrong, to stand behind the name of the field. */
export function phraseOf({ code, message, expected = '', origin, values }: AnyIssue): string {
  // Our own schemas speak in small letters, and without the name.
  if (/^[a-z]/.test(message)) return message
  const missing = code === 'invalid_type' && message.includes('undefined')
  // An empty text or list says as little as none.
  if (missing || (code === 'too_small' && (origin === 'string' || origin === 'array'))) return 'is required'
  if (code === 'invalid_value') return `must be one of ${(values ?? []).join(', ')}`
  return code === 'invalid_type' ? `must be ${kinds[expected] ?? expected}` : `is not valid: ${message}`
}

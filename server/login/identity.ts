import type { z } from 'zod'
import type { LoginSourceName } from '../../entities/identity/user.ts'
import { type ErrorCode, Problem } from '../../routers/core/problems.ts'
import type { Log } from '../../routers/ports/log.ts'
import {
  email,
  type Identity,
  personName,
  personShape,
  stripDomain,
  subject,
  username,
} from '../../routers/ports/login.ts'

/** Attributes of a person from a login source, not yet validated, each with its values in order of preference. */
export interface SourceRecord {
  /** Undefined if the source has no permanent id. */
  subject: string | undefined
  /** Used as subject if the source has none. */
  formerSubject?: string | undefined
  usernames: readonly unknown[]
  emails: readonly unknown[]
  names: readonly unknown[]
  groups?: readonly unknown[] | undefined
}

/**
 * Creates an identity from the attributes of a source. Throws a problem that the person can report to their
 * administrator if they are insufficient. The log gets the code of the problem, never a value.
 */
export function toIdentity(source: LoginSourceName, record: SourceRecord, log: Log): Identity {
  try {
    const usernames = record.usernames.filter(isText).map(stripDomain)
    const validUsername = pickValid(username, usernames, 'account_username_invalid', 'account_without_username')
    const names = [...record.names.filter(isText).map(toSingleLine), validUsername]
    return {
      ...readSubjects(record),
      username: validUsername,
      email: pickValid(email, record.emails.filter(isText), 'account_email_invalid', 'account_without_email'),
      name: pickValid(personName, names, 'account_username_invalid'),
      ...(record.groups && { groups: personShape.groups.parse(record.groups) }),
    }
  } catch (error) {
    if (error instanceof Problem)
      log.warn({ source, problem: error.problem }, 'an account of a login source cannot be used')
    throw error
  }
}

function readSubjects({
  subject: sourceSubject,
  formerSubject,
}: SourceRecord): Pick<Identity, 'subject' | 'formerSubject'> {
  const parsed = subject.safeParse(sourceSubject ?? formerSubject)
  if (!parsed.success) throw new Problem('account_without_subject')
  return { subject: parsed.data, ...(sourceSubject !== undefined && formerSubject !== undefined && { formerSubject }) }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

const MAX_NAME = 120

/** Shortens a name that is too long, and joins its lines. */
const toSingleLine = (name: string) =>
  [
    ...name
      .normalize('NFC')
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim(),
  ]
    .slice(0, MAX_NAME)
    .join('')

/** Returns the first valid value. Throws `invalid` if none is valid, and `missing` if there is none. */
function pickValid(
  schema: z.ZodType<string>,
  values: readonly string[],
  invalid: ErrorCode,
  missing = invalid,
): string {
  const parsed = values.map((value) => schema.safeParse(value)).find(({ success }) => success)
  if (parsed?.data !== undefined) return parsed.data
  throw new Problem(values.length > 0 ? invalid : missing)
}

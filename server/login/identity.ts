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

/** What a source tells of a person, not yet validated: of each the values in the order in which they are tried. */
export interface SourceRecord {
  /** Undefined where the source told nothing that never changes. */
  subject: string | undefined
  /** Takes the place of a subject that the source does not tell. */
  formerSubject?: string | undefined
  usernames: readonly unknown[]
  emails: readonly unknown[]
  names: readonly unknown[]
  groups?: readonly unknown[] | undefined
}

/**
 * Makes an identity of what a source tells; throws what the person can tell their administrator where that is not enough. The
 * log gets the word for it, never a value.
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

/** A name that is too long, or of several lines, is still a name. */
const toSingleLine = (name: string) =>
  [
    ...name
      .normalize('NFC')
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .trim(),
  ]
    .slice(0, MAX_NAME)
    .join('')

/** The first value that can be used; throws the one problem where none can, and the other where there is none. */
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

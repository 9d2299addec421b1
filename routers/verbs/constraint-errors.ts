import { DriverException } from '@mikro-orm/core'
import { Problem } from '../core/problems.ts'
import type { TableMapping } from '../resource/mapping.ts'

type Uniques = TableMapping['uniques']

/** What the database refuses because of other rows, by the code of the standard. */
const constraintProblems: Record<string, (attribute: string | undefined) => Problem> = {
  '23505': (attribute) =>
    new Problem('conflict', {
      detail: 'Another record has the same value where it must be unique.',
      ...(attribute && { issues: [{ path: [attribute], message: 'must be unique: another record has this value' }] }),
    }),
  '23503': () => new Problem('not_found', { detail: 'A related record does not exist.' }),
}

/** The database's refusal in our words; it names the attribute where that is one of these alone. */
export function translateConstraintError(error: unknown, uniques: Uniques = {}): never {
  if (!(error instanceof DriverException)) throw error
  const { constraint = '' } = error as { constraint?: string }
  throw constraintProblems[error.code ?? '']?.(uniques[constraint]) ?? error
}

/** Nothing that is deleted refers to what is not there: others refer to it. Which of the codes says so depends on the version. */
export function refuseDelete(error: unknown): never {
  const isReferenced = error instanceof DriverException && ['23001', '23503'].includes(error.code ?? '')
  throw isReferenced ? new Problem('conflict', { detail: 'Another record still refers to this one.' }) : error
}

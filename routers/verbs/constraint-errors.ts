import { DriverException } from '@mikro-orm/core'
import { Problem } from '../core/problems.ts'
import type { TableMapping } from '../resource/mapping.ts'

type Uniques = TableMapping['uniques']

/** Problems for constraint violations, by SQLSTATE code. */
const constraintProblems: Record<string, (attribute: string | undefined) => Problem> = {
  '23505': (attribute) =>
    new Problem('conflict', {
      detail: 'Another record has the same value where it must be unique.',
      ...(attribute && { issues: [{ path: [attribute], message: 'must be unique: another record has this value' }] }),
    }),
  '23503': () => new Problem('not_found', { detail: 'A related record does not exist.' }),
}

/** Translates a constraint violation; names the attribute if it is one of the given constraints. */
export function translateConstraintError(error: unknown, uniques: Uniques = {}): never {
  if (!(error instanceof DriverException)) throw error
  const { constraint = '' } = error as { constraint?: string }
  throw constraintProblems[error.code ?? '']?.(uniques[constraint]) ?? error
}

/**
 * Translates the error of a deletion, which can only be refused because other rows refer to the row; the code depends
 * on the version of PostgreSQL.
 */
export function refuseDelete(error: unknown): never {
  const isReferenced = error instanceof DriverException && ['23001', '23503'].includes(error.code ?? '')
  throw isReferenced ? new Problem('conflict', { detail: 'Another record still refers to this one.' }) : error
}

import type { SqlPredicate } from './scope.ts'

/** SQL: a row with groups is for everybody, or for a group of the caller. */
export const allowedToGroups: SqlPredicate = (row, sql) => isForGroups(row, sql.param('groups'))

/** The same for groups as a value, which is null for access to all. */
export const isForGroups = (row: string, groups: string) =>
  `(${groups} is null or ${row}.groups = '{}' or ${row}.groups && ${groups})`

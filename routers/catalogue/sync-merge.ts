import { isDeepStrictEqual } from 'node:util'

type Values = Record<string, unknown>

/**
 * Returns the wanted values of columns that are unchanged since the last synchronisation. Administrators changed the
 * others, which stay.
 */
export function mergeUntouched<T extends Values>(fileValues: T, current: Values, synced: Values | null | undefined) {
  const unchanged = Object.entries(fileValues).filter(
    ([name]) =>
      !synced ||
      (name in synced ? isDeepStrictEqual(toPlainJson(current[name]), synced[name]) : isEmpty(current[name])),
  )
  return Object.fromEntries(unchanged) as Partial<T>
}

/** A column that the last synchronisation did not know was empty at that time; a later one without null begins as false. */
const isEmpty = (value: unknown) =>
  value === null || value === undefined || value === false || (Array.isArray(value) && value.length === 0)

/** Converts a value to what a JSON column returns, so that the two can be compared. */
export const toPlainJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))

export const toJson = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, toPlainJson(value)]))

/**
 * Returns the previous object if it equals the new one. The database reorders the members of JSON, which is no change.
 */
export const keepIfEqual = <T extends Values>(before: T | null | undefined, after: T): T =>
  before && isDeepStrictEqual(before, after) ? before : after

/**
 * Returns the values that differ from the current ones. The ORM compares the members of JSON by their order, which the
 * database changes, and would write equal values again.
 */
export const dropEqual = <T extends Values>(values: T, current: Values): Partial<T> =>
  Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) => !isDeepStrictEqual(toPlainJson(value), toPlainJson(current[name])),
    ),
  ) as Partial<T>

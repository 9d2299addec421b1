import { isDeepStrictEqual } from 'node:util'

type Values = Record<string, unknown>

/**
 * What a synchronisation may write: the wanted values of those columns that still are as the last synchronisation left
 * them. The others were changed by an administrator and stay.
 */
export function mergeUntouched<T extends Values>(wanted: T, current: Values, synced: Values | null | undefined) {
  const free = Object.entries(wanted).filter(
    ([name]) =>
      !synced || (name in synced ? isDeepStrictEqual(plain(current[name]), synced[name]) : isEmpty(current[name])),
  )
  return Object.fromEntries(free) as Partial<T>
}

/** A column that the last synchronisation did not know yet was empty then. */
const isEmpty = (value: unknown) =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0)

/** As JSON keeps it: what is compared with a column of JSON must have gone the same way. */
export const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))

export const toJson = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plain(value)]))

/** The values before where the new ones say the same: the database orders the members of JSON anew, which is no change. */
export const keepIfEqual = <T extends Values>(before: T | null | undefined, after: T): T =>
  before && isDeepStrictEqual(before, after) ? before : after

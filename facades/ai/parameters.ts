import { z } from 'zod'

/** A parameter of which the service knows the usual value alone. */
export const only = <const Value extends string | number | boolean>(value: Value) =>
  z.literal(value, `is taken as ${value} only`).nullish()

const label = z.string().nullish()

/** Words of the caller about a request, which change nothing of its answer: they are taken, and go no further. */
export const labels = {
  user: label,
  safety_identifier: label,
  prompt_cache_key: label,
  prompt_cache_retention: label,
  metadata: z.record(z.string(), z.string()).nullish(),
}

/** The members that have a value. */
export const set = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as {
    [Name in keyof Members]?: NonNullable<Members[Name]>
  }

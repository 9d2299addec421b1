import { z } from 'zod'
import { validateBy } from './validate-by.ts'

/** Marks the issue of a value that is left out of the request, and named in the response. */
export const leftOut = { isLeftOut: true }

/** Stands for an entry of a list that was left out, so that the positions of the others stay the same. */
export const OMITTED = Object.freeze({ type: 'omitted' as const })

interface LeftOut {
  path: readonly PropertyKey[]
  /** The name in the response, by its steps; an entry of a list is named by its kind. */
  name: readonly PropertyKey[]
}

/** Returns the value that an issue leaves out. */
export function findLeftOut({ code, path, ...issue }: z.core.$ZodIssue): LeftOut[] {
  const params = code === 'custom' ? (issue as { params?: { isLeftOut?: boolean; kind?: string } }).params : undefined
  return params?.isLeftOut ? [{ path, name: params.kind === undefined ? path : [...path, params.kind] }] : []
}

/** Leaves out an entry of a list, and names it by its type. */
export const omittedEntry = z.unknown().transform((value, ctx): typeof OMITTED => {
  if (value === OMITTED) return OMITTED
  const { type } = (value ?? {}) as { type?: unknown }
  const params = { ...leftOut, ...(typeof type === 'string' && { kind: type }) }
  ctx.issues.push({ code: 'custom', input: value, message: 'is not known', params })
  return z.NEVER
})

/** Leaves out a member, and names it. */
export const omittedMember = z.unknown().transform((value, ctx): never => {
  ctx.issues.push({ code: 'custom', input: value, message: 'is not known', params: leftOut })
  return z.NEVER
})

/**
 * Accepts the entries of a conversation by their type. An entry of any other type came from another provider, or from a
 * later version of a client. It is left out, because no client can repair its history.
 */
export function historyEntry<Union extends z.ZodDiscriminatedUnion>(known: Union) {
  const types = known._zod.propValues['type'] as ReadonlySet<unknown>
  return validateBy<Union | typeof omittedEntry>([known], (value) => {
    const { type } = (value ?? {}) as { type?: unknown }
    return typeof type === 'string' && !types.has(type) ? omittedEntry : known
  })
}

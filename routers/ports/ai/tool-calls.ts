/** More than any model has use for. */
export const MAX_CALLS_A_ROUND = 64

/** What a model wrote as arguments, which need not be JSON. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

import { Problem } from '../core/problems.ts'

/** Creates the refusal that a person reads: nothing may be sent to an address that is not known to be the program's. */
export const refuseOnPage = (detail: string, { way, cause }: { way?: WayBack; cause?: unknown } = {}) =>
  new Problem('authorization_invalid', { detail, cause, ...(way && { meta: { ...way } }) })

/** The way on from a refusal to its program, which the person may choose. */
interface WayBack {
  redirectTo: string
  /** The host or scheme to which it leads. */
  target: string
}

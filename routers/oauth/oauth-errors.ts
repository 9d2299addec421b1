import { Problem } from '../core/problems.ts'

/** The errors of RFC 6749, 7009, 7591 and 8707 that we send. */
export type OAuthError =
  | 'access_denied'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'

/** Creates the refusal that a program reads. */
export const refuseRequest = (detail: string, error: OAuthError) =>
  new Problem('oauth_refused', { detail, meta: { error } })

/** Creates the refusal that a person reads: nothing may be sent to an address that is not known to be the program's. */
export const refuseOnPage = (detail: string, { way, cause }: { way?: WayBack; cause?: unknown } = {}) =>
  new Problem('authorization_invalid', { detail, cause, ...(way && { meta: { ...way } }) })

/** The way on from a refusal to its program, which the person may choose. */
interface WayBack {
  redirectTo: string
  /** The host or scheme to which it leads. */
  target: string
}

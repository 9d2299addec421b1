import { Problem } from './problems.ts'

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
export const refuseRequest = (detail: string, error: OAuthError = 'invalid_request') =>
  new Problem('oauth_refused', { detail, meta: { error } })

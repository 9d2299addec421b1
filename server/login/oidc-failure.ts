import * as client from 'openid-client'

/** What the browser brought back is not good; anything else is the provider's or the operator's fault. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof client.AuthorizationResponseError) return !serverErrors.has(error.error)
  if (error instanceof client.ResponseBodyError) return error.error === 'invalid_grant'
  return error instanceof client.ClientError && refusals.has(error.code ?? '')
}

const serverErrors = new Set(['server_error', 'temporarily_unavailable'])
const refusals = new Set(['OAUTH_INVALID_RESPONSE', 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'])

/** The machine's word for it: sentences may quote a token. */
export function codeOf(error: unknown): string {
  const challenge = error instanceof client.WWWAuthenticateChallengeError ? error.cause[0]?.parameters : undefined
  const { error: word, code, name } = { ...(error as Partial<Record<'error' | 'code' | 'name', string>>), ...challenge }
  return String(word ?? code ?? name).slice(0, 60)
}

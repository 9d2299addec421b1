import type { ClientKind } from '../../entities/oauth/oauth-client.ts'
import { Problem } from '../core/problems.ts'
import type { Settings } from '../core/settings.ts'

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
export const refuse = (error: OAuthError, detail: string) => new Problem('oauth_refused', { detail, meta: { error } })

/** Creates the refusal that a person reads: nothing may be sent to an address that is not known to be the program's. */
export const refuseOnPage = (detail: string, { way, cause }: { way?: WayBack; cause?: unknown } = {}) =>
  new Problem('authorization_invalid', { detail, cause, ...(way && { meta: { ...way } }) })

/** The way on from a refusal to its program, which the person may choose. */
interface WayBack {
  redirectTo: string
  /** The host or scheme to which it leads. */
  target: string
}

const leastPolicies = { registered: 'registered', document: 'documents', dynamic: 'any' } as const
const policies = ['off', 'registered', 'documents', 'any']

/** Returns true if people may sign in clients of this kind. */
export const isOpenTo = (kind: ClientKind, { oauth: { clients } }: Pick<Settings, 'oauth'>): boolean =>
  policies.indexOf(clients) >= policies.indexOf(leastPolicies[kind])

/** Returns true if people may sign in this client, and it may use what it got: the host of its document is allowed, too. */
export const isOpenToClient = (kind: ClientKind, host: string | null, settings: Pick<Settings, 'oauth'>): boolean =>
  isOpenTo(kind, settings) && (kind !== 'document' || isHostAllowed(host, settings))

const isHostAllowed = (host: string | null, { oauth: { clientHosts } }: Pick<Settings, 'oauth'>) =>
  clientHosts.includes('*') || (host !== null && clientHosts.includes(host))

/** Throws as for an unknown address if nobody can sign in programs. */
export function assertOAuthOn({ oauth }: Pick<Settings, 'oauth'>): void {
  if (oauth.clients === 'off') throw new Problem('not_found', { detail: 'The sign-in for programs is switched off.' })
}

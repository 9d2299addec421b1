import * as client from 'openid-client'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { AuthorizationState, RedirectSource } from '../../routers/ports/login.ts'
import { createHttpClient } from '../net/http-client.ts'
import { type SourceRecord, toIdentity } from './identity.ts'

export interface OidcOptions {
  issuer: string
  clientId: string
  clientSecret?: string | undefined
  /** Scopes in addition to `openid`. */
  scopes: readonly string[]
  claims: OidcClaims
  /** Used instead of the provider's address for logging out. */
  logoutUrl?: string | undefined
  /** Public address of this service. */
  baseUrl: string
  allowHttp: boolean
}

const MINUTES_TO_RETURN = 15
const TIMEOUT_SECONDS = 10
/** Largest response of the provider, in bytes. */
const MAX_RESPONSE_BYTES = 1024 * 1024

/** Creates a source that uses the authorization code flow with PKCE. Tokens are dropped after `finish`. */
export function createOidc(options: OidcOptions, log: Log): RedirectSource {
  const { scopes, claims: names, baseUrl } = options
  const redirectUri = `${baseUrl}/req/login`
  const provider = createDiscovery(options)

  return {
    async begin() {
      const config = await provider().catch((error: unknown) => throwUnavailable(error, log))
      const pending = createPending()
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: [...new Set(['openid', ...scopes])].join(' '),
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, pending }
    },

    async finish(query, pending) {
      if (Date.now() > pending.until) return undefined
      const returnUrl = new URL(redirectUri)
      returnUrl.search = query
      try {
        const claims = await fetchClaims(await provider(), { returnUrl, pending, names }, log)
        return toIdentity('oidc', readClaims(claims, names), log)
      } catch (error) {
        if (error instanceof Problem) throw error
        if (!isLoginRefused(error)) throwUnavailable(error, log)
        log.info({ source: 'oidc', code: readErrorCode(error) }, 'a login at the provider was refused')
        return undefined
      }
    },

    async logoutUrl() {
      const config = await provider().catch(() => undefined)
      return config && buildLogoutUrl(config, options)
    },
  }
}

/** Discovers the provider at the first use, and again only after a failure. */
const createDiscovery = ({ issuer, clientId, clientSecret, allowHttp }: OidcOptions) =>
  lazyPromise(() =>
    client.discovery(
      new URL(issuer),
      clientId,
      clientSecret,
      clientSecret ? createClientAuth(clientSecret) : client.None(),
      {
        timeout: TIMEOUT_SECONDS,
        [client.customFetch]: createProviderFetch(),
        execute: [client.enableNonRepudiationChecks, ...(allowHttp ? [client.allowInsecureRequests] : [])],
      },
    ),
  )

/** Creates a `fetch` over the client of all outbound requests; a form is sent as text. */
function createProviderFetch(): client.CustomFetch {
  const { fetch } = createHttpClient({
    byteTimeout: TIMEOUT_SECONDS * 1000,
    maxBytes: MAX_RESPONSE_BYTES,
    networkPolicy: 'configured',
  })
  return (url, { method, headers, body, signal }) =>
    fetch(url, { method, headers, body: body ? String(body) : null, signal: signal ?? null })
}

/** Sends the client secret in the way that the provider supports. */
const createClientAuth =
  (secret: string): client.ClientAuth =>
  (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const method = methods.includes('client_secret_basic') ? client.ClientSecretBasic : client.ClientSecretPost
    method(secret)(server, ...request)
  }

const createPending = (): AuthorizationState => ({
  state: client.randomState(),
  nonce: client.randomNonce(),
  verifier: client.randomPKCECodeVerifier(),
  until: Date.now() + MINUTES_TO_RETURN * 60_000,
})

interface AuthorizationReturn {
  /** The address to which the provider redirected the browser. */
  returnUrl: URL
  pending: AuthorizationState
  names: OidcClaims
}

/**
 * Exchanges the authorization code for the person's claims, from the ID token and the userinfo endpoint. If that
 * endpoint fails, the ID token may suffice. Issuer and subject are always those of the signed ID token.
 */
async function fetchClaims(
  config: client.Configuration,
  { returnUrl, pending, names }: AuthorizationReturn,
  log: Log,
): Promise<Claims> {
  const tokens = await client.authorizationCodeGrant(config, returnUrl, {
    expectedState: pending.state,
    expectedNonce: pending.nonce,
    pkceCodeVerifier: pending.verifier,
  })
  const idTokenClaims: Claims = { ...tokens.claims() }
  if (!config.serverMetadata().userinfo_endpoint) return idTokenClaims
  try {
    const userInfo = await client.fetchUserInfo(config, tokens.access_token, String(idTokenClaims['sub']))
    return { ...idTokenClaims, ...userInfo, iss: idTokenClaims['iss'], sub: idTokenClaims['sub'] }
  } catch (error) {
    if (!hasNeededClaims(idTokenClaims, names)) throw error
    log.warn(
      { source: 'oidc', code: readErrorCode(error) },
      'the userinfo endpoint failed; the ID token has what is needed',
    )
    return idTokenClaims
  }
}

/** Sends the client id and the return address, but no id_token_hint, for which we would have to store the token. */
function buildLogoutUrl(
  config: client.Configuration,
  { logoutUrl, clientId, baseUrl }: OidcOptions,
): string | undefined {
  const parameters = { client_id: clientId, post_logout_redirect_uri: `${baseUrl}/login` }
  if (!logoutUrl) {
    return config.serverMetadata().end_session_endpoint && client.buildEndSessionUrl(config, parameters).href
  }
  const url = new URL(logoutUrl)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

function throwUnavailable(error: unknown, log: Log): never {
  log.warn({ source: 'oidc', code: readErrorCode(error) }, 'the OpenID provider failed')
  throw new Problem('unavailable', { cause: error })
}

/** Names of the claims that describe a person. */
interface OidcClaims {
  username: string
  email: string
  /**
   * If absent: first and last name if configured, otherwise the claim `name`; then the others of these, then the
   * username.
   */
  name?: string | undefined
  firstName?: string | undefined
  lastName?: string | undefined
  groups?: string | undefined
}

type Claims = Record<string, unknown>

/** Returns a person's attributes from the claims. Some providers send a list instead of a single text. */
function readClaims(claims: Claims, names: OidcClaims): SourceRecord {
  const { iss, sub } = claims
  return {
    subject: typeof iss === 'string' && typeof sub === 'string' ? `oidc:${iss} ${sub}` : undefined,
    usernames: toList(claims[names.username]),
    emails: toList(claims[names.email]),
    names: readNames(claims, names),
    // A missing claim means that the person is in no group.
    groups: names.groups === undefined ? undefined : toList(claims[names.groups]),
  }
}

/** Returns true if the claims suffice without the userinfo endpoint. */
const hasNeededClaims = (claims: Claims, { username, email, groups }: OidcClaims): boolean =>
  [username, email, ...(groups === undefined ? [] : [groups])].every((name) => toList(claims[name]).length > 0)

const toList = (claim: unknown): unknown[] => [claim ?? []].flat()

function readNames(claims: Claims, { name, firstName, lastName }: OidcClaims): unknown[] {
  const joinClaims = (first: string, last: string) =>
    [claims[first], claims[last]].filter((part) => typeof part === 'string').join(' ')
  const isInParts = !name && (firstName !== undefined || lastName !== undefined)
  const parts = joinClaims(firstName ?? 'given_name', lastName ?? 'family_name')
  const whole = [...toList(claims[name ?? 'name']), ...toList(claims['name'])]
  return isInParts ? [parts, ...whole] : [...whole, parts]
}

/** Returns true if the browser's request was invalid; other errors are the provider's or the operator's fault. */
function isLoginRefused(error: unknown): boolean {
  if (error instanceof client.AuthorizationResponseError) return !serverErrors.has(error.error)
  if (error instanceof client.ResponseBodyError) return error.error === 'invalid_grant'
  return error instanceof client.ClientError && refusedCodes.has(error.code ?? '')
}

const serverErrors = new Set(['server_error', 'temporarily_unavailable'])
const refusedCodes = new Set(['OAUTH_INVALID_RESPONSE', 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'])

/** Returns the error code, since messages may quote a token. */
function readErrorCode(error: unknown): string {
  const challenge = error instanceof client.WWWAuthenticateChallengeError ? error.cause[0]?.parameters : undefined
  const { error: word, code, name } = { ...(error as Partial<Record<'error' | 'code' | 'name', string>>), ...challenge }
  return String(word ?? code ?? name).slice(0, 60)
}

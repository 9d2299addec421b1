import * as oauth from 'openid-client'
import type { SealedConnection } from '../../entities/catalogue/mcp-connection.sql.ts'
import {
  type AccountDiscovery,
  type AccountServer,
  type ConnectedAccount,
  type PendingAccount,
  type Revocation,
  ToolAccountError,
  type ToolAccounts,
} from '../../routers/ports/ai/tool-accounts.ts'
import { tryParseJson } from '../../routers/ports/json.ts'
import type { Log } from '../../routers/ports/log.ts'
import { discoverServer, type FoundServer } from './account-discovery.ts'
import { AccountRegistration, type RegistrationOptions } from './account-registration.ts'
import { type AccountClient, accountTokens, type FreshTokens, RefreshRefused } from './account-secrets.ts'

const TIMEOUT_SECONDS = 10
/** The longest life of an access token that we believe, in seconds. */
const MAX_LIFE = 366 * 24 * 60 * 60

interface AuthorizationOptions extends RegistrationOptions {
  log: Log
}

/** Connects accounts at tool servers by OAuth 2.1: authorization code, PKCE, resource, refresh and revocation. */
export class AccountAuthorization implements ToolAccounts {
  readonly #options: AuthorizationOptions
  readonly #registration: AccountRegistration

  constructor(options: AuthorizationOptions) {
    this.#options = options
    this.#registration = new AccountRegistration(options)
  }

  get clientDocument(): object | undefined {
    return this.#registration.document
  }

  async discover(server: AccountServer, signal: AbortSignal): Promise<AccountDiscovery> {
    const found = await discoverServer(this.#options.network, server, signal)
    const client = this.#registration.chooseKind(server, found)
    return { issuer: found.metadata.issuer, scopes: listScopes(found), client }
  }

  async begin(server: AccountServer, earlier: string | undefined, signal: AbortSignal) {
    const found = await discoverServer(this.#options.network, server, signal)
    const scopes = listScopes(found)
    const client = await this.#registration.findClient({ server, found, earlier, scopes, signal })
    const pending: PendingAccount = {
      state: oauth.randomState(),
      verifier: oauth.randomPKCECodeVerifier(),
      url: server.url,
      issuer: found.metadata.issuer,
      scopes,
      client: this.#options.secrets.sealClient(client),
    }
    const url = oauth.buildAuthorizationUrl(this.#configure(client), {
      redirect_uri: this.#registration.returnUrl,
      state: pending.state,
      code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
      resource: client.resource,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      // Some servers give no refresh token to an account that has agreed before.
      ...(scopes.includes(OFFLINE) && { prompt: 'consent' }),
    })
    return { url: url.href, pending }
  }

  async finish(query: string, pending: PendingAccount): Promise<ConnectedAccount> {
    const client = this.#options.secrets.openClient(pending.client)
    let answer = ''
    const config = this.#configure(client, (text) => {
      answer = text
    })
    const returnUrl = new URL(this.#registration.returnUrl)
    returnUrl.search = query
    const checks = { expectedState: pending.state, pkceCodeVerifier: pending.verifier }
    const response = await oauth
      .authorizationCodeGrant(config, returnUrl, checks, { resource: client.resource })
      .catch(async (error: unknown) => {
        await this.#revokeUnusable(pending.client, answer)
        return throwRefusal(error)
      })
    const { expiresIn, ...tokens } = readTokens(response)
    return {
      url: pending.url,
      issuer: pending.issuer,
      client: pending.client,
      tokens: this.#options.secrets.sealTokens(tokens),
      scopes: (response.scope?.split(' ').filter(Boolean) ?? pending.scopes).slice(0, 100).map(shorten),
      expiresIn,
      account: findAccountName(response.claims()),
    }
  }

  /** Gets new tokens. Throws `RefreshRefused` if the account has ended, and `ToolAccountError` for what may pass. */
  async refresh(connection: SealedConnection, refreshToken: string): Promise<FreshTokens> {
    const client = this.#options.secrets.openCurrentClient(connection)
    if (!client) {
      await this.revoke(connection)
      throw new RefreshRefused('an administrator has entered another client or authorization server')
    }
    const response = await oauth
      .refreshTokenGrant(this.#configure(client), refreshToken, { resource: client.resource })
      .catch((error: unknown) => {
        const code = readErrorCode(error)
        this.#options.log.info(
          { issuer: client.metadata.issuer, code },
          'the tokens of a tool account were not renewed',
        )
        if (isFinalRefusal(client, code)) throw new RefreshRefused(code)
        return throwRefusal(error)
      })
    const fresh = readTokens(response)
    // A server that does not replace the refresh token need not send it again.
    return { ...fresh, refresh: fresh.refresh ?? refreshToken }
  }

  async revoke(connection: SealedConnection): Promise<Revocation> {
    if (connection.tokens === null) return 'revoked'
    try {
      const { secrets } = this.#options
      const client = secrets.openCurrentClient(connection) ?? secrets.openClient(connection.client)
      const { access, refresh } = secrets.openTokens(connection.tokens)
      if (!client.metadata['revocation_endpoint']) return 'unsupported'
      const config = this.#configure(client)
      // A revoked refresh token ends the access tokens at most servers, but not at all of them.
      if (refresh) await oauth.tokenRevocation(config, refresh, { token_type_hint: 'refresh_token' })
      await oauth.tokenRevocation(config, access, { token_type_hint: 'access_token' })
      return 'revoked'
    } catch (error) {
      this.#options.log.warn({ code: readErrorCode(error) }, 'the tokens of a tool account could not be revoked')
      return 'failed'
    }
  }

  /** Ends the tokens of an answer that is refused, for instance because of its ID token. */
  async #revokeUnusable(client: string, answer: string): Promise<void> {
    const { access_token: access, refresh_token: refresh } = { ...(tryParseJson(answer) as Record<string, unknown>) }
    const { data } = accountTokens.safeParse({ access, refresh })
    if (data) await this.revoke({ client, tokens: this.#options.secrets.sealTokens(data) })
  }

  #configure(
    { metadata, clientId, clientSecret, method, trusted }: AccountClient,
    onAnswer: (text: string) => void = () => {},
  ): oauth.Configuration {
    const auth = clientSecret === undefined || method === 'none' ? oauth.None() : createClientAuth(clientSecret, method)
    const config = new oauth.Configuration(metadata as oauth.ServerMetadata, clientId, undefined, auth)
    config.timeout = TIMEOUT_SECONDS
    const { network } = this.#options
    config[oauth.customFetch] = async (url, { method: verb, headers, body, signal }) => {
      const {
        statusCode,
        headers: received,
        text,
      } = await network.read(url, {
        step: 'The request of tokens',
        trusted,
        method: verb as 'POST',
        headers,
        body: body ? String(body) : null,
        signal: signal ?? null,
      })
      onAnswer(text)
      return new Response(text === '' ? null : text, {
        status: statusCode,
        headers: received as Record<string, string>,
      })
    }
    // Our own rules have decided which addresses need no encryption.
    oauth.allowInsecureRequests(config)
    return config
  }
}

const OFFLINE = 'offline_access'

/** The scopes that the tool server asks for, and the one with which many servers give a refresh token. */
function listScopes({ scopes, metadata }: FoundServer): readonly string[] {
  const isOffered = metadata.scopes_supported?.includes(OFFLINE)
  return isOffered && !scopes.includes(OFFLINE) ? [...scopes, OFFLINE] : scopes
}

const createClientAuth = (secret: string, method: string | undefined) =>
  method === 'client_secret_post' ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)

type TokenResponse = Awaited<ReturnType<typeof oauth.refreshTokenGrant>>

function readTokens({ access_token, refresh_token, expires_in, token_type }: TokenResponse): FreshTokens {
  const { data } = accountTokens.safeParse({ access: access_token, refresh: refresh_token })
  if (!data || token_type !== 'bearer') throw new ToolAccountError(REQUEST, 'its tokens cannot be used')
  const isValid = typeof expires_in === 'number' && expires_in >= 0
  return { ...data, expiresIn: isValid ? Math.min(Math.floor(expires_in), MAX_LIFE) : null }
}

/** The first of the names of an ID token that there is, for the person who has just agreed. */
function findAccountName(claims: Record<string, unknown> | undefined): string | null {
  const { preferred_username: username, email, name, sub } = claims ?? {}
  const text = [email, username, name, sub].find((claim) => typeof claim === 'string' && claim.trim() !== '')
  return text === undefined
    ? null
    : shorten(
        String(text)
          .replace(/[^\P{C}]/gu, '')
          .toWellFormed()
          .trim(),
      )
}

const shorten = (text: string) => text.slice(0, 200)

const REQUEST = 'The request of tokens'

/**
 * Returns true if no repetition succeeds. A server that refuses our client has forgotten it only if we registered it
 * there: a secret that was entered can be corrected, and a document can be read later.
 */
const isFinalRefusal = ({ kind }: AccountClient, code: string) =>
  code === 'invalid_grant' || (kind === 'registered' && (code === 'invalid_client' || code === 'unauthorized_client'))

function throwRefusal(error: unknown): never {
  if (error instanceof ToolAccountError) throw error
  if (error instanceof Error && error.cause instanceof ToolAccountError) throw error.cause
  const code = readErrorCode(error)
  if (error instanceof oauth.AuthorizationResponseError)
    throw new ToolAccountError('The authorization server', `it refused with ${code}`, {
      isDeclined: code === 'access_denied',
    })
  throw new ToolAccountError(REQUEST, `it was refused with ${code}`, { cause: error })
}

/** Returns the error code, since messages may quote a token. */
function readErrorCode(error: unknown): string {
  const challenge = error instanceof oauth.WWWAuthenticateChallengeError ? error.cause[0]?.parameters : undefined
  const { error: word, code, name } = { ...(error as Partial<Record<'error' | 'code' | 'name', string>>), ...challenge }
  return String(word ?? code ?? name)
    .replace(/[^\w .-]/g, '')
    .slice(0, 60)
}

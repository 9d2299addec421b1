import { z } from 'zod'
import { type AccountServer, type ClientKind, ToolAccountError } from '../../routers/ports/ai/tool-accounts.ts'
import { tryParseJson } from '../../routers/ports/json.ts'
import type { FoundServer, ServerMetadata } from './account-discovery.ts'
import type { AccountNetwork } from './account-network.ts'
import { type AccountClient, type AccountSecrets, secretText } from './account-secrets.ts'

/** The only address to which authorization servers send people back. */
const RETURN_PATH = '/settings/accounts/back'
/** The address of the document that describes us. */
const DOCUMENT_PATH = '/oauth/client.json'

export interface RegistrationOptions {
  network: AccountNetwork
  secrets: AccountSecrets
  baseUrl: string
  /** The name of this service, which people see at the authorization server. */
  siteName: string
}

interface ClientOptions {
  server: AccountServer
  found: FoundServer
  earlier: string | undefined
  scopes: readonly string[]
  signal: AbortSignal
}

type Registration = Pick<AccountClient, 'clientId' | 'clientSecret' | 'method'>

const registration = z.object({
  client_id: z.string().min(1).max(2048),
  client_secret: secretText.optional(),
  token_endpoint_auth_method: z.string().max(200).optional(),
})

/** Makes this service a client of authorization servers: entered by an administrator, described by its document, or registered. */
export class AccountRegistration {
  readonly #options: RegistrationOptions
  readonly returnUrl: string
  /** The document that describes this service; undefined if servers elsewhere cannot read it. */
  readonly document: object | undefined

  constructor(options: RegistrationOptions) {
    this.#options = options
    this.returnUrl = options.baseUrl + RETURN_PATH
    this.document = isPublicAddress(options.baseUrl)
      ? { client_id: options.baseUrl + DOCUMENT_PATH, ...this.#describeClient('none') }
      : undefined
  }

  chooseKind({ clientId }: AccountServer, { metadata }: FoundServer): ClientKind {
    if (clientId !== null) return 'entered'
    if (metadata.client_id_metadata_document_supported && this.document) return 'document'
    if (metadata.registration_endpoint) return 'registered'
    throw new ToolAccountError(
      'The authorization server',
      'it registers no clients by itself, so an administrator must enter a client id',
    )
  }

  async findClient(options: ClientOptions): Promise<AccountClient> {
    const { server, found, earlier } = options
    const { metadata, resource, trusted } = found
    const kind = this.chooseKind(server, found)
    const common = { kind, resource, trusted: [...trusted], metadata: selectAddresses(metadata) }
    if (kind === 'entered') {
      const secret = server.clientSecret
      const clientSecret = secret === null ? undefined : this.#options.secrets.openEntered(secret)
      const method = clientSecret === undefined ? 'none' : chooseMethod(metadata, false)
      return { ...common, clientId: server.clientId ?? '', clientSecret, method }
    }
    if (kind === 'document') return { ...common, clientId: this.#options.baseUrl + DOCUMENT_PATH, method: 'none' }
    const known = this.#findRegistration(earlier, metadata.issuer)
    return { ...common, ...(known ?? (await this.#register(options))) }
  }

  /** An earlier registration at the same issuer is used again, so that servers don't collect them. */
  #findRegistration(earlier: string | undefined, issuer: string) {
    if (earlier === undefined) return undefined
    try {
      const { kind, clientId, clientSecret, method, metadata } = this.#options.secrets.openClient(earlier)
      return kind === 'registered' && metadata.issuer === issuer ? { clientId, clientSecret, method } : undefined
    } catch {
      // A key that opened it is gone.
      return undefined
    }
  }

  async #register({ found: { metadata, trusted }, scopes, signal }: ClientOptions): Promise<Registration> {
    const step = 'The registration'
    const scope = scopes.length > 0 ? { scope: scopes.join(' ') } : {}
    const { statusCode, text } = await this.#options.network.read(metadata.registration_endpoint ?? '', {
      step,
      trusted,
      signal,
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ ...this.#describeClient(chooseMethod(metadata, true)), ...scope }),
    })
    if (statusCode !== 201 && statusCode !== 200)
      throw new ToolAccountError(step, `it was refused with the status ${statusCode}`)
    const { data } = registration.safeParse(tryParseJson(text))
    if (!data) throw new ToolAccountError(step, 'its answer is not of the form that RFC 7591 describes')
    const method = data.token_endpoint_auth_method ?? (data.client_secret === undefined ? 'none' : undefined)
    return { clientId: data.client_id, clientSecret: data.client_secret, method }
  }

  #describeClient(method: string): object {
    const { baseUrl, siteName } = this.#options
    return {
      client_name: siteName,
      client_uri: baseUrl,
      redirect_uris: [this.returnUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: method,
      application_type: 'web',
    }
  }
}

/** The members that later requests need. */
const selectAddresses = (metadata: ServerMetadata): AccountClient['metadata'] => ({
  issuer: metadata.issuer,
  authorization_endpoint: metadata.authorization_endpoint,
  token_endpoint: metadata.token_endpoint,
  revocation_endpoint: metadata.revocation_endpoint,
  id_token_signing_alg_values_supported: metadata.id_token_signing_alg_values_supported,
  authorization_response_iss_parameter_supported: metadata.authorization_response_iss_parameter_supported,
})

/** Chooses how the secret is sent; a registration may also be without one. */
function chooseMethod(
  { token_endpoint_auth_methods_supported: supported }: ServerMetadata,
  mayBeNone: boolean,
): string {
  const methods = ['client_secret_basic', 'client_secret_post', ...(mayBeNone ? ['none'] : [])]
  return methods.find((method) => (supported ?? ['client_secret_basic']).includes(method)) ?? 'client_secret_basic'
}

/** Returns true if servers elsewhere can read a document there. */
function isPublicAddress(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return (
    protocol === 'https:' &&
    /\.[a-z][a-z0-9-]+$/i.test(hostname) &&
    !/\.(local|localhost|internal|test)$/i.test(hostname)
  )
}

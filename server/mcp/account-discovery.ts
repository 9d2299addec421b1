import { z } from 'zod'
import { type AccountServer, ToolAccountError } from '../../routers/ports/ai/tool-accounts.ts'
import { tryParseJson } from '../../routers/ports/json.ts'
import { removeSlash } from '../../routers/ports/web-address.ts'
import type { AccountNetwork, TrustedOrigins } from './account-network.ts'

const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/)
const scopes = z.array(scope).max(100)
const address = z.string().max(2048)

/** Metadata of a protected resource, by RFC 9728. */
const resourceMetadata = z.object({
  resource: address,
  authorization_servers: z.array(address).min(1).max(20),
  scopes_supported: scopes.optional().catch(undefined),
})
type ResourceMetadata = z.output<typeof resourceMetadata>

const algorithms = z.array(z.string().regex(/^[\w.-]{1,20}$/)).max(50)

const words = z.array(z.string().max(200)).max(200)

/** Metadata of an authorization server, by RFC 8414: the part that we use. */
const serverMetadata = z.object({
  issuer: address,
  authorization_endpoint: address,
  token_endpoint: address,
  registration_endpoint: address.optional(),
  revocation_endpoint: address.optional(),
  userinfo_endpoint: address.optional(),
  token_endpoint_auth_methods_supported: words.optional(),
  revocation_endpoint_auth_methods_supported: words.optional(),
  code_challenge_methods_supported: words.optional(),
  scopes_supported: words.optional().catch(undefined),
  // An ID token without a signature is never accepted.
  id_token_signing_alg_values_supported: algorithms
    .transform((names) => names.filter((name) => name !== 'none'))
    .optional()
    .catch(undefined),
  client_id_metadata_document_supported: z.boolean().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
})
export type ServerMetadata = z.output<typeof serverMetadata>

export interface FoundServer {
  metadata: ServerMetadata
  /** The address that the tokens are for. */
  resource: string
  /** Scopes that the tool server asks for; empty if it names none. */
  scopes: readonly string[]
  trusted: TrustedOrigins
}

interface Discovery {
  network: AccountNetwork
  trusted: TrustedOrigins
  signal: AbortSignal
}

const RESOURCE = 'The metadata of the tool server'
const SERVER = 'The metadata of the authorization server'

/**
 * Finds the authorization server of a tool server: by its refusal of a call without a token, then by the metadata of
 * both. Throws `ToolAccountError`.
 */
export async function discoverServer(
  network: AccountNetwork,
  server: AccountServer,
  signal: AbortSignal,
): Promise<FoundServer> {
  const trusted = [server.url, ...(server.issuer ? [server.issuer] : [])].map((address) => new URL(address).origin)
  const discovery = { network, trusted, signal }
  const challenge = await readChallenge(discovery, server)
  const metadata = await readResource(discovery, server, challenge.metadata)
  const issuer = chooseIssuer(server, metadata)
  const found = await readServer(discovery, issuer)
  return {
    metadata: found,
    resource: metadata?.resource ?? server.url,
    scopes: server.scopes ?? challenge.scopes ?? metadata?.scopes_supported ?? [],
    trusted,
  }
}

interface Challenge {
  /** Address of the metadata. */
  metadata?: string | undefined
  scopes?: string[] | undefined
}

/** Asks the tool server without a token, as its answer may name its metadata. */
async function readChallenge({ network, trusted, signal }: Discovery, server: AccountServer): Promise<Challenge> {
  const isStream = server.transport === 'sse'
  const { statusCode, headers } = await network.read(server.url, {
    step: 'The tool server',
    trusted,
    signal,
    method: isStream ? 'GET' : 'POST',
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: isStream ? null : JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  })
  const header = String(headers['www-authenticate'] ?? '').slice(0, 8192)
  if (statusCode !== 401) return {}
  const { data } = scopes.safeParse(findParameter(header, 'scope')?.split(' ').filter(Boolean))
  return { metadata: findParameter(header, 'resource_metadata'), scopes: data?.length ? data : undefined }
}

/** Finds a parameter of a challenge, quoted or not. */
function findParameter(header: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,"]+))`, 'i').exec(header)
  return match?.[1] ?? match?.[2]
}

async function readResource(
  discovery: Discovery,
  server: AccountServer,
  named: string | undefined,
): Promise<ResourceMetadata | undefined> {
  const { origin, pathname } = new URL(server.url)
  const base = `${origin}/.well-known/oauth-protected-resource`
  const addresses = named === undefined ? [...new Set([base + removeSlash(pathname), base])] : [named]
  const text = await readFirst(discovery, RESOURCE, addresses)
  if (text === undefined) {
    // A server from before these metadata still has one that an administrator entered.
    if (server.issuer) return undefined
    throw new ToolAccountError(RESOURCE, 'there are none, so an administrator must enter its authorization server')
  }
  const { data } = resourceMetadata.safeParse(tryParseJson(text))
  if (!data) throw new ToolAccountError(RESOURCE, 'they are not of the form that RFC 9728 describes')
  if (!includesAddress(data.resource, server.url))
    throw new ToolAccountError(RESOURCE, 'they describe another address than that of the tool server')
  return data
}

/** Returns true if the resource is the address, or a path above it. */
function includesAddress(resource: string, address: string): boolean {
  const [outer, inner] = [URL.parse(resource), new URL(address)]
  if (outer?.origin !== inner.origin || outer.search !== '' || outer.hash !== '') return outer?.href === inner.href
  return `${removeSlash(inner.pathname)}/`.startsWith(`${removeSlash(outer.pathname)}/`)
}

function chooseIssuer({ issuer }: AccountServer, metadata: ResourceMetadata | undefined): string {
  const named = metadata?.authorization_servers ?? []
  if (issuer === null) return named[0] ?? ''
  if (!metadata || named.some((one) => isSameAddress(one, issuer))) return issuer
  throw new ToolAccountError(RESOURCE, 'they do not name the authorization server that an administrator entered')
}

async function readServer(discovery: Discovery, issuer: string): Promise<ServerMetadata> {
  const { network, trusted } = discovery
  const { origin, pathname, search } = network.check('The authorization server', issuer, trusted)
  if (search) throw new ToolAccountError('The authorization server', 'its address has a query')
  const path = removeSlash(pathname)
  const addresses = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
  const text = await readFirst(discovery, SERVER, [...new Set(addresses)])
  if (text === undefined) throw new ToolAccountError(SERVER, `there are none at ${origin}`)
  const { data } = serverMetadata.safeParse(tryParseJson(text))
  if (!data) throw new ToolAccountError(SERVER, 'they are not of the form that RFC 8414 describes')
  if (!isSameAddress(data.issuer, issuer)) throw new ToolAccountError(SERVER, 'they name another issuer')
  if (!data.code_challenge_methods_supported?.includes('S256'))
    throw new ToolAccountError(SERVER, 'they do not promise PKCE with S256')
  for (const [member, step] of Object.entries(endpoints))
    if (data[member as keyof typeof endpoints] !== undefined)
      network.check(step, data[member as keyof typeof endpoints], trusted)
  return data
}

const endpoints = {
  authorization_endpoint: 'The authorization endpoint',
  token_endpoint: 'The token endpoint',
  registration_endpoint: 'The registration endpoint',
  revocation_endpoint: 'The revocation endpoint',
  userinfo_endpoint: 'The userinfo endpoint',
} as const

/** Reads the first document that there is; undefined if there is none. */
async function readFirst({ network, trusted, signal }: Discovery, step: string, addresses: readonly string[]) {
  for (const address of addresses) {
    const { statusCode, text } = await network.read(address, { step, trusted, signal })
    if (statusCode === 200) return text
    if (statusCode >= 500) throw new ToolAccountError(step, `their server answered with the status ${statusCode}`)
  }
  return undefined
}

/** Compares addresses; only the slash of an empty path makes no difference. */
export const isSameAddress = (one: string, other: string) =>
  one === other || (URL.parse(one)?.href ?? one) === (URL.parse(other)?.href ?? other)

import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Provider } from 'oidc-provider'
// @ts-expect-error: it has no declaration, and without it the library warns.
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js'
import { buildTool, startToolServer } from './tool-server.ts'

/** The requests that say to whom they are answered. */
const answers: Record<string, (text: string) => object> = {
  'tools/call': (text) => ({ content: [{ type: 'text', text }] }),
  'prompts/get': (text) => ({ messages: [{ role: 'user', content: { type: 'text', text } }] }),
  'resources/read': (text) => ({ contents: [{ uri: 'library://shelf', text }] }),
}

/**
 * A tool server at which each person has an account, with an authorization server of its own. Whoever comes signs in as
 * `signedIn`, and agrees.
 */
export async function startAccountServer() {
  const tools = await startToolServer([buildTool('whoami', { inputSchema: { type: 'object' } })])
  tools.prompts = [{ name: 'greet' }]
  tools.resources = [{ uri: 'library://shelf', name: 'shelf' }]
  const http = createServer()
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const state = {
    signedIn: 'nobody',
    /** Set to refuse the next request for consent. */
    declines: false,
    /** Changes what a metadata document or an answer of the tool server says. */
    resource: {} as object,
    metadata: {} as object,
    /** The authorization headers of calls, prompts and reads, in their order. */
    tokens: [] as (string | undefined)[],
    headers: [] as IncomingMessage['headers'][],
    refreshes: 0,
    /** Requests of tokens that were refused. */
    refusals: 0,
    revocations: 0,
    /** Lets every request of tokens fail. */
    isDown: false,
    registrations: 0,
    /** New tokens are sent when this resolves. */
    refreshed: undefined as Promise<void> | undefined,
    /** False to keep refresh tokens, and not to send them again. */
    rotates: true,
    /** The secrets with which clients asked for tokens or ended them. */
    secrets: [] as string[],
    /** Milliseconds that the token endpoint takes. */
    delay: 0,
  }
  const provider = createProvider(issuer, tools.url, () => state.rotates)
  provider.use(async (ctx, next) => {
    await next()
    const isRefresh = ctx.oidc?.params?.['grant_type'] === 'refresh_token'
    if (isRefresh) await state.refreshed
    if (isRefresh && !state.rotates) delete (ctx.body as Record<string, unknown>)['refresh_token']
  })
  provider.use((ctx, next) => {
    if (ctx.path === '/token/revocation') state.revocations += 1
    return next()
  })
  provider.on('grant.success', ({ oidc }) => {
    if (oidc.params?.['grant_type'] === 'refresh_token') state.refreshes += 1
  })
  provider.on('registration_create.success', () => {
    state.registrations += 1
  })
  provider.on('grant.error', () => {
    state.refusals += 1
  })
  const callback = provider.callback()
  http.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = request
    if (url.startsWith('/interaction/')) return finishInteraction(provider, { request, response }, state)
    if (url === '/.well-known/oauth-authorization-server') return sendMetadata(response, issuer, state.metadata)
    if (url.startsWith('/token')) state.secrets.push(...readSecret(request))
    if (url !== '/token') return callback(request, response)
    if (state.isDown) return void response.writeHead(503).end()
    await pause(state.delay)
    return callback(request, response)
  })

  const base = tools.url.replace('/mcp', '')
  const metadataUrl = `${base}/.well-known/oauth-protected-resource/mcp`
  tools.behave = async ({ rpc, request, response, reply }) => {
    if (request.url === new URL(metadataUrl).pathname) {
      const document = { resource: tools.url, authorization_servers: [issuer], scopes_supported: ['tools'] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...document, ...state.resource }))
      return true
    }
    const { authorization } = request.headers
    state.headers.push(request.headers)
    const answer = answers[rpc.method]
    if (answer) state.tokens.push(authorization)
    const token = authorization && (await provider.AccessToken.find(authorization.replace('Bearer ', '')))
    if (!token || token.isExpired) {
      response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadataUrl}", scope="tools"` })
      response.end('CANARY-UPSTREAM')
      return true
    }
    if (!answer) return false
    reply(answer(`You are ${token.accountId}.`))
    return true
  }

  return Object.assign(state, {
    url: tools.url,
    issuer,
    provider,
    /** Goes through the sign-in like a browser; returns the address to which it leads back. */
    async authorize(address: string): Promise<string> {
      const cookies = new Map<string, string>()
      let next = address
      for (let step = 0; step < 10 && next.startsWith(issuer); step++) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
        for (const line of response.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          cookies.set(name, value)
        }
        const location = response.headers.get('location')
        if (!location) throw new Error(`The sign-in ended with ${response.status}: ${await response.text()}`)
        next = new URL(location, next).href
      }
      return next
    },
    /** Ends an access token, as time does. */
    async expire(header: string | undefined) {
      await (await provider.AccessToken.find(String(header).replace('Bearer ', '')))?.destroy()
    },
    /** Forgets a registered client, as servers do that keep them for a time. */
    forgetClient: (clientId: string) => new MemoryAdapter('Client').destroy(clientId) as Promise<void>,
    async [Symbol.asyncDispose]() {
      await tools[Symbol.asyncDispose]()
      http.closeAllConnections()
      await new Promise((done) => http.close(done))
    },
  })
}

function createProvider(issuer: string, resource: string, rotates: () => boolean): Provider {
  return new Provider(issuer, {
    adapter: class extends MemoryAdapter {} as never,
    jwks: { keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    ttl: { AccessToken: 3600, Grant: 3600, IdToken: 3600, Interaction: 3600, RefreshToken: 3600, Session: 3600 },
    scopes: ['openid', 'offline_access', 'tools'],
    clients: [
      {
        client_id: 'entered',
        client_secret: 'the entered secret',
        redirect_uris: ['http://127.0.0.1/settings/accounts/back'],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    pkce: { required: () => true },
    cookies: { keys: ['a key of the tests'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    issueRefreshToken: async () => true,
    rotateRefreshToken: rotates,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true, allowedPolicy: async () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async () => ({ scope: 'tools', audience: resource, accessTokenFormat: 'opaque' }),
        useGrantedResource: async () => true,
      },
    },
  })
}

/** Returns the secret of the client that sends the request, if it has one. */
function readSecret({ headers: { authorization = '' } }: IncomingMessage): string[] {
  const [scheme, text = ''] = authorization.split(' ')
  const secret = Buffer.from(text, 'base64').toString().split(':')[1] ?? ''
  return scheme === 'Basic' ? [decodeURIComponent(secret.replaceAll('+', ' '))] : []
}

function sendMetadata(response: ServerResponse, issuer: string, more: object): void {
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/reg`,
    revocation_endpoint: `${issuer}/token/revocation`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
    authorization_response_iss_parameter_supported: true,
    id_token_signing_alg_values_supported: ['ES256'],
    ...more,
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata))
}

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

async function finishInteraction(
  provider: Provider,
  { request, response }: Exchange,
  { signedIn, declines }: { signedIn: string; declines: boolean },
): Promise<void> {
  const { prompt, params } = await provider.interactionDetails(request, response)
  if (declines) return provider.interactionFinished(request, response, { error: 'access_denied' })
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: signedIn } })
  const grant = new provider.Grant({ accountId: signedIn, clientId: String(params['client_id']) })
  grant.addOIDCScope(String(params['scope'] ?? ''))
  grant.addResourceScope(String(params['resource']), 'tools')
  const grantId = await grant.save()
  return provider.interactionFinished(request, response, { consent: { grantId } }, { mergeWithLastSubmission: true })
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Settings } from '../../routers/core/settings.ts'
import { createCaller } from '../../routers/index.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { allowCrossOrigin } from './cross-origin.ts'

export interface MetadataOptions {
  settings: Pick<Settings, 'baseUrl' | 'oauth'>
  /** Name of the site. */
  name: string
  /** Nothing here has a caller: programs prove themselves by what they send. */
  resolveGuestContext: ContextResolver
}

const RESOURCE_PATH = '/.well-known/oauth-protected-resource'

/** Finds the address of the metadata of a path for the challenge of a 401; undefined if programs cannot sign in for it. */
export const findResourceMetadata = (
  { baseUrl, oauth }: MetadataOptions['settings'],
  path: string,
): string | undefined =>
  oauth.clients !== 'off' && oauth.abilities.includes('mcp') ? `${baseUrl}${RESOURCE_PATH}${path}` : undefined

/** Registers the documents by which programs find the sign-in (RFC 8414, RFC 9728). They promise only what the settings open. */
export function registerMetadata(app: FastifyInstance, options: MetadataOptions): void {
  const { settings, name, resolveGuestContext } = options
  const { baseUrl, oauth } = settings
  const toResource = (path: string, scopes: readonly string[]) => ({
    resource: `${baseUrl}${path}`,
    authorization_servers: [baseUrl],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: name,
  })
  const get = (url: string, build: (request: FastifyRequest, reply: FastifyReply) => Promise<object> | object) => {
    allowCrossOrigin(app, url, 'GET')
    app.get(url, async (request, reply) => {
      const document = await build(request, reply)
      return reply.header('cache-control', 'public, max-age=300').send(document)
    })
  }
  get('/.well-known/oauth-authorization-server', async (request, reply) => {
    request.context = await resolveGuestContext(request, reply)
    return buildServerMetadata(settings, await createCaller(request.context).oauth.offersDocuments())
  })
  get(RESOURCE_PATH, () => toResource('', oauth.abilities))
  if (!oauth.abilities.includes('mcp')) return
  for (const path of ['/mcp', '/mcp/:server(^[\\w-]{1,120}$)'])
    get(`${RESOURCE_PATH}${path}`, ({ url }) => toResource(cleanPath(url.slice(RESOURCE_PATH.length)), ['mcp']))
}

const cleanPath = (path: string) => path.split('?', 1)[0]?.replace(/\/$/, '') ?? ''

function buildServerMetadata({ baseUrl, oauth }: MetadataOptions['settings'], offersDocuments: boolean) {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    ...(oauth.clients === 'any' && { registration_endpoint: `${baseUrl}/oauth/register` }),
    ...(offersDocuments && { client_id_metadata_document_supported: true }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: oauth.abilities,
  }
}

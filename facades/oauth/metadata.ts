import type { FastifyInstance } from 'fastify'
import type { Settings } from '../../routers/core/settings.ts'
import { allowCrossOrigin } from './cross-origin.ts'

export interface MetadataOptions {
  settings: Pick<Settings, 'baseUrl' | 'oauth'>
  /** Name of the site. */
  name: string
}

const RESOURCE_PATH = '/.well-known/oauth-protected-resource'

/** Finds the address of the metadata of a path for the challenge of a 401; undefined if programs cannot sign in for it. */
export const findResourceMetadata = (
  { baseUrl, oauth }: MetadataOptions['settings'],
  path: string,
): string | undefined =>
  oauth.clients !== 'off' && oauth.abilities.includes('mcp') ? `${baseUrl}${RESOURCE_PATH}${path}` : undefined

/** Registers the documents by which programs find the sign-in (RFC 8414, RFC 9728). They promise only what the settings open. */
export function registerMetadata(app: FastifyInstance, { settings, name }: MetadataOptions): void {
  const { baseUrl, oauth } = settings
  const server = buildServerMetadata(settings)
  const toResource = (path: string, scopes: readonly string[]) => ({
    resource: `${baseUrl}${path}`,
    authorization_servers: [baseUrl],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: name,
  })
  const get = (url: string, build: (path: string) => object) => {
    allowCrossOrigin(app, url, 'GET')
    app.get(url, (request, reply) =>
      reply.header('cache-control', 'public, max-age=300').send(build(request.url.slice(RESOURCE_PATH.length))),
    )
  }
  get('/.well-known/oauth-authorization-server', () => server)
  get(RESOURCE_PATH, () => toResource('', oauth.abilities))
  if (!oauth.abilities.includes('mcp')) return
  for (const path of ['/mcp', '/mcp/:server(^[\\w-]{1,120}$)'])
    get(`${RESOURCE_PATH}${path}`, (asked) => toResource(cleanPath(asked), ['mcp']))
}

const cleanPath = (path: string) => path.split('?', 1)[0]?.replace(/\/$/, '') ?? ''

function buildServerMetadata({ baseUrl, oauth }: MetadataOptions['settings']) {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    ...(oauth.clients === 'any' && { registration_endpoint: `${baseUrl}/oauth/register` }),
    ...(oauth.clients !== 'registered' && { client_id_metadata_document_supported: true }),
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

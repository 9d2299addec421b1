import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { refuseRequest } from '../../routers/core/oauth-refusal.ts'
import { Problem } from '../../routers/core/problems.ts'
import { createCaller } from '../../routers/index.ts'
import { logServerFailure, toFailure } from '../http/failure.ts'
import { readJsonBodies } from '../http/json-text.ts'
import { allowCrossOrigin, setCrossOriginHeaders } from './cross-origin.ts'
import { type MetadataOptions, registerMetadata } from './metadata.ts'
import { readClient, readParameters, toAscii } from './parameters.ts'

const BODY_LIMIT = 16 * 1024

/** Registers the addresses at which programs get tokens, and the documents that name them. */
export async function oauth(app: FastifyInstance, options: MetadataOptions) {
  app.addHook('onRequest', async (_, reply) => void setCrossOriginHeaders(reply))
  app.setErrorHandler(sendError)
  registerMetadata(app, options)
  await app.register(async (scope) => registerEndpoints(scope, options))
}

function registerEndpoints(app: FastifyInstance, options: MetadataOptions): void {
  app.addHook('onRequest', async (_, reply) => void reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' }))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_: unknown, body: string) => new URLSearchParams(body),
  )
  readJsonBodies(app)
  post(app, '/oauth/token', (request, reply) => sendTokens(request, reply, options))
  post(app, '/oauth/revoke', (request, reply) => revoke(request, reply, options))
  if (options.settings.oauth.clients === 'any')
    post(app, '/oauth/register', (request, reply) => register(request, reply, options))
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

function post(app: FastifyInstance, url: string, handler: Handler): void {
  allowCrossOrigin(app, url, 'POST')
  app.post(url, { bodyLimit: BODY_LIMIT }, handler)
}

async function createApi({ resolveGuestContext }: MetadataOptions, request: FastifyRequest, reply: FastifyReply) {
  request.context = await resolveGuestContext(request, reply)
  return createCaller(request.context).oauth
}

async function sendTokens(request: FastifyRequest, reply: FastifyReply, options: MetadataOptions) {
  const parameters = readParameters(request.body)
  const client = readClient(request.headers.authorization, parameters)
  const grantType = parameters.get('grant_type')
  if (grantType === undefined) throw refuseRequest('The grant_type is missing.')
  const api = await createApi(options, request, reply)
  const issued = await api.token({
    ...client,
    grantType,
    code: parameters.get('code'),
    redirectUri: parameters.get('redirect_uri'),
    codeVerifier: parameters.get('code_verifier'),
    refreshToken: parameters.get('refresh_token'),
    resources: parameters.getAll('resource'),
    userAgent: request.headers['user-agent']?.slice(0, 2000),
  })
  return {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: issued.expiresIn,
    refresh_token: issued.refreshToken,
    scope: issued.scope,
  }
}

async function revoke(request: FastifyRequest, reply: FastifyReply, options: MetadataOptions) {
  const parameters = readParameters(request.body)
  const client = readClient(request.headers.authorization, parameters)
  const token = parameters.get('token')
  if (token === undefined) throw refuseRequest('The token is missing.')
  const api = await createApi(options, request, reply)
  await api.revoke({ ...client, token })
  return reply.code(200).send()
}

/** Members of RFC 7591 that we use or send back; others are ignored. */
const registration = z.object({
  redirect_uris: z.array(z.string().max(4000)).max(50),
  client_name: z.string().max(1000).optional(),
  scope: z.string().max(1000).optional(),
})

/** Sends back what the program sent, as some of them fail at anything else. Every program is a public client. */
async function register(request: FastifyRequest, reply: FastifyReply, options: MetadataOptions) {
  const wanted = registration.safeParse(request.body)
  if (!wanted.success)
    throw refuseRequest(
      'The body must be a JSON object with redirect_uris, a list of at most 50 addresses.',
      'invalid_client_metadata',
    )
  const { redirect_uris, client_name, scope } = wanted.data
  const api = await createApi(options, request, reply)
  const client = await api.register({ redirectUris: redirect_uris, name: client_name ?? '' })
  return reply.code(201).send({
    client_id: client.clientId,
    client_id_issued_at: client.issuedAt,
    redirect_uris: client.redirectUris,
    ...(client_name !== undefined && { client_name }),
    ...(scope !== undefined && { scope }),
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  })
}

/** Sends an error in the form of RFC 6749. */
function sendError(thrown: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const failure = toFailure(thrown)
  logServerFailure(failure, request.log)
  const error = findError(failure.status, failure.error)
  if (error === 'invalid_client') reply.code(401).header('www-authenticate', 'Basic realm="oauth"')
  else reply.code(failure.status === 422 ? 400 : failure.status)
  return reply.send({ error, error_description: toAscii(failure.message) })
}

function findError(status: number, error: Error): string {
  const named = error instanceof Problem ? error.meta['error'] : undefined
  if (named) return named
  if (status >= 500) return status === 503 ? 'temporarily_unavailable' : 'server_error'
  return status === 429 ? 'temporarily_unavailable' : 'invalid_request'
}

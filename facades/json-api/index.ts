import multipart from '@fastify/multipart'
import type { AnyTRPCRouter } from '@trpc/server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { assertMayCall } from '../../routers/core/trpc.ts'
import { createCaller } from '../../routers/index.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import { startErrorResponse } from '../http/failure.ts'
import { parseJson } from '../http/json-text.ts'
import { previewPath, toPreview } from '../http/link-preview.ts'
import { refuseMethod, refuseUnrouted } from '../http/method-not-allowed.ts'
import { addVary } from '../http/negotiation.ts'
import { type ContextResolver, type FacadeOptions, getBodyLimit } from '../http/procedures.ts'
import { sendFile } from '../http/send-file.ts'
import { buildErrorDocument } from './errors.ts'
import { RouteHandler, SharedResponses } from './handler.ts'
import { type DocumentContext, declaredMembers, type Members } from './members.ts'
import { dropForeignParameters } from './query.ts'
import {
  buildRoutes,
  findShadowedMethods,
  formType,
  getAccess,
  isServed,
  mediaType,
  type Route,
  type ServedRoute,
} from './routes.ts'

export interface JsonApiOptions extends FacadeOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  /** Prefix of every link; empty for links without a host. */
  baseUrl: string
  members?: Members
}

/** Registers a route for every procedure that is exposed by a resource. */
export async function jsonApi(app: FastifyInstance, options: JsonApiOptions) {
  const { router, resources, resolveContext, baseUrl, members = declaredMembers } = options
  const documentContext: DocumentContext = {
    resources: new Map(resources.map((resource) => [resource.type as string, resource])),
    members,
    names: app.names,
    origin: baseUrl,
    baseUrl: baseUrl + app.prefix,
  }
  readDocuments(app)
  registerAdmission(app, resolveContext)
  handleErrors(app, documentContext)
  await app.register(appLogos, { resolveContext })
  await app.register(linkPreview, { prefix: previewPath, resolveContext, baseUrl: documentContext.baseUrl })
  await serveRoutes(app, buildRoutes(router, members), { ...options, documentContext })
}

/** Checks the accepted media types and the access before the body is read. */
function registerAdmission(app: FastifyInstance, resolveContext: ContextResolver): void {
  app.addHook('onRequest', async (request, reply) => {
    // Fastify would add a charset to the media type, which must not have one.
    reply.header('cache-control', 'private, no-cache').serializer(passThrough)
    addVary(reply, 'Accept')
    if (request.is404 && request.method === 'OPTIONS') return refuseUnrouted(request, reply)
    const { route, isPlain } = configOf(request)
    if (route?.answers !== 'file' && !isPlain) assertAcceptable(request.headers.accept)
    const ctx = await resolveContext(request, reply)
    // Unknown addresses are refused regardless of the body.
    if (request.is404) return refuseUnrouted(request, reply)
    if (route) assertServed(route, ctx)
    return undefined
  })
}

type RouteOptions = Pick<JsonApiOptions, 'bodyLimits'> & { documentContext: DocumentContext }

async function serveRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  { bodyLimits, documentContext }: RouteOptions,
): Promise<void> {
  const sharedResponses = new SharedResponses()
  const buildOptions = (route: Route) => ({
    method: route.method,
    url: route.url,
    config: { route } as object,
    bodyLimit: getBodyLimit(route.procedure, bodyLimits),
    ...(route.method !== 'GET' && { preParsing: createBodyCheck(route) }),
    handler: new RouteHandler({ documentContext, route: route as ServedRoute, sharedResponses }).handle,
  })
  for (const route of routes.filter(({ hasFile }) => !hasFile)) app.route(buildOptions(route))
  await app.register(async (forms) => {
    // The hooks of the plugin apply to forms only.
    await forms.register(multipart)
    for (const route of routes.filter(({ hasFile }) => hasFile)) forms.route(buildOptions(route))
  })
  for (const { method, url } of findShadowedMethods(routes)) refuseMethod(app, method, url)
}

function readDocuments(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([mediaType, 'application/json'], { parseAs: 'buffer' }, async (_: unknown, body: Buffer) =>
    body.length > 0 ? parseJson(body, 'invalid_document') : undefined,
  )
}

interface RouteConfig {
  route?: Route
  /** True if the response is no document. */
  isPlain?: true
}

const configOf = ({ routeOptions }: FastifyRequest) => routeOptions.config as RouteConfig

/** Checks the access before the body is read. Read-only members refuse writes of signed-in callers. */
function assertServed(route: Route, ctx: Context): void {
  if (isServed(route)) assertMayCall(ctx, getAccess(route))
  else throw new Problem(ctx.callerContext.current.type === 'guest' ? 'signed_out' : 'read_only')
}

const passThrough = (payload: unknown) => payload as string

const createBodyCheck = (route: Route) => async (request: FastifyRequest) => {
  if (hasBody(request)) assertContentType(request.headers['content-type'], route)
}

const hasBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

function handleErrors(app: FastifyInstance, documentContext: DocumentContext): void {
  app.setErrorHandler((thrown, request, reply) => {
    startErrorResponse(thrown, request, reply)
    const { route, isPlain } = configOf(request)
    const { status, body } = buildErrorDocument(thrown, {
      requestId: request.id,
      route,
      url: request.routeOptions.url,
      body: request.body,
      valueStatus: isPlain ? 422 : undefined,
      documentContext,
    })
    return reply.serializer(passThrough).code(status).type(mediaType).send(JSON.stringify(body))
  })
  app.setNotFoundHandler(refuseUnrouted)
}

interface MediaRange {
  type: string
  parameters: Map<string, string>
}

/** Splits at a separator outside of quotes. An unclosed quote runs to the end, and is scanned only once. */
const splitOutsideQuotes = (text: string, separator: ',' | ';') =>
  text.match(separator === ',' ? /(?:[^,"]|"(?:\\.|[^"\\])*"?)+/g : /(?:[^;"]|"(?:\\.|[^"\\])*"?)+/g) ?? []

function parseMediaRange(range: string): MediaRange {
  const [type = '', ...rest] = splitOutsideQuotes(range, ';').map((part) => part.trim())
  const parameters = rest.map((part): [string, string] => {
    const [name = '', value = ''] = part.split(/=(.*)/s)
    return [name.trim().toLowerCase(), value.trim().replace(/^"|"$/g, '')]
  })
  return { type: type.toLowerCase(), parameters: new Map(parameters) }
}

/**
 * Returns true if a media range has only `profile`, an empty `ext`, and the ignored parameters. Unknown profiles are
 * harmless.
 */
const hasOnlyKnownParameters = ({ parameters }: MediaRange, ignored: readonly string[] = []) =>
  [...parameters.keys()].every(
    (name) => name === 'profile' || ignored.includes(name) || (name === 'ext' && !parameters.get('ext')),
  )

/** Throws if none of the accepted types is ours. */
function assertAcceptable(accept: string | undefined): void {
  if (accept === undefined || accept.trim() === '') return
  const ranges = splitOutsideQuotes(accept, ',').map(parseMediaRange)
  const jsonApi = ranges.filter((range) => range.type === mediaType && readWeight(range) > 0)
  if (jsonApi.length > 0 && jsonApi.every((range) => !hasOnlyKnownParameters(range, ['q'])))
    throw new Problem('not_acceptable')
  // The narrowest matching range decides.
  const narrowest = [mediaType, 'application/*', '*/*'].find((type) => ranges.some((range) => range.type === type))
  const isWanted = ranges.some(
    (range) => (range.type === narrowest || range.type === 'application/json') && readWeight(range) > 0,
  )
  if (!isWanted) throw new Problem('not_acceptable')
}

const readWeight = ({ parameters }: MediaRange) => Number(parameters.get('q') ?? 1)

/** Throws if a body is not JSON:API; an action also accepts plain JSON, or only a form. */
function assertContentType(contentType: string | undefined, { answers, hasFile }: Route): void {
  const range = parseMediaRange(contentType ?? '')
  if (hasFile) {
    if (range.type !== formType) throw new Problem('unsupported_media_type')
    return
  }
  if (answers === 'action' && range.type === 'application/json') return
  if (range.type !== mediaType || !hasOnlyKnownParameters(range)) throw new Problem('unsupported_media_type')
}

interface LogoRequest {
  Params: { id: string }
  Querystring: { expires: string; signature: string }
}

const logoPath = '/ext-apps/actions/proxy-logo/:id'

/** Serves logos of external apps; only errors are documents. */
async function appLogos(app: FastifyInstance, { resolveContext }: { resolveContext: ContextResolver }) {
  app.get<LogoRequest>(logoPath, { config: { isPlain: true } as object }, async (request, reply) => {
    const query = dropForeignParameters(request.query) as LogoRequest['Querystring']
    const logos = createCaller(await resolveContext(request, reply)).appLogos
    const payload = sendFile(request, reply, await logos.read({ ...query, id: request.params.id }))
    reply.header('cache-control', 'private, max-age=3600')
    return payload
  })
}

interface LinkPreviewOptions {
  resolveContext: ContextResolver
  /** Base URL of the JSON:API. */
  baseUrl: string
}

interface PreviewRequest {
  Querystring: { url: string }
}

/** Reads the query; the procedure validates it. */
const readPreviewInput = ({ query }: FastifyRequest<PreviewRequest>) =>
  dropForeignParameters(query) as PreviewRequest['Querystring']

/** Serves link previews as plain JSON and pictures; only errors are documents. */
async function linkPreview(app: FastifyInstance, { resolveContext, baseUrl }: LinkPreviewOptions) {
  const config = { isPlain: true } as object
  const previewsFor = async (request: FastifyRequest, reply: FastifyReply) =>
    createCaller(await resolveContext(request, reply)).linkPreviews

  app.get<PreviewRequest>('/metadata', { config }, async (request, reply) => {
    const preview = await (await previewsFor(request, reply)).metadata(readPreviewInput(request))
    reply.header('cache-control', 'private, max-age=3600').type('application/json')
    return JSON.stringify(toPreview(preview, baseUrl))
  })

  for (const kind of ['image', 'favicon'] as const)
    app.get<PreviewRequest>(`/${kind}`, { config }, async (request, reply) => {
      const file = await (await previewsFor(request, reply))[kind](readPreviewInput(request))
      const payload = sendFile(request, reply, file)
      reply.header('cache-control', 'private, max-age=3600')
      return payload
    })
}

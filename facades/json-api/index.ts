import multipart from '@fastify/multipart'
import type { AnyTRPCRouter } from '@trpc/server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { assertMayCall } from '../../routers/core/trpc.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import { parseJson } from '../http/json-text.ts'
import { previewPath } from '../http/link-preview.ts'
import { refuseMethod, refuseUnrouted } from '../http/other-methods.ts'
import { bodyLimitOf, type ContextOf, type FacadeOptions } from '../http/procedures.ts'
import { varyBy } from '../http/vary.ts'
import { appLogos } from './app-logos.ts'
import type { DocumentContext } from './document.ts'
import { errorDocument } from './errors.ts'
import { isServed, routeAccess, type ServedRoute } from './exposed-routes.ts'
import { linkPreview } from './link-preview.ts'
import { declaredMembers, type Members } from './members.ts'
import { assertAcceptable, assertContentType } from './negotiation.ts'
import { type Route, routesOf, shadowedMethods } from './routes.ts'
import { serve } from './serve.ts'
import { SharedAnswers } from './shared-answers.ts'
import { mediaType } from './wire.ts'

export interface JsonApiOptions extends FacadeOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  /** In front of every link; empty for links without a host. */
  baseUrl: string
  members?: Members
}

/** Serves every procedure that carries out a verb of a resource. */
export async function jsonApi(app: FastifyInstance, options: JsonApiOptions) {
  const { router, resources, contextOf, baseUrl, members = declaredMembers } = options
  const documentContext: DocumentContext = {
    resources: new Map(resources.map((resource) => [resource.type as string, resource])),
    members,
    names: app.names,
    origin: baseUrl,
    baseUrl: baseUrl + app.prefix,
  }
  readDocuments(app)
  admit(app, contextOf)
  handleErrors(app, documentContext)
  await app.register(appLogos, { contextOf })
  await app.register(linkPreview, { prefix: previewPath, contextOf, baseUrl: documentContext.baseUrl })
  await serveRoutes(app, routesOf(router, members), { ...options, documentContext })
}

/** Judges what a request wants and who asks, before its body. */
function admit(app: FastifyInstance, contextOf: ContextOf): void {
  app.addHook('onRequest', async (request, reply) => {
    // Fastify would add a charset to the media type, which may have no such parameter.
    reply.header('cache-control', 'private, no-cache').serializer(asItIs)
    varyBy(reply, 'Accept')
    if (request.is404 && request.method === 'OPTIONS') return refuseUnrouted(request, reply)
    const { route, isPlain } = configOf(request)
    if (route?.answers !== 'file' && !isPlain) assertAcceptable(request.headers.accept)
    const ctx = await contextOf(request, reply)
    // Regardless of the body.
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
  const sharedPages = new SharedAnswers()
  const optionsOf = (route: Route) => ({
    method: route.method,
    url: route.url,
    config: { route } as object,
    bodyLimit: bodyLimitOf(route.procedure, bodyLimits),
    ...(route.method !== 'GET' && { preParsing: bodyCheck(route) }),
    handler: (request: FastifyRequest, reply: FastifyReply) =>
      serve({ documentContext, route: route as ServedRoute, sharedPages }, request, reply),
  })
  for (const route of routes.filter(({ takesFile }) => !takesFile)) app.route(optionsOf(route))
  await app.register(async (forms) => {
    // Its hooks are for forms alone.
    await forms.register(multipart)
    for (const route of routes.filter(({ takesFile }) => takesFile)) forms.route(optionsOf(route))
  })
  for (const { method, url } of shadowedMethods(routes)) refuseMethod(app, method, url)
}

function readDocuments(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([mediaType, 'application/json'], { parseAs: 'buffer' }, async (_: unknown, body: Buffer) =>
    body.length > 0 ? parseJson(body, 'invalid_document') : undefined,
  )
}

interface RouteConfig {
  route?: Route
  /** Answers with something else than a document. */
  isPlain?: true
}

const configOf = ({ routeOptions }: FastifyRequest) => routeOptions.config as RouteConfig

/** Who may not call is told so before the body is read. What is only read refuses writes of whoever has signed in. */
function assertServed(route: Route, ctx: Context): void {
  if (isServed(route)) assertMayCall(ctx, routeAccess(route))
  else throw new Problem(ctx.callerContext.current.type === 'guest' ? 'signed_out' : 'read_only')
}

const asItIs = (payload: unknown) => payload as string

const bodyCheck = (route: Route) => async (request: FastifyRequest) => {
  if (hasBody(request)) assertContentType(request.headers['content-type'], route)
}

const hasBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

function handleErrors(app: FastifyInstance, documentContext: DocumentContext): void {
  app.setErrorHandler((thrown, request, reply) => {
    const { route, isPlain } = configOf(request)
    const { status, body } = errorDocument(thrown, {
      requestId: request.id,
      route,
      url: request.routeOptions.url,
      body: request.body,
      valueStatus: isPlain ? 422 : undefined,
      documentContext,
    })
    if (status >= 500)
      request.log.error({ error: (thrown as Error).cause ?? thrown }, body.errors[0]?.code ?? 'internal')
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    return reply.serializer(asItIs).code(status).type(mediaType).send(JSON.stringify(body))
  })
  app.setNotFoundHandler(refuseUnrouted)
}

import type { AnyTRPCRouter } from '@trpc/server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../routers/problems.ts'
import type { Resource } from '../../routers/resource.ts'
import type { ContextOf } from '../request-context.ts'
import { Malformed } from './body.ts'
import type { Site } from './document.ts'
import { errorDocument } from './errors.ts'
import { assertAcceptable, assertContentType } from './negotiation.ts'
import { type Route, routesOf } from './routes.ts'
import { serve } from './serve.ts'
import { basePath, mediaType } from './wire.ts'

export interface JsonApiOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  contextOf: ContextOf
  /** In front of every link; empty for links without a host. */
  baseUrl: string
  /** In bytes. */
  maxBody: number
}

/** Serves every procedure that carries out a verb of a resource. */
export async function jsonApi(app: FastifyInstance, options: JsonApiOptions) {
  const { router, resources, contextOf, baseUrl, maxBody: bodyLimit } = options
  const routes = routesOf(router)
  const byType = new Map(resources.map((resource) => [resource.type as string, resource]))
  const site: Site = { resources: byType, baseUrl: baseUrl + basePath }

  app.removeAllContentTypeParsers()
  const parser = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser([mediaType, 'application/json'], { parseAs: 'string' }, (request, text: string, done) => {
    if (text === '') return done(null, undefined)
    parser(request, text, (error, body) => done(null, error || isDeeper(body, MOST_LEVELS) ? new Malformed() : body))
  })
  app.addHook('onRequest', async (request, reply) => {
    // Fastify would add a charset to the media type, which may have no such parameter.
    reply.header('vary', 'Accept').header('cache-control', 'private, no-cache').serializer(asItIs)
    assertAcceptable(request.headers.accept)
    await contextOf(request, reply)
    // Whatever the body is.
    if (request.is404) throw nothingHere()
  })
  tellErrors(app)

  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.url,
      config: { route } as object,
      bodyLimit,
      preParsing: async (request) => {
        const isRead = route.method === 'GET' || !hasBody(request)
        if (!isRead) assertContentType(request.headers['content-type'], route.answers === 'action')
      },
      handler: async (request, reply) =>
        serve({ router, site, route }, request, reply, await contextOf(request, reply)),
    })
  }
  for (const [url, taken] of Map.groupBy(routes, (route) => route.url)) refuseOtherMethods(app, url, taken)
}

/** More than any document needs, and few enough for whoever walks through it. */
const MOST_LEVELS = 50

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

const asItIs = (payload: unknown) => payload as string

const hasBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

function tellErrors(app: FastifyInstance): void {
  app.setErrorHandler((thrown, request, reply) => {
    const { route } = request.routeOptions.config as { route?: Route }
    const { status, body } = errorDocument(thrown, { requestId: request.id, route, body: request.body })
    if (status >= 500)
      request.log.error({ error: (thrown as Error).cause ?? thrown }, body.errors[0]?.code ?? 'internal')
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    return reply.serializer(asItIs).code(status).type(mediaType).send(JSON.stringify(body))
  })
  app.setNotFoundHandler(() => {
    throw nothingHere()
  })
}

const nothingHere = () => new Problem('not_found', { detail: 'There is nothing at this address.' })

const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'] as const

function refuseOtherMethods(app: FastifyInstance, url: string, taken: readonly Route[]): void {
  const allowed: string[] = taken.map(({ method }) => method)
  if (allowed.includes('GET')) allowed.push('HEAD')
  const others = methods.filter((method) => !allowed.includes(method))
  const refuse = async (_: FastifyRequest, reply: FastifyReply) => {
    reply.header('allow', allowed.join(', '))
    throw new Problem('method_not_allowed')
  }
  app.route({ method: others, url, onRequest: refuse, handler: refuse })
}

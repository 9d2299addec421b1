import { type AnyTRPCRouter, callTRPCProcedure } from '@trpc/server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/context.ts'
import { Problem } from '../../routers/problems.ts'
import type { Page } from '../../routers/reads.ts'
import type { Linked, Resource } from '../../routers/resource.ts'
import type { ContextOf } from '../request-context.ts'
import { readAction, readLinkage, readResource } from './body.ts'
import { entityTag, insistedVersion, isKnown } from './conditional.ts'
import { type Document, encode, identify, type Site, selfOf } from './document.ts'
import { errorDocument } from './errors.ts'
import { once, type Sent } from './idempotency.ts'
import { assertAcceptable, assertContentType } from './negotiation.ts'
import { pageOf } from './page.ts'
import { type ParsedQuery, parseQuery } from './query.ts'
import { type Route, routesOf } from './routes.ts'
import { basePath, jsonapi, mediaType, syncLogMember } from './wire.ts'

export interface JsonApiOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  contextOf: ContextOf
  /** In front of every link; empty for links without a host. */
  baseUrl: string
}

const methods = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] as const

/** Serves every procedure that carries out a verb of a resource. */
export async function jsonApi(app: FastifyInstance, { router, resources, contextOf, baseUrl }: JsonApiOptions) {
  const routes = routesOf(router)
  const site: Site = {
    resources: new Map(resources.map((resource) => [resource.type, resource])),
    baseUrl: baseUrl + basePath,
  }

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    [mediaType, 'application/json'],
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  )
  app.addHook('onRequest', async (request, reply) => {
    // Fastify would add a charset to the media type, which may have no such parameter.
    reply.header('vary', 'Accept').header('cache-control', 'private, no-cache').serializer(asItIs)
    assertAcceptable(request.headers.accept)
    await contextOf(request, reply)
  })
  app.setErrorHandler((thrown, request, reply) => {
    const { route } = request.routeOptions.config as { route?: Route }
    const { status, body } = errorDocument(thrown, { requestId: request.id, route, body: request.body })
    if (status >= 500)
      request.log.error({ error: (thrown as Error).cause ?? thrown }, body.errors[0]?.code ?? 'internal')
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    return reply.code(status).type(mediaType).send(JSON.stringify(body))
  })
  app.setNotFoundHandler(() => {
    throw new Problem('not_found', { detail: 'There is nothing at this address.' })
  })

  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.url,
      config: { route } as object,
      preParsing: async (request) => {
        if (route.method !== 'GET' && hasBody(request))
          assertContentType(request.headers['content-type'], route.answers === 'action')
      },
      handler: async (request, reply) =>
        serve({ router, site, route }, request, reply, await contextOf(request, reply)),
    })
  }
  for (const [url, taken] of Map.groupBy(routes, (route) => route.url)) refuseOtherMethods(app, url, taken)
}

const asItIs = (payload: unknown) => payload as string

const hasBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

function refuseOtherMethods(app: FastifyInstance, url: string, taken: readonly Route[]): void {
  const allowed: string[] = taken.map(({ method }) => method)
  if (allowed.includes('GET')) allowed.push('HEAD')
  const others = methods.filter((method) => !allowed.includes(method))
  app.route({
    method: [...others],
    url,
    handler: async (_, reply) => {
      reply.header('allow', allowed.join(', '))
      throw new Problem('method_not_allowed')
    },
  })
}

interface Served {
  router: AnyTRPCRouter
  site: Site
  route: Route
}

async function serve(
  served: Served,
  request: FastifyRequest,
  reply: FastifyReply,
  ctx: Context,
): Promise<FastifyReply> {
  const key = request.headers['idempotency-key']
  const { method } = served.route
  const isOnce = method === 'POST' && typeof key === 'string' && served.route.answers !== 'linkage'
  const run = () => answer(served, request, ctx)
  const attempt = {
    key: String(key),
    target: `${method} ${request.url}`,
    request: JSON.stringify(request.body ?? null),
  }
  const { status, headers, payload } = isOnce ? await once(ctx, attempt, run) : await run()
  reply.headers(headers)
  if (method === 'GET' && isKnown(request.headers['if-none-match'], headers['etag'] ?? ''))
    return reply.code(304).send()
  return reply.code(status).type(mediaType).send(payload)
}

async function answer({ router, site, route }: Served, request: FastifyRequest, ctx: Context): Promise<Sent> {
  const { name, procedure, answers, method } = route
  // Who may not even sign in is told so first.
  if (!name || !procedure) throw new Problem(ctx.caller.current.type === 'guest' ? 'signed_out' : 'read_only')
  let query: ParsedQuery = { input: {}, fields: new Map() }
  const output = await callTRPCProcedure({
    router,
    ctx,
    path: name,
    type: procedure._def.type,
    // Asked for once the caller was let in: nobody else learns what is wrong with their input.
    getRawInput: async () => {
      query = parseQuery(searchOf(request), answers, site.resources)
      return inputOf(route, query, request)
    },
    signal: ctx.signal,
    batchIndex: 0,
  })
  const document = documentOf({ site, route, query, url: request.url, output })
  if (method !== 'GET') document.meta = { ...document.meta, [syncLogMember]: [] }
  const payload = JSON.stringify(document)
  const record = answers === 'one' || answers === 'created' ? (output as Linked) : undefined
  const headers: Record<string, string> = answers === 'nothing' ? {} : { etag: entityTag(payload, record?.version) }
  if (record && answers === 'created') headers['location'] = selfOf(site, route.resource.type, record.id)
  return { status: answers === 'created' ? 201 : 200, headers, payload }
}

const searchOf = ({ url }: FastifyRequest) => url.split(/\?(.*)/s)[1] ?? ''

/** The input of the procedure that a route calls. */
function inputOf(
  { method, answers, resource, relation }: Route,
  { input }: ParsedQuery,
  request: FastifyRequest,
): object {
  const { id } = request.params as { id?: string }
  const target = id === undefined ? {} : { id }
  if (method === 'GET') return { ...input, ...target, ...(relation && { relation: relation.name }) }
  if (answers === 'linkage' && relation) return { ...readLinkage(relation.of, request.body), ...target }
  if (answers === 'action') return { ...readAction(resource, request.body), ...target }
  const ifVersion = insistedVersion(request.headers['if-match'])
  const insisted = ifVersion === undefined ? target : { ...target, ifVersion }
  return method === 'DELETE' ? insisted : { ...readResource(resource, request.body, id), ...insisted }
}

interface Answered {
  site: Site
  route: Route
  query: ParsedQuery
  url: string
  output: unknown
}

/** What an action returns beside, or in place of, a record. */
interface ActionOutput {
  data?: Linked | Linked[] | null
  meta?: Record<string, unknown>
}

function documentOf({ site, route, query, url, output }: Answered): Document {
  const { answers, resource, relation } = route
  const wanted = { include: query.input.include, fields: query.fields }
  const target = relation ? (site.resources.get(relation.of.to) as Resource) : resource
  if (answers === 'nothing') return { jsonapi }
  if (answers === 'action') {
    const { data, meta } = output as ActionOutput
    return { ...(data === undefined ? { jsonapi } : encode(site, resource, data, wanted)), ...(meta && { meta }) }
  }
  const own = site.baseUrl.slice(0, -basePath.length) + url
  const links = { self: answers === 'created' ? selfOf(site, resource.type, (output as Linked).id) : own }
  const page = isPage(output) ? output : undefined
  const records = page ? page.items : (output as Linked | Linked[] | null)
  const paged = page && target.page ? pageOf(page, links.self) : { links }
  if (answers === 'linkage') return { jsonapi, ...paged, data: linkage(target.type, records) }
  return { ...encode(site, target, records, wanted), ...paged }
}

const isPage = (output: unknown): output is Page<Linked> =>
  typeof output === 'object' && output !== null && 'items' in output

function linkage(type: string, records: Linked | Linked[] | null) {
  if (Array.isArray(records)) return records.map((record) => identify(type, record))
  return records && identify(type, records)
}

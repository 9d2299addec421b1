import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import { type Access, accessOf, metaOf } from '../../routers/core/trpc.ts'
import type { Relation, Resource } from '../../routers/resource/declare.ts'
import type { Exposure, Verb } from '../../routers/resource/exposure.ts'
import { declaredMembers, type Members } from './members.ts'

export const mediaType = 'application/vnd.api+json'
/** Media type of a form with a file. */
export const formType = 'multipart/form-data'
export const jsonapi = { version: '1.1' } as const

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** The kind of a response. */
export type ResponseKind = 'one' | 'page' | 'related' | 'linkage' | 'created' | 'nothing' | 'action' | 'file'

export interface Route {
  method: Method
  /** Path below the base path, with `:id` for an id. */
  url: string
  answers: ResponseKind
  resource: Resource
  /** Path of the procedure in the router, such as `aiModels.get`; absent for a read-only relation. */
  name?: string
  procedure?: AnyTRPCProcedure
  /** The relation in the address. */
  relation?: { name: string; of: Relation }
  action?: string
  /** True if it creates a resource. */
  creates?: true
  /** True if the body is a form with a file. */
  hasFile?: boolean
}

/** Returns true if the route supports an idempotency key. */
export const isRepeatable = ({ method, answers }: Route) => method === 'POST' && answers !== 'linkage'

type RouteShape = Pick<Route, 'method' | 'answers' | 'relation' | 'action' | 'creates'> & { suffix: string }

const standardShapes: Partial<Record<string, RouteShape>> = {
  list: { method: 'GET', suffix: '', answers: 'page' },
  get: { method: 'GET', suffix: '/:id', answers: 'one' },
  create: { method: 'POST', suffix: '', answers: 'created', creates: true },
  update: { method: 'PATCH', suffix: '/:id', answers: 'one' },
  delete: { method: 'DELETE', suffix: '/:id', answers: 'nothing' },
}

const changeMethods = { add: 'POST', replace: 'PATCH', remove: 'DELETE' } as const

function buildShapes({ resource, verb }: Exposure, isQuery: boolean, members: Members): RouteShape[] {
  if (verb === 'related')
    return Object.entries(resource.relations).flatMap(([name, of]) => buildRelationReads(name, of, members))
  if (typeof verb === 'string') return [standardShapes[verb] as RouteShape]
  if ('action' in verb) return [buildActionShape(verb, isQuery)]
  if ('member' in verb) return [{ method: 'GET', suffix: `/${verb.member}`, answers: 'one' }]
  if ('proxy' in verb) return [{ method: 'GET', suffix: `/proxy/${verb.proxy}/:identifier`, answers: 'file' }]
  const { relationship: name, change } = verb
  const relation = { name, of: resource.relations[name] as Relation }
  return [
    {
      method: changeMethods[change],
      suffix: `/:id/relationships/${members.write(name)}`,
      answers: 'linkage',
      relation,
    },
  ]
}

function buildActionShape(
  { action, ofOne, member, ends, creates }: Extract<Verb, { action: string }>,
  isQuery: boolean,
): RouteShape {
  const of = ofOne ? '/:id' : member ? `/${member}` : ''
  return {
    method: isQuery ? 'GET' : ends ? 'DELETE' : 'POST',
    suffix: `${of}/actions/${action}`,
    answers: 'action',
    action,
    ...(creates && { creates }),
  }
}

function buildRelationReads(name: string, of: Relation, members: Members): RouteShape[] {
  const relation = { name, of }
  const member = members.write(name)
  return [
    { method: 'GET', suffix: `/:id/${member}`, answers: 'related', relation },
    { method: 'GET', suffix: `/:id/relationships/${member}`, answers: 'linkage', relation },
  ]
}

/** Builds the routes of all procedures that a resource exposes. */
export function buildRoutes(router: AnyTRPCRouter, members: Members = declaredMembers): Route[] {
  const procedures = Object.entries(router._def.procedures as Record<string, AnyTRPCProcedure>)
  const declared = procedures.flatMap(([name, procedure]) => {
    const { exposes, file } = metaOf(procedure)
    if (!exposes) return []
    const { resource } = exposes
    return buildShapes(exposes, procedure._def.type === 'query', members).map(
      ({ suffix, ...wire }): Route => ({
        ...wire,
        ...(file === 'out' && { answers: 'file' }),
        ...(file === 'in' && { hasFile: true }),
        url: wire.answers === 'file' ? suffix : `/${resource.type}${suffix}`,
        resource,
        name,
        procedure,
      }),
    )
  })
  return [...declared, ...buildReadOnlyRoutes(declared)]
}

/** Builds routes that report read-only relations and rows, instead of an unknown method. */
function buildReadOnlyRoutes(declared: readonly Route[]): Route[] {
  const taken = new Set(declared.map(({ method, url }) => `${method} ${url}`))
  const refused = declared.flatMap(({ method, url, answers, resource, relation }): Route[] => {
    if (method !== 'GET') return []
    if (answers === 'one' && url.endsWith('/:id')) return [{ method: 'PATCH', url, answers, resource }]
    if (answers !== 'linkage') return []
    return Object.values(changeMethods).map((change) => ({
      method: change,
      url,
      answers,
      resource,
      ...(relation && { relation }),
    }))
  })
  return refused.filter(({ method, url }) => !taken.has(`${method} ${url}`))
}

/** Finds the methods of fixed addresses that a route with a parameter would match: `me` is no id. */
export function findShadowedMethods(routes: readonly Route[]): Pick<Route, 'method' | 'url'>[] {
  const taken = new Set(routes.map(({ method, url }) => `${method} ${url}`))
  const urls = [...new Set(routes.map(({ url }) => url))]
  return urls.flatMap((url) => {
    const shadowing = routes.filter((route) => route.url !== url && matchesPattern(route.url, url))
    const methods = new Set(shadowing.map(({ method }) => method))
    return [...methods].filter((method) => !taken.has(`${method} ${url}`)).map((method) => ({ method, url }))
  })
}

function matchesPattern(pattern: string, url: string): boolean {
  const steps = pattern.split('/')
  const target = url.split('/')
  return (
    steps.length === target.length &&
    steps.every((step, at) => step === target[at] || (step.startsWith(':') && !target[at]?.startsWith(':')))
  )
}

/** A route with a procedure. */
export type ServedRoute = Route & Required<Pick<Route, 'name' | 'procedure'>>

export const isServed = (route: Route): route is ServedRoute => route.procedure !== undefined

/** Lists the routes with a procedure; those that refuse writes are not described. */
export const listServedRoutes = (router: AnyTRPCRouter, members?: Members): ServedRoute[] =>
  buildRoutes(router, members).filter(isServed)

export const getAccess = ({ procedure }: ServedRoute): Access => accessOf(procedure)

import type { AnyTRPCRouter } from '@trpc/server'
import { type Access, accessOf } from '../../routers/core/trpc.ts'
import type { Members } from './members.ts'
import { buildRoutes, type Route } from './routes.ts'

/** A route that a procedure serves. */
export type ServedRoute = Route & Required<Pick<Route, 'name' | 'procedure'>>

export const isServed = (route: Route): route is ServedRoute => route.procedure !== undefined

/** What there is to call: a relation that is only read refuses writes, which is nothing to describe. */
export const servedRoutes = (router: AnyTRPCRouter, members?: Members): ServedRoute[] =>
  buildRoutes(router, members).filter(isServed)

export const routeAccess = ({ procedure }: ServedRoute): Access => accessOf(procedure)

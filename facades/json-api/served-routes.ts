import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import type { z } from 'zod'
import type { Audience } from '../../routers/trpc.ts'
import { type Route, routesOf } from './routes.ts'

/** A route that a procedure serves. */
export type ServedRoute = Route & Required<Pick<Route, 'name' | 'procedure'>>

/** What there is to call: a relation that is only read refuses writes, which is nothing to describe. */
export const servedRoutes = (router: AnyTRPCRouter): ServedRoute[] =>
  routesOf(router).filter((route): route is ServedRoute => route.procedure !== undefined)

interface Facts {
  inputs: z.ZodObject[]
  meta: { audience: Audience }
}

/** What tRPC keeps of a procedure. */
export const factsOf = ({ _def }: AnyTRPCProcedure) => _def as unknown as Facts

export const audienceOf = ({ procedure }: ServedRoute): Audience => factsOf(procedure).meta.audience

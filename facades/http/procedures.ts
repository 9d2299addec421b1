import type { AnyTRPCProcedure } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Context } from '../../routers/core/context.ts'
import { type Access, accessOf, assertMayCall, metaOf } from '../../routers/core/trpc.ts'
import { appRouter } from '../../routers/index.ts'
import { type BodyLimits, getReservedBytes, reserveBodyMemory } from './body-limits.ts'

/** Input schemas of a procedure, which are objects. */
export const inputsOf = ({ _def }: AnyTRPCProcedure) => _def.inputs as unknown as z.ZodObject[]

const procedures = new Map(Object.entries(appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>))

/** Finds the input schema of a procedure. */
export function findInput(name: string): z.ZodObject {
  const procedure = findProcedure(name)
  const [input] = procedure ? inputsOf(procedure) : []
  if (!input) throw new Error(`There is no input of ${name}.`)
  return input
}

export const findProcedure = (name: string): AnyTRPCProcedure | undefined => procedures.get(name)

/** Describes in a sentence who may call a procedure. */
export function describeAccess({ callers, ability, sessionOnly, fresh }: Access): string {
  const condition = sessionOnly
    ? `; no token is good for it${fresh ? ', and the sign-in must be recent' : ''}`
    : ability
      ? `; a token needs the ability \`${ability}\``
      : ''
  return `Open to ${callers}${condition}.`
}

/** Returns the body limit of a procedure; that of a form if there is no procedure. */
export function getBodyLimit(procedure: AnyTRPCProcedure | undefined, limits: BodyLimits): number {
  return limits[(procedure && metaOf(procedure).body) ?? 'form']
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The context once it exists; null if the caller was refused. */
    context: Context | null
  }
  interface FastifyContextConfig {
    routeMeta?: RouteMeta
  }
}

/** Creates the context of a request with its caller once, and returns it from then on. */
export type ContextResolver = (request: FastifyRequest, reply: FastifyReply) => Promise<Context>

export interface FacadeOptions {
  resolveContext: ContextResolver
  bodyLimits: BodyLimits
}

/** The input of a route, if it is not that of its procedure. */
interface RouteInput {
  body?: z.ZodType | undefined
  query?: z.ZodObject | undefined
}

/** Metadata of a route. */
interface RouteMeta extends RouteInput {
  procedure: string
}

/** A registered route of legacy front ends. */
export interface LegacyRoute extends RouteMeta {
  method: string
  /** URL pattern with `:` parameters. */
  url: string
}

/**
 * Creates route options for a procedure: access is checked before the body is read, and the body limit is that of the
 * procedure.
 */
export function procedureRoute(name: string, { resolveContext, bodyLimits }: FacadeOptions, input: RouteInput = {}) {
  const procedure = findProcedure(name)
  if (!procedure) throw new Error(`There is no procedure ${name}.`)
  return {
    bodyLimit: getBodyLimit(procedure, bodyLimits),
    config: { routeMeta: { procedure: name, ...input } },
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      const ctx = await resolveContext(request, reply)
      assertMayCall(ctx, accessOf(procedure))
      reserveBodyMemory(ctx, request, reply, getReservedBytes([procedure], bodyLimits))
    },
  }
}

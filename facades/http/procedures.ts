import type { AnyTRPCProcedure } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Context } from '../../routers/core/context.ts'
import { accessOf, assertMayCall, metaOf } from '../../routers/core/trpc.ts'
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

/** Describes in sentences who may call a procedure, and which members only some callers may change. */
export function describeAccess(procedure: AnyTRPCProcedure): string {
  const { callers, ability, sessionOnly, sensitive } = accessOf(procedure)
  const abilities = [ability, sensitive && 'admin'].flatMap((name) => (name ? `\`${name}\`` : []))
  const needed = `${abilities.length > 1 ? 'abilities' : 'ability'} ${abilities.join(' and ')}`
  const conditions = [
    sessionOnly && 'no token is good for it',
    sensitive && 'a session must be fresh',
    abilities.length > 0 && `a token needs the ${needed}`,
  ].filter(Boolean)
  return [
    `Open to ${[callers, conditions.join(', and ')].filter(Boolean).join('; ')}.`,
    ...describeMembers(procedure),
  ].join(' ')
}

/** Describes the members of a row that only a fresh session or a token with the ability `admin` may change. */
function describeMembers(procedure: AnyTRPCProcedure): string[] {
  const { exposes, access } = metaOf(procedure)
  if (!exposes || access?.sensitive || (exposes.verb !== 'create' && exposes.verb !== 'update')) return []
  const names = Object.entries(exposes.resource.attributes).flatMap(([name, { sensitive, write }]) =>
    sensitive && (write === true || write === exposes.verb) ? `\`${name}\`` : [],
  )
  if (names.length === 0) return []
  return [`A change of ${names.join(', ')} needs a fresh session, or a token that has the ability \`admin\` as well.`]
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

/** Returns the context that the first hook of a route has created. */
export const contextOf = ({ context }: FastifyRequest): Context => context as Context

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
  const [access, reservedBytes] = [accessOf(procedure), getReservedBytes([procedure], bodyLimits)]
  return {
    bodyLimit: getBodyLimit(procedure, bodyLimits),
    config: { routeMeta: { procedure: name, ...input } },
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      const ctx = request.context ?? (await resolveContext(request, reply))
      assertMayCall(ctx, access)
      reserveBodyMemory(ctx, request, reply, reservedBytes)
    },
  }
}

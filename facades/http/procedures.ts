import type { AnyTRPCProcedure } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Context } from '../../routers/core/context.ts'
import { type Access, accessOf, assertMayCall, metaOf } from '../../routers/core/trpc.ts'
import { appRouter } from '../../routers/index.ts'
import { type BodyLimits, getReservedBytes, reserveBodyMemory } from './body-limits.ts'

/** The schemas that the input of a procedure passes, which are objects. */
export const inputsOf = ({ _def }: AnyTRPCProcedure) => _def.inputs as unknown as z.ZodObject[]

const procedures = new Map(Object.entries(appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>))

/** What a procedure is given. */
export function findInput(name: string): z.ZodObject {
  const procedure = findProcedure(name)
  const [input] = procedure ? inputsOf(procedure) : []
  if (!input) throw new Error(`There is no input of ${name}.`)
  return input
}

export const findProcedure = (name: string): AnyTRPCProcedure | undefined => procedures.get(name)

/** Who may call a procedure, in a sentence. */
export function describeAccess({ callers, ability, sessionOnly, fresh }: Access): string {
  const condition = sessionOnly
    ? `; no token is good for it${fresh ? ', and the sign-in must be recent' : ''}`
    : ability
      ? `; a token needs the ability \`${ability}\``
      : ''
  return `Open to ${callers}${condition}.`
}

/** Bytes of the body that a procedure may be sent; of a form where there is none of this name. */
export function getBodyLimit(procedure: AnyTRPCProcedure | undefined, limits: BodyLimits): number {
  return limits[(procedure && metaOf(procedure).body) ?? 'form']
}

declare module 'fastify' {
  interface FastifyRequest {
    /** As soon as there is one; nothing where the caller was refused. */
    context: Context | null
  }
  interface FastifyContextConfig {
    routeMeta?: RouteMeta
  }
}

/** The context of a request, with its caller: created once, then left on the request and reused. */
export type ContextOf = (request: FastifyRequest, reply: FastifyReply) => Promise<Context>

export interface FacadeOptions {
  contextOf: ContextOf
  bodyLimits: BodyLimits
}

/** What a route takes, where that is not the input of its procedure. */
interface RouteInput {
  body?: z.ZodType | undefined
  query?: z.ZodObject | undefined
}

/** What a route says of itself. */
interface RouteMeta extends RouteInput {
  procedure: string
}

/** A route of front ends that exist, as it was registered. */
export interface LegacyRoute extends RouteMeta {
  method: string
  /** With `:` in front of what varies. */
  url: string
}

/** Route options of a procedure: callers without access are refused before the body is read, and the body limit is the procedure's. */
export function procedureRoute(name: string, { contextOf, bodyLimits }: FacadeOptions, input: RouteInput = {}) {
  const procedure = findProcedure(name)
  if (!procedure) throw new Error(`There is no procedure ${name}.`)
  return {
    bodyLimit: getBodyLimit(procedure, bodyLimits),
    config: { routeMeta: { procedure: name, ...input } },
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      const ctx = await contextOf(request, reply)
      assertMayCall(ctx, accessOf(procedure))
      reserveBodyMemory(ctx, request, reply, getReservedBytes([procedure], bodyLimits))
    },
  }
}

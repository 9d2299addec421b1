import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import { callProcedure } from './call-procedure.ts'
import type { Context } from './context.ts'
import type { createCallerFactory as TrpcFactory } from './trpc.ts'

type Procedures = Record<string, AnyTRPCProcedure>

/**
 * As tRPC's own for a router of areas: calls procedures in this process, `createCaller(ctx).users.me()`. A function makes a
 * context for each call.
 */
export const createCallerFactory = ((router: AnyTRPCRouter) => {
  const areas = router._def.record as unknown as Record<string, Procedures>
  return (given: Context | (() => Context)) => {
    const contextOf = typeof given === 'function' ? given : () => given
    return new Proxy({}, { get: (_, area: string) => areas[area] && callsOf(area, areas[area], contextOf) })
  }
}) as unknown as typeof TrpcFactory

const callsOf = (area: string, procedures: Procedures, contextOf: () => Context) =>
  new Proxy(
    {},
    {
      get(_, name: string) {
        const procedure = procedures[name]
        const path = `${area}.${name}`
        return procedure && ((input?: unknown) => callProcedure(procedure, { ctx: contextOf(), path, input }))
      },
    },
  )

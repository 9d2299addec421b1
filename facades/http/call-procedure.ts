import { type AnyTRPCProcedure, getTRPCErrorFromUnknown, type TRPCError } from '@trpc/server'
import type { Context } from '../../routers/core/context.ts'

interface ProcedureCall {
  ctx: Context
  /** The procedure's path in the router, such as `aiModels.get`. */
  path: string
  input: unknown
}

/** What a middleware may hand on changed. */
interface Passed {
  ctx: Context
  input: unknown
  getRawInput: () => Promise<unknown>
}

type Result = { ok: true; data: unknown } | { ok: false; error: TRPCError }

type Middleware = (options: Passed & Record<string, unknown>) => Promise<Result>

/**
 * Calls a procedure, and returns or throws what it does. The middlewares run as in a call of the procedure itself, which
 * copies all options twice for each of them: that takes longer than everything else that is done for one row.
 */
export async function callProcedure(procedure: AnyTRPCProcedure, { ctx, path, input }: ProcedureCall) {
  const { middlewares, type, meta } = procedure._def as unknown as {
    middlewares: readonly Middleware[]
    type: string
    meta: unknown
  }
  const run = async (at: number, passed: Passed): Promise<Result> => {
    const next = (changed?: Partial<Passed>) => run(at + 1, changed ? changedBy(changed, passed) : passed)
    const { ctx, input, getRawInput } = passed
    try {
      const middleware = middlewares[at] as Middleware
      return await middleware({ ctx, input, getRawInput, path, type, meta, signal: undefined, batchIndex: 0, next })
    } catch (cause) {
      return { ok: false, error: getTRPCErrorFromUnknown(cause) }
    }
  }
  const result = await run(0, { ctx, input: undefined, getRawInput: async () => input })
  if (!result.ok) throw result.error
  return result.data
}

const changedBy = (changed: Partial<Passed>, { ctx, input, getRawInput }: Passed): Passed => ({
  ctx: changed.ctx ? { ...ctx, ...changed.ctx } : ctx,
  input: 'input' in changed ? changed.input : input,
  getRawInput: changed.getRawInput ?? getRawInput,
})

import { z } from 'zod'
import { listDeprecatedCallers } from '../../entities/system/deprecated-call.sql.ts'
import { adminSession, router } from '../core/trpc.ts'

export const deprecationsRouter = router({
  /** Who still calls deprecated routes, the last caller first. */
  callers: adminSession
    .input(z.strictObject({ limit: z.int().min(1).max(100_000) }))
    .query(({ ctx, input }) => ctx.services.sql(listDeprecatedCallers, [input.limit])),
})

import { beginEpoch } from '../../entities/events/change-log.sql.ts'
import { host, router } from '../core/trpc.ts'

export const changeLogRouter = router({
  /** The database was restored in a way that it does not show: positions from before are refused from now on. */
  restored: host.mutation(async ({ ctx }) => {
    await ctx.services.sql(beginEpoch)
  }),
})

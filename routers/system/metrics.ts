import { about, adminWith, router } from '../core/trpc.ts'

export const metricsRouter = router({
  read: adminWith('metrics')
    .meta(about('Read what this replica has counted, as Prometheus reads it.'))
    .query(({ ctx }) => ctx.services.metrics.render()),
})

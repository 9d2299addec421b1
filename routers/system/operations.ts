import { z } from 'zod'
import { listDeprecatedCallers } from '../../entities/system/deprecated-call.ts'
import { about, adminSession, adminWith, host, router } from '../core/trpc.ts'

export const settingsRouter = router({
  /** Lists all settings with their values, secrets masked. They are changed where the service is started. */
  list: adminSession.query(({ ctx }) => ctx.services.process.listSettings()),
})

export const metricsRouter = router({
  read: adminWith('metrics')
    .meta(about('Read the metrics of this replica in the format of Prometheus.'))
    .query(({ ctx }) => ctx.services.process.metrics.render()),
})

export const deprecationsRouter = router({
  /** Lists the callers of deprecated routes, the last caller first. */
  callers: adminSession
    .input(z.strictObject({ limit: z.int().min(1).max(100_000) }))
    .query(({ ctx, input }) => ctx.services.sql(listDeprecatedCallers, [input.limit])),
})

const folderInput = z.strictObject({
  /** An absolute path on the host. */
  folder: z.string().min(1).max(4096),
})

/** Procedures for backups of the whole installation. There is none for a restore, because no service runs then. */
export const backupsRouter = router({
  create: host.input(folderInput).mutation(({ ctx, input }) => ctx.services.files.backups.create(input.folder)),

  verify: host.input(folderInput).query(({ ctx, input }) => ctx.services.files.backups.verify(input.folder)),
})

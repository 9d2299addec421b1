import { analyse, listModels } from '../../entities/catalogue/ai-model.sql.ts'
import { host, router } from '../core/trpc.ts'
import { importModels, modelImport } from './import-models.ts'
import { checkModels } from './model-checks.ts'
import { outageProcedures } from './outages.ts'
import { syncModels } from './sync.ts'
import { syncToolServers } from './tools/tool-discovery.ts'

export const modelsRouter = router({
  list: host.query(({ ctx }) => ctx.services.sql(listModels)),

  sync: host.mutation(async ({ ctx }) => {
    const report = await syncModels(ctx)
    await ctx.services.sql(analyse(ctx.services.resources.coalescedTables))
    return report
  }),

  check: host.mutation(({ ctx }) => checkModels(ctx)),

  import: host.input(modelImport).mutation(({ ctx, input }) => importModels(ctx, input)),

  ...outageProcedures,

  /** Checks models and tool servers where no replica has done so within the period. */
  watch: host.mutation(async ({ ctx }) => {
    const { kv, settings } = ctx.services
    const isDue = await kv.setIfAbsent('catalogue:checked', '1', Math.ceil(settings.tools.statusCheckEvery * 0.9))
    if (!isDue) return { checked: false }
    await Promise.all([checkModels(ctx), syncToolServers(ctx)])
    return { checked: true }
  }),
})

import {
  analyse,
  type CallableModelRow,
  listCheckableModels,
  listModels,
  setModelStatus,
} from '../../entities/catalogue/ai-model.sql.ts'
import type { Context } from '../core/context.ts'
import { host, router } from '../core/trpc.ts'
import { syncModels } from './sync.ts'

export interface ModelCheck {
  modelId: string
  provider: string
  status: 'online' | 'offline' | 'unknown'
}

export const modelsRouter = router({
  list: host.query(({ ctx }) => ctx.services.sql(listModels)),

  sync: host.mutation(async ({ ctx }) => {
    const report = await syncModels(ctx)
    await ctx.services.sql(analyse(ctx.services.resources.coalescedTables))
    return report
  }),

  /** Asks every provider which models it offers now, and keeps the answer as the models' status. */
  check: host.mutation(async ({ ctx }): Promise<ModelCheck[]> => {
    const models = await ctx.services.sql(listCheckableModels)
    const checks = await Promise.all(models.map(async (model) => ({ model, status: await statusOf(ctx, model) })))
    await ctx.services.sql(setModelStatus, [checks.map(({ model }) => model.id), checks.map(({ status }) => status)])
    return checks.map(({ model, status }) => ({ modelId: model.modelId, provider: model.providerId, status }))
  }),
})

/** A provider that does not answer says nothing about its models. */
async function statusOf(
  { services: { models, log } }: Context,
  model: CallableModelRow,
): Promise<ModelCheck['status']> {
  try {
    return (await models.available(model)) ? 'online' : 'offline'
  } catch (error) {
    log.warn(
      { provider: model.providerId, model: model.modelId, error },
      'the AI provider did not answer the status check',
    )
    return 'unknown'
  }
}

import { type CheckableModel, listCheckableModels, setModelStatus } from '../../entities/catalogue/ai-model.sql.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runNamed } from '../core/run-named.ts'

interface ModelCheck {
  modelId: string
  provider: string
  status: 'online' | 'offline' | 'unknown'
  /** How much it is asked for, where its provider says so. */
  demand: 'low' | 'medium' | 'high'
}

/** Asks every provider which models it offers now, keeps the answer as the models' status, and tells everybody what changed. */
export async function checkModels(ctx: Context): Promise<ModelCheck[]> {
  const models = await ctx.services.sql(listCheckableModels)
  const byProvider = Map.groupBy(models, ({ providerId }) => providerId)
  const checks = await Promise.all([...byProvider.values()].map((some) => check(ctx, some)))
  const seen = checks.flat()
  await changing(ctx, async (em, changes) => {
    const values = [seen.map(({ id }) => id), seen.map(({ status }) => status), seen.map(({ demand }) => demand)]
    const changed = await runNamed(em, setModelStatus, values)
    for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
  })
  return seen.map(({ id: _, ...told }) => told)
}

/** A provider that does not answer says nothing about its models. */
async function check({ services: { models, log } }: Context, some: readonly CheckableModel[]) {
  const [first] = some
  const listed = first && (await models.listed(first, first.modelStatusUrl).catch((error: unknown) => ({ error })))
  const isLost = listed !== undefined && 'error' in listed
  if (isLost)
    log.warn({ provider: first?.providerId, error: listed.error }, 'the AI provider did not answer the status check')
  const known = isLost || !listed ? undefined : new Map(listed.map((model) => [model.name, model]))
  const seenOf = (name: string): Pick<ModelCheck, 'status' | 'demand'> => {
    if (!known) return { status: isLost ? 'unknown' : 'online', demand: 'low' }
    const { status = 'offline', demand = 'low' } = known.get(name) ?? {}
    return { status, demand }
  }
  return some.map(({ id, modelId, upstreamId, providerId: provider }) => ({
    ...{ id, modelId, provider, ...seenOf(upstreamId ?? modelId) },
  }))
}
